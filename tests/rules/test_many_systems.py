"""`many-systems`: several system messages at the opening."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.errors import RepairRefused
from dragoman.profiles.facts import Facts
from dragoman.rules.place.many_systems import many_systems

ONE = facts(system_count="one", system_parts="accepts")
MANY = facts(system_count="many")


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


THREE = "system: A\nsystem: B\ndeveloper: C\nuser: Hi\nsystem: L"
BOTH = [("/messages/1", "nothing", False), ("/messages/2", "nothing", False)]

JOINED: list[tuple[Facts, Any, str]] = [
    (ONE, None, "system: A\\n\\nB\\n\\nC"),
    (ONE, "auto", "system: A\\n\\nB\\n\\nC"),
    (ONE, "join", "system: A\\n\\n---\\n\\nB\\n\\n---\\n\\nC"),
    (MANY, "join", "system: A\\n\\n---\\n\\nB\\n\\n---\\n\\nC"),
    (MANY, {"join": " + "}, "system: A + B + C"),
    (MANY, {"join": ""}, "system: ABC"),
    (MANY, " / ", "system: A / B / C"),
]


@pytest.mark.parametrize(("known", "choice", "opening"), JOINED)
def test_they_are_joined(known: Facts, choice: Any, opening: str) -> None:
    done = run(many_systems, THREE, known, choice=choice)
    assert done.script == f"{opening}\nuser: Hi\nsystem: L"
    assert done.changes == BOTH
    assert done.conversation.messages[1:] == done.ask.conversation.messages[3:]


def test_B4_parts_of_one_message_are_joined_with_a_line_break() -> None:
    assert run(many_systems, "system: A\n+ B\nsystem: C\nuser: Hi", ONE).script == "system: A\\nB\\n\\nC\nuser: Hi"


def test_an_empty_message_leaves_no_separator() -> None:
    """X4."""
    assert run(many_systems, "system: A\nsystem:\nsystem: C\nuser: Hi", ONE).script == "system: A\\n\\nC\nuser: Hi"


def test_A14_a_blank_message_leaves_no_separator() -> None:
    """X4."""
    messages = [{"role": "system", "content": text} for text in (" ", "A", "\n\t", "C")]
    done = sent({"messages": [*messages, {"role": "user", "content": "Hi"}]}, "lmstudio/m", source="openai-chat")
    assert done.json["messages"][0] == {"role": "system", "content": "A\n\nC"}
    assert done.changes == [("many-systems", f"/messages/{index}", "nothing", False) for index in (1, 2, 3)]


HINTED = '[message {"is":"Message","role":"system","parts":[{"is":"Text","literal":"B","hint":{"is":"CacheHint"}}]}]'


def test_a_cache_hint_keeps_the_parts_apart_if_the_target_takes_parts() -> None:
    """X2."""
    apart = run(many_systems, f"system: A\n{HINTED}\nuser: Hi", ONE)
    system = apart.conversation.messages[0]
    assert [(part.text, part.hint is not None) for part in system.parts] == [("A", False), ("B", True)]  # type: ignore[attr-defined]
    assert system.listed
    one_text = run(many_systems, f"system: A\n{HINTED}\nuser: Hi", facts(system_count="one", system_parts="refuses"))
    assert one_text.script == "system: A\\n\\nB\nuser: Hi"


CACHE = {"cache_control": {"type": "ephemeral"}}
MEMBERS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = {
    "a name that both have": ({"name": "ops"}, {"name": "ops"}, {"content": "A\n\nB", "name": "ops"}, "nothing"),
    "a name of one": ({"name": "ops"}, {"name": "eve"}, {"content": "A\n\nB"}, "metadata"),
    "fields": ({"mine": 1}, {"yours": 2}, {"content": "A\n\nB", "mine": 1, "yours": 2}, "nothing"),
    "another value": ({"mine": 1}, {"mine": 2}, {"content": "A\n\nB", "mine": 1}, "metadata"),
    "the first one's hint": (CACHE, {}, {"content": [text("A", **CACHE), text("B")]}, "nothing"),
    "the second one's hint": ({}, CACHE, {"content": [text("A"), text("B", **CACHE)]}, "nothing"),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_what_they_have_beside_their_texts_stays_or_is_reported(name: str) -> None:
    one, other, joined, loses = MEMBERS[name]
    messages = [{"role": "system", "content": "A", **one}, {"role": "system", "content": "B", **other}]
    done = sent({"messages": [*messages, {"role": "user", "content": "Hi"}]}, "lmstudio/m")
    assert done.json["messages"][0] == {"role": "system", **joined}
    assert done.changes == [("many-systems", "/messages/1", loses, False)]


def test_what_is_no_text_stays_a_part() -> None:
    done = run(
        many_systems,
        "system: A\nsystem: [image https://a/b.png]\nuser: Hi",
        facts(system_count="one", system_parts="refuses"),
    )
    assert done.script == "system: A\n[image https://a/b.png]\nuser: Hi"


def test_separate_messages_are_separate_parts_of_one_field() -> None:
    field = facts(system_count="one", inline_system="refuses")
    done = run(many_systems, "system: A\nsystem: B\nuser: Hi", field, choice="separate")
    assert [len(message.parts) for message in done.conversation.messages] == [2, 1]
    assert done.changes == [("/messages/1", "nothing", False)]
    assert done.did == ["made a part of the system field"]


UNTOUCHED: dict[str, tuple[str, Facts, Any]] = {
    "one system message": ("system: A\nuser: Hi\nsystem: L", ONE, None),
    "a target that takes many": (THREE, MANY, None),
    "auto for a target that takes many": (THREE, MANY, "auto"),
    "separate": (THREE, ONE, "separate"),
    "keep": (THREE, ONE, "keep"),
    "fail for a target that takes many": (THREE, MANY, "fail"),
}


test_untouched = leaves_alone(many_systems, UNTOUCHED)


MESSAGES: list[dict[str, Any]] = [
    {"role": "system", "content": "A"},
    {"role": "system", "content": "B"},
    {"role": "user", "content": "Hi"},
]


def test_adapt_for_real_providers() -> None:
    done = sent({"messages": MESSAGES, "max_tokens": 9}, "anthropic/claude-opus-4-8", source="openai-chat")
    assert done.json["system"] == "A\n\nB"
    assert done.changes == [("many-systems", "/messages/1", "nothing", False)]
    asked = sent({"messages": MESSAGES}, "openai/gpt-4o", rules={"many-systems": "join"})
    assert asked.json["messages"] == [{"role": "system", "content": "A\n\n---\n\nB"}, MESSAGES[2]]
    assert sent({"messages": MESSAGES}, "openai/gpt-4o").json["messages"] == MESSAGES


def test_adapt_with_the_choice_fail() -> None:
    assert sent({"messages": MESSAGES}, "openai/gpt-4o", rules={"many-systems": "fail"}).json["messages"] == MESSAGES
    with pytest.raises(RepairRefused, match="is set to fail"):
        sent({"messages": MESSAGES}, "strict-template/m", rules={"many-systems": "fail"})
