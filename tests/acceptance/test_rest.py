"""B11, C24, D6: one value between dialects, tools that stay, and usage that survives."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.asking import CLAUDE, NATIVE, OPENAI, answered, ask, called, says, sent
from tests.acceptance.through_gateway import DONE, SAYS, STOP, served
from tests.acceptance.through_gateway import ask as post

from dragoman.engine.library.adapt import adapt, read

TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in ("look", "go")]


def test_B11_one_value_stands_between_all_dialects() -> None:
    chat = ask(says("user", "Hi"), called(), answered(), tools=TOOLS)
    values = [read(chat, source="openai-chat").conversation]
    for target, dialect in ((CLAUDE, "anthropic"), (NATIVE, "gemini"), ("openai-responses/gpt-4o", "openai-responses")):
        values.append(read(sent(chat, target).body, source=dialect).conversation)
    outlines = {
        tuple((message.role, tuple(type(part).__name__ for part in message.parts)) for message in value.messages)
        for value in values
    }
    assert len(outlines) == 1


@pytest.mark.parametrize(
    "target", [OPENAI, CLAUDE, NATIVE, "openrouter/google/gemini-2.5-flash", "gemini-compatible/x"]
)
def test_C24_no_tool_is_filtered_and_no_loop_forced(target: str) -> None:
    for request in (ask(says("user", "Hi"), tools=TOOLS), ask(says("user", "Hi"), called(), answered(), tools=TOOLS)):
        body = sent(request, target).json
        assert all(name in json.dumps(body["tools"]) for name in ("look", "go"))
        assert "tool_choice" not in body
        assert "toolConfig" not in body


def test_D6_usage_says_whether_it_is_estimated(tmp_path: Path) -> None:
    with served(tmp_path, lambda seen: (200, SAYS + STOP + DONE) if seen.body.get("stream") else None) as (running, _):
        counted, guessed = running.entry(post(running)), running.entry(post(running, stream=True))
        assert (counted.estimated, counted.input_tokens, counted.output_tokens) == (False, 3, 2)
        assert (guessed.estimated, guessed.input_tokens > 0, guessed.output_tokens > 0) == (True, True, True)


def test_D6_the_usage_of_a_claude_stream_survives() -> None:
    stream = adapt(ask(says("user", "Hi"), stream=True, stream_options={"include_usage": True}), target=CLAUDE).stream()
    wire = [
        {"type": "message_start", "message": {"id": "m", "model": "c", "usage": {"input_tokens": 11}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    out = b"".join(stream.feed(f"data: {json.dumps(one)}\n\n".encode()) for one in wire) + stream.finish()
    assert b'"prompt_tokens":11,"completion_tokens":5' in out.replace(b" ", b"")
