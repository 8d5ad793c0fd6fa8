"""What a change is: a repair, words that were made up, or an addition of Dragoman's own (K42)."""

from __future__ import annotations

from typing import Any

import pytest

import dragoman
from dragoman.engine.library.policy import Policy
from dragoman.errors import RepairRefused

HI: dict[str, Any] = {"role": "user", "content": "Hi"}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
CALLS: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL]}
FOUND: dict[str, Any] = {"role": "tool", "tool_call_id": "call_1", "content": "found"}
TOOLS = {"tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]}


def chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **more}


KINDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "late-system": (chat(HI, {"role": "system", "content": "Be brief."}), "gemini/gemini-2.5-flash", "repair"),
    "refused-setting": (chat(HI, seed=7), "anthropic/claude-sonnet-4-5", "repair"),
    "leading-assistant": (chat({"role": "assistant", "content": "Hello"}, HI), "gemini/gemini-2.5-flash", "synthetic"),
    "missing-result": (chat(HI, CALLS, HI, **TOOLS), "openai/gpt-4o", "synthetic"),
    "undeclared-tools": (chat(HI, CALLS, FOUND), "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "synthetic"),
    "required-setting": (chat(HI), "anthropic/claude-sonnet-4-5", "added"),
    "missing-signature": (chat(HI, CALLS, FOUND, **TOOLS), "gemini/gemini-3-pro-preview", "added"),
    "reasoning-asked": (chat(HI), "openai-responses/gpt-5", "added"),
}


@pytest.mark.parametrize("rule", KINDS)
def test_a_change_says_what_it_is(rule: str) -> None:
    body, target, kind = KINDS[rule]
    adapted = dragoman.adapt(body, source="openai-chat", target=target)
    assert {change.kind for change in adapted.changes if change.rule == rule} == {kind}


@pytest.mark.parametrize("rule", KINDS)
def test_only_what_is_made_up_is_refused_as_synthetic(rule: str) -> None:
    body, target, kind = KINDS[rule]
    if kind == "synthetic":
        with pytest.raises(RepairRefused, match=rule):
            dragoman.adapt(body, source="openai-chat", target=target, policy=Policy(synthetic=False))
    else:
        assert dragoman.adapt(body, source="openai-chat", target=target, policy=Policy(synthetic=False)).changes
