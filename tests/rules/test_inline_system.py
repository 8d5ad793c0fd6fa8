"""`inline-system`: the opening system text among the messages of a dialect that has a field for it."""

from __future__ import annotations

from typing import Any

from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.rules.place.inline_system import inline_system

CLAUDE = "anthropic"
REFUSES = facts(CLAUDE, inline_system="refuses")
HI: dict[str, Any] = {"role": "user", "content": "Hi"}
SYSTEM: dict[str, Any] = {"role": "system", "content": "Be brief."}


def test_it_moves_to_the_field() -> None:
    done = run(inline_system, {"messages": [SYSTEM, HI], "max_tokens": 9}, REFUSES, source=CLAUDE)
    assert done.json["system"] == "Be brief."
    assert done.json["messages"] == [HI]
    assert done.changes == [("/messages/0", "nothing", False)]
    assert done.did == ["moved to the system field"]
    assert done.conversation.messages[1] is done.ask.conversation.messages[1]


UNTOUCHED = {
    "a text in the field": ({"system": "Be brief.", "messages": [HI], "max_tokens": 9}, REFUSES),
    "a system message after the first turn": ({"messages": [HI, SYSTEM], "max_tokens": 9}, REFUSES),
    "a target that takes it there": ({"messages": [SYSTEM, HI], "max_tokens": 9}, facts(CLAUDE)),
}


test_untouched = leaves_alone(inline_system, UNTOUCHED, source=CLAUDE)


def test_adapt_reports_it_in_the_same_dialect_alone() -> None:
    done = sent({"messages": [SYSTEM, HI], "max_tokens": 9}, "anthropic/claude-sonnet-4-5")
    assert (done.json["system"], done.json["messages"]) == ("Be brief.", [HI])
    assert done.changes == [("inline-system", "/messages/0", "nothing", False)]
    chat = sent({"messages": [SYSTEM, HI], "max_tokens": 9}, "anthropic/claude-sonnet-4-5", source="openai-chat")
    assert chat.json["system"] == "Be brief."
    assert chat.changes == []


def test_B5_an_empty_text_leaves_no_system_field() -> None:
    empty = {"role": "system", "content": ""}
    done = sent({"messages": [empty, HI], "max_tokens": 9}, "anthropic/claude-sonnet-4-5")
    assert "system" not in done.json
    assert done.changes == [("empty-content", "/messages/0", "nothing", False)]


def test_a_late_message_of_gemini_is_not_said_to_move_to_the_field() -> None:
    contents = [{"role": role, "parts": [{"text": role}]} for role in ("system", "user", "system", "user")]
    done = sent({"contents": contents}, "gemini/gemini-2.5-flash", source="gemini")
    assert done.json["systemInstruction"] == {"parts": [{"text": "system"}]}
    assert done.changes == [
        ("inline-system", "/contents/0", "nothing", False),
        ("late-system", "/contents/2", "authority", False),
    ]
