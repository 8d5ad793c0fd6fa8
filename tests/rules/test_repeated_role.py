"""`repeated-role`: two turns of one role in a row."""

from __future__ import annotations

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.profiles.facts import Facts
from dragoman.rules.shape.repeated_role import repeated_role

ALL = facts(repeated_roles="refuses", list_content="accepts")
FLAT = facts(repeated_roles="refuses", list_content="refuses")
LAST = facts(repeated_roles="accepts", repeated_last="refuses")

REPAIRS: dict[str, tuple[Facts, str, str, list[str]]] = {
    "plain texts are joined": (
        ALL,
        "user: A\nuser: B\nuser: C\nassistant: D",
        "user: A\\n\\nB\\n\\nC\nassistant: D",
        ["/messages/1", "/messages/2"],
    ),
    "the assistant's too": (
        ALL,
        "user: A\nassistant: B\nassistant: C",
        "user: A\nassistant: B\\n\\nC",
        ["/messages/2"],
    ),
    "media makes a turn of parts": (
        ALL,
        "user: A\n[image https://a/b.png]\nuser: B",
        "user: A\n[image https://a/b.png]\n+ B",
        ["/messages/1"],
    ),
    "calls stay parts": (
        ALL,
        "user: A\nassistant: B\n\ncall f(a) {}\nresult a: 1",
        "user: A\nassistant: B\ncall f(a) {}\nresult a: 1",
        ["/messages/2"],
    ),
    "results of two turns": (
        ALL,
        "call f(a) {}\ncall f(b) {}\nresult a: 1\n\nresult b: 2",
        "call f(a) {}\ncall f(b) {}\nresult a: 1\nresult b: 2",
        ["/messages/2"],
    ),
    "one text if no list is taken": (
        FLAT,
        "user: A\n~ Hm\nassistant: B\ncall f(a) {}\n\nassistant: C\n+ D\ncall f(b) {}",
        "user: A\n~ Hm\nassistant: B\\n\\nC\\nD\ncall f(a) {}\ncall f(b) {}",
        ["/messages/2"],
    ),
    "a picture is still a part if no list is taken": (
        FLAT,
        "user: A\nuser: B\n[image https://a/b.png]",
        "user: A\n+ B\n[image https://a/b.png]",
        ["/messages/1"],
    ),
    "at the end alone": (
        LAST,
        "user: A\nuser: B\nassistant: C\nassistant: D",
        "user: A\nuser: B\nassistant: C\\n\\nD",
        ["/messages/3"],
    ),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_they_become_one(name: str) -> None:
    known, before, after, places = REPAIRS[name]
    done = run(repeated_role, before, known)
    assert done.script == after
    assert done.changes == [(at, "nothing", False) for at in places]


@pytest.mark.parametrize(
    ("before", "after", "loses"),
    [
        ("user (bob): A\nuser (bob): B", "user (bob): A\\n\\nB", "nothing"),
        ("user (bob): A\nuser (eve): B", "user: A\\n\\nB", "metadata"),
        ("user (bob): A\nuser: B", "user: A\\n\\nB", "metadata"),
    ],
)
def test_a_name_that_not_all_of_them_have_goes(before: str, after: str, loses: str) -> None:
    done = run(repeated_role, before, ALL)
    assert done.script == after
    assert done.changes == [("/messages/1", loses, False)]


HINT = {"cache_control": {"type": "ephemeral"}}
HOUR = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
FIELDS = {
    "all stay": ({"mine": 1}, {"yours": 2}, {"mine": 1, "yours": 2}, "nothing"),
    "one that both have": ({"mine": 1}, {"mine": 1}, {"mine": 1}, "nothing"),
    "an empty one gives way": ({"mine": None}, {"mine": 2}, {"mine": 2}, "nothing"),
    "the first of two values": ({"mine": 1}, {"mine": 2}, {"mine": 1}, "metadata"),
    "a hint": ({}, HINT, HINT, "nothing"),
    "the last of two hints": (HOUR, HINT, HINT, "metadata"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_fields_of_all_the_turns_stay(name: str) -> None:
    one, other, kept, loses = FIELDS[name]
    turns = [{"role": "user", "content": "A", **one}, {"role": "user", "content": "B", **other}]
    done = sent({"messages": turns}, "lmstudio/m")
    assert done.json["messages"] == [{"role": "user", "content": "A\n\nB", **kept}]
    assert done.changes == [("repeated-role", "/messages/1", loses, False)]


def test_what_an_answer_is_to_begin_with_stays_its_beginning() -> None:
    turns = [{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}]
    begun = {"role": "assistant", "content": "C", "prefix": True}
    assert sent({"messages": [*turns, begun]}, "lmstudio/m").json["messages"][1]["prefix"] is True


UNTOUCHED: dict[str, tuple[str, Facts]] = {
    "alternating turns": ("system: S\nuser: A\nassistant: B\nuser: C", ALL),
    "system messages": ("system: S\nsystem: T\nuser: A\nassistant: B\nsystem: U\nsystem: V", ALL),
    "the user's at the end": ("user: A\nassistant: B\nuser: C\nuser: D", LAST),
    "the assistant's before the end": ("user: A\nassistant: B\nassistant: C\nuser: D", LAST),
    "a target that takes them": ("user: A\nuser: B", facts(repeated_roles="accepts", repeated_last="accepts")),
}


test_untouched = leaves_alone(repeated_role, UNTOUCHED)


def test_A11_A14_adapt_for_real_providers() -> None:
    def messages(*turns: tuple[str, str]) -> list[dict[str, str]]:
        return [{"role": role, "content": text} for role, text in turns]

    strict = sent({"messages": messages(("user", "A"), ("user", "B"))}, "strict-template/m")
    assert strict.json["messages"] == messages(("user", "A\n\nB"))
    assert strict.changes == [("repeated-role", "/messages/1", "nothing", False)]
    ends = messages(("user", "A"), ("user", "B"), ("assistant", "C"), ("assistant", "D"))
    last = sent({"messages": ends}, "llamacpp/some-model")
    assert last.json["messages"] == messages(("user", "A"), ("user", "B"), ("assistant", "C\n\nD"))
    assert last.changes == [("repeated-role", "/messages/3", "nothing", False)]
    assert sent({"messages": ends}, "openai/gpt-4o").changes == []


@pytest.mark.parametrize("target", ["lmstudio/m", "llamacpp/m", "perplexity/sonar", "strict-template/m"])
def test_A14_turns_of_several_blocks_are_joined_with_a_blank_line_in_a_translation(target: str) -> None:
    blocks = [{"type": "text", "text": "A"}, {"type": "text", "text": "B"}]
    turns = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": blocks}]
    body = {"messages": [*turns, {"role": "assistant", "content": "C"}], "max_tokens": 9}
    done = sent(body, target, source="anthropic")
    assert done.json["messages"][1] == {"role": "assistant", "content": "A\nB\n\nC"}
    assert ("repeated-role", "/messages/2", "nothing", False) in done.changes


def test_an_empty_text_that_is_merged_with_calls_is_no_content() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    said = {"role": "assistant", "content": [{"type": "text", "text": ""}]}
    called = {"role": "assistant", "content": None, "tool_calls": [call]}
    turns = [{"role": "user", "content": "Hi"}, said, called, {"role": "tool", "tool_call_id": "c1", "content": "ok"}]
    done = sent({"messages": turns}, "lmstudio/some-model")
    assert done.json["messages"][1] == {"role": "assistant", "tool_calls": [call]}
