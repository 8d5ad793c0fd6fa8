"""What Claude says, whole or as a stream of named events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from dragoman.emulators.anthropic.thinking import sign
from dragoman.emulators.provider import Received, ToolCall, Turn
from dragoman.emulators.usage import Usage, digest, used
from dragoman.emulators.wire import compact, fragments, sse, token

Block = dict[str, Any]


def whole(call: Received, turn: Turn) -> dict[str, Any]:
    """The message in one piece."""
    return {
        **_frame(call),
        "content": [block for block, _ in _blocks(call, turn)],
        "stop_reason": _reason(turn),
        "usage": {**_usage_in(_used(call, turn)), **_usage_out(_used(call, turn))},
    }


def stream(call: Received, turn: Turn) -> Iterator[bytes]:
    """The same message as events, with a ping after the first block has begun."""
    usage = _used(call, turn)
    opening = {**_frame(call), "usage": {**_usage_in(usage), "output_tokens": min(1, usage.output)}}
    yield _event({"type": "message_start", "message": opening})
    blocks = _blocks(call, turn)
    if not blocks:
        yield _event({"type": "ping"})
    for index, (block, arguments) in enumerate(blocks):
        yield _event({"type": "content_block_start", "index": index, "content_block": _hollow(block)})
        if index == 0:
            yield _event({"type": "ping"})
        for delta in _deltas(block, arguments):
            yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": _reason(turn), "stop_sequence": None, "stop_details": None}
    yield _event(
        {"type": "message_delta", "delta": ending, "usage": {**_usage_in(usage, short=True), **_usage_out(usage)}}
    )
    yield _event({"type": "message_stop"})


def _event(payload: dict[str, Any]) -> bytes:
    return sse(payload, event=payload["type"])


def _frame(call: Received) -> dict[str, Any]:
    return {
        "id": token("msg_01", 22, digest(call)),
        "type": "message",
        "role": "assistant",
        "model": call.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
    }


def _blocks(call: Received, turn: Turn) -> list[tuple[Block, str]]:
    """Blocks in order; beside each the argument text as it streams."""
    made: list[tuple[Block, str]] = []
    if turn.reasoning is not None:
        made.append((_thought(call, turn.reasoning), ""))
    said = turn.says or turn.refusal
    if said:
        made.append(({"type": "text", "text": said}, ""))
    for index, wanted in enumerate(turn.calls):
        made.append(_tool_use(call, wanted, index))
    return made


def _thought(call: Received, thought: str) -> Block:
    """Thinking with its signature. An empty thought is one that the service withholds: redacted, as a whole."""
    if not thought:
        return {"type": "redacted_thinking", "data": sign(call.model, "redacted")}
    shown = "" if _hides_thoughts(call) else thought
    return {"type": "thinking", "thinking": shown, "signature": sign(call.model, shown)}


def _hides_thoughts(call: Received) -> bool:
    config = call.body.get("thinking")
    return isinstance(config, dict) and config.get("display") == "omitted"


def _tool_use(call: Received, wanted: ToolCall, index: int) -> tuple[Block, str]:
    spelled = wanted.arguments if isinstance(wanted.arguments, str) else compact(wanted.arguments).decode()
    block = {
        "type": "tool_use",
        "id": wanted.id or token("toolu_01", 22, digest(call), index),
        "name": wanted.name,
        "input": _object(spelled),
        "caller": {"type": "direct"},
    }
    return block, spelled


def _object(spelled: str) -> dict[str, Any]:
    """Arguments as an object; broken ones are wrapped, since `input` is never anything else."""
    try:
        value = orjson.loads(spelled or "{}")
    except orjson.JSONDecodeError:
        value = None
    return value if isinstance(value, dict) else {"INVALID_JSON": spelled}


def _hollow(block: Block) -> Block:
    """The block as it looks before its deltas."""
    empty: dict[str, Any] = {"thinking": "", "signature": "", "text": "", "input": {}}
    return {key: empty.get(key, value) for key, value in block.items()}


def _deltas(block: Block, arguments: str) -> Iterator[dict[str, Any]]:
    if block["type"] == "thinking":
        for piece in fragments(block["thinking"]):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] == "text":
        for piece in fragments(block["text"]):
            yield {"type": "text_delta", "text": piece}
    elif block["type"] == "tool_use":
        yield {"type": "input_json_delta", "partial_json": ""}
        for piece in fragments(arguments):
            yield {"type": "input_json_delta", "partial_json": piece}


def _reason(turn: Turn) -> str:
    if turn.stop == "length":
        return "max_tokens"
    if turn.stop == "filter" or turn.refusal is not None:
        return "refusal"
    return "tool_use" if turn.calls else "end_turn"


def prompt(call: Received) -> list[Any]:
    """The part of the body that the model reads."""
    return [call.body.get(name) for name in ("system", "messages", "tools")]


def _used(call: Received, turn: Turn) -> Usage:
    return used(prompt(call), turn)


def _usage_in(usage: Usage, short: bool = False) -> dict[str, Any]:
    counts: dict[str, Any] = {
        "input_tokens": usage.input - usage.cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached,
    }
    if short:
        return counts
    written = {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0}
    return {**counts, "cache_creation": written, "service_tier": "standard", "inference_geo": "global"}


def _usage_out(usage: Usage) -> dict[str, Any]:
    return {"output_tokens": usage.output, "output_tokens_details": {"thinking_tokens": usage.reasoning}}
