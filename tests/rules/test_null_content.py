"""`null-content`: messages without any content."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.rules.runs import CHAT, facts, leaves_alone, run, sent

from dragoman.profiles.facts import Facts
from dragoman.rules.clean.null_content import null_content

ALL = facts(no_parts="refuses", no_user_parts="refuses")

REPAIRS: dict[str, tuple[Facts, str, str, tuple[str, str, bool]]] = {
    "an assistant's message goes": (
        ALL,
        "user: Hi\nassistant: []\nuser: Hm",
        "user: Hi\nuser: Hm",
        ("/messages/1", "nothing", False),
    ),
    "a system's message goes": (ALL, "system: []\nuser: Hi", "user: Hi", ("/messages/0", "nothing", False)),
    "a user's message gets a placeholder": (
        ALL,
        "user: []\nassistant: Hi",
        "user: (empty)\nassistant: Hi",
        ("/messages/0", "nothing", True),
    ),
    "thinking in a field of its own is no content": (
        facts(no_parts="refuses", reasoning_field="reasoning_content"),
        "user: Hi\n~ Hm\nuser: More",
        "user: Hi\nuser: More",
        ("/messages/1", "metadata", False),
    ),
    "thinking that the model never reads is no content": (
        facts(no_parts="refuses", drops=("reasoning",)),
        "user: Hi\n~ Hm\nuser: More",
        "user: Hi\nuser: More",
        ("/messages/1", "metadata", False),
    ),
    "a user's turn if only those are refused": (
        facts(no_parts="accepts", no_user_parts="refuses"),
        "user: []\nassistant: []",
        "user: (empty)\nassistant: []",
        ("/messages/0", "nothing", True),
    ),
}


@pytest.mark.parametrize("name", REPAIRS)
def test_repairs(name: str) -> None:
    known, before, after, change = REPAIRS[name]
    done = run(null_content, before, known)
    assert done.script == after
    assert done.changes == [change]


UNTOUCHED: dict[str, tuple[str, Facts]] = {
    "content": ("system: S\nuser: Hi\nassistant: Hello", ALL),
    "an empty text": ("user:\n\nassistant:", ALL),
    "calls without words": ("user: Hi\ncall f(c1) {}", ALL),
    "a target that takes it": ("user: []\nassistant: []", facts(no_parts="accepts", no_user_parts="accepts")),
    "thinking in the content": ("user: Hi\n~ Hm", ALL),
    "a system message whose fields say something": ('system: [] {"output_config": {}}\nuser: Hi', ALL),
}


test_untouched = leaves_alone(null_content, UNTOUCHED)


def test_the_words_of_the_placeholder_can_be_configured() -> None:
    assert run(null_content, "user: []", ALL, texts={"empty_content": "."}).script == "user: ."


NOTHING: dict[str, Any] = {"role": "user", "content": None}


@pytest.mark.parametrize(
    "target", ["groq/llama-3.3-70b-versatile", "deepseek/deepseek-chat", "openrouter/openai/gpt-4o"]
)
def test_adapt_fills_a_user_turn_without_content(target: str) -> None:
    done = sent({"messages": [{"role": "user", "content": "Hi"}, NOTHING]}, target)
    assert done.json["messages"][1] == {"role": "user", "content": "(empty)"}
    assert done.changes == [("null-content", "/messages/1", "nothing", True)]


@pytest.mark.parametrize("target", ["openrouter/google/gemini-2.5-flash", "gemini/gemini-2.5-flash"])
def test_A5_a_late_system_message_without_content_keeps_its_tag(target: str) -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "system", "content": None},
        {"role": "user", "content": "x"},
    ]
    done = sent({"messages": messages}, target, source=CHAT)
    assert '"[System] "' in json.dumps(done.json)
    assert [change[0] for change in done.changes] == ["null-content", "late-system"]


def test_adapt_takes_out_an_assistant_turn_without_content() -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": None},
        {"role": "user", "content": "x"},
    ]
    done = sent({"messages": messages, "max_tokens": 9}, "anthropic/claude-opus-4-8", source=CHAT)
    assert [turn["content"] for turn in done.json["messages"]] == ["Hi", "x"]
    assert done.changes == [("null-content", "/messages/1", "nothing", False)]


def test_several_thoughts_are_no_content_either() -> None:
    hi = {"role": "user", "content": "Hi"}
    details = [{"type": "reasoning.text", "text": "The user", "format": "unknown", "index": 0}]
    cut = {"role": "assistant", "reasoning_content": "The user", "reasoning_details": details, "refusal": None}
    done = sent({"messages": [hi, cut, hi]}, "xai/grok-4")
    assert done.json["messages"] == [hi, hi]
    assert done.changes == [("null-content", "/messages/1", "metadata", False)]


@pytest.mark.parametrize("target", ["gemini/gemini-3-pro-preview", "vertex/gemini-2.5-flash"])
def test_a_content_of_no_parts_beside_another_of_the_model_goes(target: str) -> None:
    """An agent that asks again after an empty answer keeps both."""
    hi, said = {"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [{"text": "Good day."}]}
    done = sent({"contents": [hi, {"role": "model", "parts": []}, said, hi]}, target, source="gemini")
    assert done.json["contents"] == [hi, said, hi]
    assert done.changes == [("null-content", "/contents/1", "nothing", False)]


def test_minimax_gets_no_user_turn_without_content() -> None:
    hi = {"role": "user", "content": "Hi"}
    done = sent(
        {"messages": [hi, {"role": "assistant", "content": "Hello"}, {"role": "user", "content": []}]}, "minimax/a"
    )
    assert done.json["messages"][2] == {"role": "user", "content": "(empty)"}
