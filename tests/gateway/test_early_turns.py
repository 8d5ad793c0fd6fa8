"""A client that has read the end of a stream goes on at once. What its next turn needs is kept by then, even if the
provider has not closed the stream yet."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.event_streams import stream_message, write_events
from tests.gateway.running import gateway, provider, wait_for
from tests.gateway.upstream import Answer, Seen, upstream

from dragoman.emulators.signatures import mint

CLAUDE = "claude-sonnet-4-5"
SIGNATURE = mint(f"anthropic/{CLAUDE}", "I should look.")
TOOL: Any = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
SECONDS = 30
"""How long a stream stays open at most if nothing follows."""


def claude() -> Iterator[bytes]:
    """Thinks, and calls a function."""
    thought = {"type": "thinking", "thinking": "I should look.", "signature": SIGNATURE}
    call = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}
    message = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": CLAUDE, "content": [thought, call],
        "stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 5},
    }  # fmt: skip
    yield from write_events(stream_message(message))


def deepseek() -> Iterator[bytes]:
    """The same in the Chat dialect, which is relayed."""
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    for delta, stop in (
        ({"role": "assistant", "content": None, "reasoning_content": "I should look."}, None),
        ({"tool_calls": [call]}, None),
        ({}, "tool_calls"),
    ):
        choice = {"index": 0, "delta": delta, "finish_reason": stop}
        chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        yield b"data: " + json.dumps(chunk).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


SERVED: Any = {
    "translated": ("anthropic", CLAUDE, claude, '"signature": "' + SIGNATURE),
    "relayed": ("deepseek", "deepseek-v4-pro", deepseek, '"reasoning_content": "I should look."'),
}


@pytest.mark.parametrize("way", SERVED)
def test_the_next_turn_finds_the_thinking_while_the_stream_is_still_open(tmp_path: Path, way: str) -> None:
    profile, model, events, wanted = SERVED[way]
    over = threading.Event()

    def held() -> Iterator[bytes]:
        yield from events()
        over.wait(SECONDS)

    def answer(seen: Seen) -> Answer:
        if len(seen.body["messages"]) == 1:
            return 200, held()
        return 400, {"error": {"message": "That is all."}}

    with upstream(answer) as behind:
        base = behind.url.removesuffix("/v1") if profile == "anthropic" else behind.url
        config = {"providers": {"p": provider(profile, base)}, "models": {"m": {"target": f"p/{model}"}}}
        with gateway(config, tmp_path) as running:
            asked: Any = {"role": "user", "content": "Look."}
            client = running.openai()
            given: Any = {"model": "m", "tools": [TOOL], "reasoning_effort": "high"}
            with client.chat.completions.create(messages=[asked], stream=True, **given) as chunks:
                deltas = [one.delta for chunk in chunks for one in chunk.choices]
            (call,) = [call for delta in deltas for call in delta.tool_calls or () if call.id]
            function = {"name": "look", "arguments": "{}"}
            called: Any = {
                "role": "assistant",
                "tool_calls": [{"id": call.id, "type": "function", "function": function}],
            }
            result: Any = {"role": "tool", "tool_call_id": call.id, "content": "Done."}
            with pytest.raises(Exception, match="That is all"):
                client.chat.completions.create(messages=[asked, called, result], **given)
            wait_for(lambda: running.busy() == (0, 0))
            entries = running.services.records.recent._entries
            over.set()
    assert wanted in json.dumps(behind.bodies()[1]["messages"])
    assert sorted([entry.status for entry in entries]) == [200, 400], "who has all of an answer may hang up"
