"""Repairs that another repair calls for: what was found to need a second run, and is done in one."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.engine.library.adapt import adapt

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
DETAIL = {"type": "reasoning.text", "text": "Hm", "signature": "c2lnbmVk"}


def claude(thinking: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 4000, "thinking": thinking, **more}


CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "blank text beside thinking that goes": (
        "openai-chat",
        "anthropic/claude-sonnet-4-5",
        {
            "messages": [
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": " \n", "reasoning_details": [DETAIL]},
                {"role": "user", "content": "More"},
            ]
        },
    ),
    "a strict tool without a schema": (
        "openai-chat",
        "anthropic/claude-sonnet-4-5",
        {
            "messages": [{"role": "user", "content": "Hi"}],
            "tools": [{"type": "function", "function": {"name": "f", "strict": True}}],
        },
    ),
    "results of calls in two messages, one of them missing": (
        "gemini",
        "anthropic/claude-sonnet-4-5",
        {
            "contents": [
                {"role": "user", "parts": [{"text": "Hi"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}, "id": "a"}}]},
                {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}, "id": "b"}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"x": 1}, "id": "a"}}]},
            ]
        },
    ),
    "a turn that begins with words once the system message before it has moved": (
        "anthropic",
        "anthropic/claude-sonnet-4-5",
        claude(
            {"type": "enabled", "budget_tokens": 1024},
            messages=[
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Let me see."},
                {"role": "system", "content": "Be brief."},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "redacted_thinking", "data": "c2lnbmVk"},
                        {"type": "tool_use", "id": "a", "name": "f", "input": {}},
                    ],
                },
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "ok"}]},
            ],
        ),
    ),
    "a wish to think under two names": (
        "openai-chat",
        "moonshot/kimi-k2-0905-preview",
        {
            "messages": [{"role": "user", "content": "Hi"}],
            "reasoning": {"effort": "high"},
            "reasoning_effort": "high",
        },
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_one_run_settles_it(name: str) -> None:
    source, target, body = CASES[name]
    once = adapt({"model": "m", **body} if source != "gemini" else body, source=source, target=target)
    twice = adapt(once.body, source=once.dialect, target=target)
    assert [change.did for change in twice.changes] == []
    assert twice.body == once.body
