"""Repairs that another repair calls for: what was found to need a second run, and is done in one."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.engine.adapt import adapt

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
            "reasoning": {"effort": "low"},
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


def test_base64_for_urls_becomes_what_all_read() -> None:
    part = {"inlineData": {"mimeType": "image/png", "data": "-_8"}}
    body = {"contents": [{"role": "user", "parts": [part, {"text": "See?"}]}]}
    sent = adapt(body, source="gemini", target="anthropic/claude-sonnet-4-5").json
    assert sent["messages"][0]["content"][0]["source"]["data"] == "+/8="


def test_an_empty_reasoning_item_is_no_thinking() -> None:
    items = [
        {"role": "user", "content": "Hi"},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "ok"},
    ]
    sent = adapt({"model": "m", "input": items}, source="openai-responses", target="moonshot/kimi-k2-thinking").json
    assert sent["messages"][1]["reasoning_content"] == " "


@pytest.mark.parametrize(("budget", "limit", "sent"), [(512, 8000, None), (9000, 8000, 7999), (2000, 8000, 2000)])
def test_a_budget_stays_in_its_bounds(budget: int, limit: int, sent: int | None) -> None:
    config = {"maxOutputTokens": limit, "thinkingConfig": {"thinkingBudget": budget}}
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": config}
    thinking = adapt(body, source="gemini", target="anthropic/claude-opus-4-6").json["thinking"]
    assert thinking.get("budget_tokens") == sent


def test_a_whole_number_is_written_without_a_point() -> None:
    body = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": {"topK": 40.0}}
    adapted = adapt(body, source="gemini", target="anthropic/claude-sonnet-4-5")
    assert b'"top_k":40,' in adapted.body
    assert "setting-range" not in {change.rule for change in adapted.changes}
