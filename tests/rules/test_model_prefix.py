"""`model-prefix`: a `[model] ` prefix that an answer was shown with."""

from __future__ import annotations

import pytest
from tests.rules.runs import facts, run, sent

from dragoman.rules.clean.model_prefix import model_prefix

ANY = facts()


@pytest.mark.parametrize(
    ("shown", "said"),
    [
        ("[gpt-4o] Hello", "Hello"),
        ("[a/b:c@1.2_3] Hello", "Hello"),
        ("[gpt-4o] [gpt-4o] Hello", "Hello"),
        ("[gpt-4o] Hello [gpt-4o] again", "Hello [gpt-4o] again"),
    ],
)
def test_the_prefix_is_taken_off(shown: str, said: str) -> None:
    done = run(model_prefix, f"user: Hi\nassistant: {shown}\nuser: [x] More", ANY, choice="strip")
    assert done.script == f"user: Hi\nassistant: {said}\nuser: [x] More"
    assert done.changes == [("/messages/1/content", "nothing", False)]
    assert done.conversation.messages[2] is done.ask.conversation.messages[2]


def test_only_the_first_text_of_a_turn_has_one() -> None:
    done = run(model_prefix, "~ Hm\nassistant: [p/a] One\n+ [p/b] Two\ncall f(c1) {}", ANY, choice="strip")
    assert done.script == "~ Hm\nassistant: One\n+ [p/b] Two\ncall f(c1) {}"


UNTOUCHED = {
    "off unless asked for": ("assistant: [gpt-4o] Hello", None),
    "off": ("assistant: [gpt-4o] Hello", "off"),
    "keep": ("assistant: [gpt-4o] Hello", "keep"),
    "no prefix": ("assistant: Hello [gpt-4o] there", "strip"),
    "no name of a model": ("assistant: [not a model] Hello", "strip"),
    "C45, a box that is ticked": ("assistant: [x] Done", "strip"),
    "C45, a word": ("assistant: [Note] Hello", "strip"),
    "C45, a number": ("assistant: [1] Hello", "strip"),
    "C45, a ticket": ("assistant: [ABC-12] Hello", "strip"),
    "no space after it": ("assistant: [gpt-4o]Hello", "strip"),
    "a first text without one": ("assistant: One\n+ [b] Two", "strip"),
    "the user's words": ("user: [gpt-4o] Hello", "strip"),
    "calls alone": ("call f(c1) {}", "strip"),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    said, choice = UNTOUCHED[name]
    assert run(model_prefix, said, ANY, choice=choice).untouched


def test_C45_adapt_with_the_choice() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "[gpt-4o] Hello"}]
    done = sent({"messages": messages}, "openai/gpt-4o", rules={"model-prefix": "strip"})
    assert done.json["messages"] == [messages[0], {"role": "assistant", "content": "Hello"}]
    assert done.changes == [("model-prefix", "/messages/1/content", "nothing", False)]
    assert sent({"messages": messages}, "openai/gpt-4o").json["messages"] == messages
