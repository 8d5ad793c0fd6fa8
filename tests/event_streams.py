"""Server-sent events: written as providers send them, and read as clients do."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

Event = dict[str, Any]


def write_events(events: Iterable[Event]) -> tuple[bytes, ...]:
    """The frames of events that are named after their types, as Anthropic and Responses send them."""
    return tuple([f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events])


def read_events(stream: str | bytes) -> list[Any]:
    """The objects in the frames of a stream."""
    text = stream.decode() if isinstance(stream, bytes) else stream
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: {")]


def stream_message(message: Event) -> Iterator[Event]:
    """A whole answer of Anthropic's as the events of a stream."""
    usage = {**message["usage"], "output_tokens": 1}
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None, "usage": usage}}
    for index, block in enumerate(message["content"]):
        begun, deltas = _split_block(block)
        yield {"type": "content_block_start", "index": index, "content_block": begun}
        yield from [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        yield {"type": "content_block_stop", "index": index}
    ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": message["usage"]["output_tokens"]}}
    yield {"type": "message_stop"}


def _split_block(block: Event) -> tuple[Event, list[Event]]:
    """How a block begins, and what follows."""
    match block["type"]:
        case "text":
            begun = {"type": "text", "text": "", **({"citations": []} if "citations" in block else {})}
            cited = [{"type": "citations_delta", "citation": one} for one in block.get("citations", ())]
            return begun, [*cited, {"type": "text_delta", "text": block["text"]}]
        case "thinking":
            thought = {"type": "thinking_delta", "thinking": block["thinking"]}
            signature = {"type": "signature_delta", "signature": block["signature"]}
            return {"type": "thinking", "thinking": "", "signature": ""}, [thought, signature]
        case "tool_use" | "server_tool_use":
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        case _:
            return block, []
