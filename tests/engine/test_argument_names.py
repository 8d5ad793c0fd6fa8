"""Arguments come back under the names that the client's tool knows."""

from __future__ import annotations

import json

import pytest
from tests.event_streams import read_events, write_events

import dragoman
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.answer.translation import Translation

ODD = "größe (cm)"
TOOL = {"type": "object", "properties": {ODD: {"type": "integer"}}, "required": [ODD]}


def _adapted() -> dragoman.AdaptedRequest:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": json.dumps({ODD: 1})}}
    request = {
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": TOOL}}],
        "max_tokens": 10,
    }
    return dragoman.adapt(request, target="anthropic/claude-sonnet-4-5")


def test_history_and_schema_speak_one_name() -> None:
    adapted = _adapted()
    (told,) = adapted.json["tools"][0]["input_schema"]["properties"]
    assert told != ODD
    assert adapted.json["messages"][1]["content"][0]["input"] == {told: 1}
    assert adapted.undo.keys == {told: ODD}


@pytest.mark.parametrize("size", [1, 7, 4096])
def test_a_streamed_call_is_renamed_when_it_is_whole(size: int) -> None:
    adapted = _adapted()
    (told,) = adapted.undo.keys
    arguments = json.dumps({told: 2})
    events = [
        {
            "type": "message_start",
            "message": {"id": "m", "role": "assistant", "content": [], "model": "c", "usage": {}},
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
        },
        *[
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": letter}}
            for letter in arguments
        ],
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    wire = b"".join(write_events(events))
    translation = Translation("anthropic", "openai-chat", adapted.undo, AnswerContext(model="m", id="x"))
    out = b"".join(translation.feed(wire[at : at + size]) for at in range(0, len(wire), size)) + translation.close()
    chunks = read_events(out)
    said = "".join(
        call["function"].get("arguments", "")
        for chunk in chunks
        for choice in chunk["choices"]
        for call in choice["delta"].get("tool_calls", ())
    )
    assert json.loads(said) == {ODD: 2}
