"""`trailing-space`: white space at the end of a last assistant turn."""

from __future__ import annotations

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.shape.trailing_space import trailing_space

REFUSES = facts(trailing_space="refuses")


@pytest.mark.parametrize("space", ["\\u0020", "\\n", "\\t\\n\\u0020"])
def test_it_is_cut_off(space: str) -> None:
    done = run(trailing_space, f"user: Hi\nassistant: One\n+ \\u0020Two{space}", REFUSES)
    assert done.script == "user: Hi\nassistant: One\n+ \\u0020Two"
    assert done.changes == [("/messages/1/content", "nothing", False)]
    assert done.conversation.messages[0] is done.ask.conversation.messages[0]


@pytest.mark.parametrize(
    ("said", "left"),
    [("One\\u0020\n+ \\u0020\n+ \\n", "One"), ("One\n+ \\u0020", "One"), ("\\u0020", "")],
)
def test_a_text_of_white_space_alone_goes(said: str, left: str) -> None:
    done = run(trailing_space, f"user: Hi\nassistant: {said}", REFUSES)
    assert [part.text for part in done.conversation.messages[1].parts] == [left]  # type: ignore[attr-defined]
    assert [(loses, made) for _, loses, made in done.changes] == [("nothing", False)]


UNTOUCHED = {
    "no space": ("user: Hi\nassistant: One", REFUSES),
    "space in a turn before the last": ("user: Hi\nassistant: One\\u0020\nuser: B", REFUSES),
    "space in a text before the last": ("user: Hi\nassistant: One\\u0020\n+ Two", REFUSES),
    "a call at the end": ("user: Hi\nassistant: One\\u0020\ncall f(a) {}", REFUSES),
    "no content": ("user: Hi\nassistant: []", REFUSES),
    "a target that takes it": ("user: Hi\nassistant: One\\u0020", facts(trailing_space="accepts")),
}


test_untouched = leaves_alone(trailing_space, UNTOUCHED)


def test_adapt_for_real_providers() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Once "}]
    done = sent({"messages": messages, "max_tokens": 9}, "anthropic/claude-sonnet-4-5")
    assert done.json["messages"] == [messages[0], {"role": "assistant", "content": "Once"}]
    assert done.changes == [("trailing-space", "/messages/1/content", "nothing", False)]
    assert sent({"messages": messages}, "openai/gpt-4o").changes == []
