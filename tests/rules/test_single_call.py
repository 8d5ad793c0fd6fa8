"""`single-call`: at most one call asked for, of a target that has no setting for it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.rules.runs import CHAT, facts, run, sent

from dragoman.rules.place.single_call import single_call

WORDS = "Call at most one tool at a time."
HI: dict[str, Any] = {"role": "user", "content": "Hi"}
SYSTEM: dict[str, Any] = {"role": "system", "content": "Be brief."}
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "f", "parameters": {"type": "object", "properties": {}}},
}
ASKED: dict[str, Any] = {"tools": [TOOL], "parallel_tool_calls": False}
REFUSES = facts(settings={"parallel_tool_calls": {"support": "refuses"}})


def test_words_stand_after_the_clients_own_instructions_on_every_turn() -> None:
    for turns in ([HI], [HI, {"role": "assistant", "content": "A"}, HI]):
        done = run(single_call, {"messages": [SYSTEM, *turns], **ASKED}, REFUSES)
        assert done.json["messages"] == [SYSTEM, {"role": "system", "content": WORDS}, *turns]
        assert "parallel_tool_calls" not in done.json
        assert done.changes == [("/parallel_tool_calls", "metadata", True)]


def test_the_words_can_be_configured() -> None:
    done = run(single_call, {"messages": [HI], **ASKED}, REFUSES, texts={"single_call": "One tool, please."})
    assert done.json["messages"][0] == {"role": "system", "content": "One tool, please."}


UNTOUCHED: dict[str, tuple[dict[str, Any], Any]] = {
    "parallel calls are welcome": ({**ASKED, "parallel_tool_calls": True}, REFUSES),
    "nothing was asked": ({"tools": [TOOL]}, REFUSES),
    "no tools": ({"parallel_tool_calls": False}, REFUSES),
    "no tool may be called": ({**ASKED, "tool_choice": "none"}, REFUSES),
    "a target that knows the setting": (ASKED, facts()),
    "a model without tools": (ASKED, facts(settings={"parallel_tool_calls": {"support": "refuses"}}, tools="refuses")),
}


@pytest.mark.parametrize("name", UNTOUCHED)
def test_untouched(name: str) -> None:
    body, known = UNTOUCHED[name]
    assert run(single_call, {"messages": [HI], **body}, known).untouched


TARGETS = (
    "gemini/gemini-2.5-flash",
    "ollama/qwen3:8b",
    "cohere/command-a-03-2025",
    "bedrock/amazon.nova-pro-v1:0",
    "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0",
)


@pytest.mark.parametrize("target", TARGETS)
def test_real_targets_are_asked_in_the_system_text(target: str) -> None:
    done = sent({"messages": [SYSTEM, HI], **ASKED}, target, source=CHAT)
    text = repr(done.json)
    assert text.index("Be brief.") < text.index(WORDS)
    assert "single-call" in [rule for rule, *_ in done.changes]
    assert "refused-setting" not in [rule for rule, *_ in done.changes]


def test_a_client_of_anthropic_reads_where_it_asked() -> None:
    tool = {"name": "f", "input_schema": {"type": "object", "properties": {}}}
    choice = {"type": "auto", "disable_parallel_tool_use": True}
    body = {"model": "m", "max_tokens": 10, "messages": [HI], "tools": [tool], "tool_choice": choice}
    done = sent(body, "gemini/gemini-2.5-flash", source="anthropic")
    assert done.json["systemInstruction"]["parts"] == [{"text": WORDS}]
    assert ("single-call", "/tool_choice/disable_parallel_tool_use", "metadata", True) in done.changes
    assert sent({"messages": [HI], **ASKED}, "anthropic/claude-sonnet-4-5", source=CHAT).json["tool_choice"] == choice
