"""Answers in Anthropic format: whole, or as a stream of named events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dragoman.emulators.anthropic import compaction
from dragoman.emulators.anthropic.caching import render_diagnostics
from dragoman.emulators.anthropic.hosted_blocks import container, count_runs, run_blocks, text_blocks
from dragoman.emulators.anthropic.models import claude_model
from dragoman.emulators.anthropic.thinking import sign
from dragoman.emulators.provider import ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.usage import CLAUDE, TokenUsage, answer_seed, count_usage
from dragoman.emulators.wire import arguments_object, fragments, make_id, render_json, render_sse_event

Block = dict[str, Any]
SCREEN_MEMBERS = frozenset(
    ("screenshot", "left_click", "right_click", "middle_click", "double_click", "triple_click", "left_click_drag")
) | frozenset(
    ("left_mouse_down", "left_mouse_up", "mouse_move", "cursor_position", "type", "key", "hold_key", "scroll", "wait")
)
"""The names of calls of the toolset for a screen."""


def render_answer(request: ReceivedRequest, turn: ModelTurn) -> dict[str, Any]:
    """The whole message. A request for no tokens writes the prompt cache, and has none."""
    if request.body.get("max_tokens") == 0:
        turn = replace(turn, text=None, reasoning=None, calls=(), refusal=None, json=None, runs=(), stop="length")
    return {
        **_frame(request),
        "content": [block for block, _ in _blocks(request, turn)],
        "stop_reason": _reason(request, turn),
        "stop_sequence": turn.stopped_by,
        "usage": {
            **_render_input_usage(_usage(request, turn)),
            **_render_output_usage(_usage(request, turn)),
            **count_runs(turn),
        },
        **container(request, turn),
        **render_diagnostics(request, turn.cache.miss),
    }


def render_stream(request: ReceivedRequest, turn: ModelTurn) -> Iterator[bytes]:
    """The same message as events, with a ping after the start of the first block."""
    usage = _usage(request, turn)
    opening = {**_frame(request), "usage": {**_render_input_usage(usage), "output_tokens": min(1, usage.output)}}
    opening |= render_diagnostics(request, turn.cache.miss)
    yield _event({"type": "message_start", "message": opening})
    blocks = _blocks(request, turn)
    if not blocks:
        yield _event({"type": "ping"})
    for index, (block, arguments) in enumerate(blocks):
        yield _event({"type": "content_block_start", "index": index, "content_block": _empty_block(block)})
        if index == 0:
            yield _event({"type": "ping"})
        for delta in _deltas(block, arguments):
            yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": _reason(request, turn), "stop_sequence": turn.stopped_by, "stop_details": None}
    ending |= container(request, turn)
    yield _event(
        {
            "type": "message_delta",
            "delta": ending,
            "usage": {**_render_input_usage(usage, short=True), **_render_output_usage(usage), **count_runs(turn)},
        }
    )
    yield _event({"type": "message_stop"})


def _event(payload: dict[str, Any]) -> bytes:
    return render_sse_event(payload, event=payload["type"])


def message_id(request: ReceivedRequest) -> str:
    """The id of the answer."""
    return make_id("msg_01", 22, answer_seed(request))


def _frame(request: ReceivedRequest) -> dict[str, Any]:
    return {
        "id": message_id(request),
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "stop_details": None,
    }


def _blocks(request: ReceivedRequest, turn: ModelTurn) -> list[tuple[Block, str]]:
    """The blocks in order, each with its arguments as text (empty for other blocks)."""
    compacted = compaction.compact(request, prompt(request))
    blocks: list[tuple[Block, str]] = [(compacted, "")] if compacted is not None else []
    if compaction.is_asked(request):
        return blocks
    if turn.reasoning is not None:
        blocks.append((_thinking_block(request, turn.reasoning), ""))
    for index, run in enumerate(turn.runs):
        blocks += run_blocks(request, run, index)
    text = turn.visible_text or turn.refusal
    if text:
        blocks += [(block, "") for block in text_blocks(turn, text)]
    for index, tool_call in enumerate(turn.calls):
        blocks.append(_tool_use(request, tool_call, index))
    return blocks


def _thinking_block(request: ReceivedRequest, thinking: str) -> Block:
    """A thinking block with its signature. Empty thinking is withheld by the service: a redacted block."""
    if not thinking:
        return {"type": "redacted_thinking", "data": sign(request.model, "redacted")}
    shown = "" if _hides_thinking(request) else thinking
    return {"type": "thinking", "thinking": shown, "signature": sign(request.model, shown)}


def thinks(request: ReceivedRequest) -> bool:
    """Whether the request turns thinking on, or the model thinks by default. Recorded answers have none otherwise."""
    config = request.body.get("thinking")
    if isinstance(config, dict) and "type" in config:
        return config["type"] in ("enabled", "adaptive")
    return claude_model(request.model).thinks_by_default


def _hides_thinking(request: ReceivedRequest) -> bool:
    config = request.body.get("thinking")
    display = config.get("display") if isinstance(config, dict) else None
    return display == "omitted" or (display is None and claude_model(request.model).omits_by_default)


def _tool_use(request: ReceivedRequest, tool_call: ModelCall, index: int) -> tuple[Block, str]:
    arguments = (
        tool_call.arguments if isinstance(tool_call.arguments, str) else render_json(tool_call.arguments).decode()
    )
    block = {
        "type": "tool_use",
        "id": tool_call.id or make_id("toolu_01", 22, answer_seed(request), index),
        "name": tool_call.name,
        "input": arguments_object(arguments),
        "caller": {"type": "direct"},
        **_toolset_of(request, tool_call.name),
    }
    return block, arguments


def _toolset_of(request: ReceivedRequest, name: str) -> dict[str, str]:
    """The toolset that a call belongs to: its members are called by their own names."""
    tools = [tool for tool in request.body.get("tools") or () if isinstance(tool, dict)]
    declared = any(str(tool.get("type")).startswith("computer_toolset") for tool in tools)
    own = any(tool.get("name") == name for tool in tools)
    return {"toolset_name": "computer"} if declared and not own and name in SCREEN_MEMBERS else {}


def _empty_block(block: Block) -> Block:
    """The block as it starts, before its deltas."""
    if block["type"] == "compaction":
        return {**block, "content": None, "encrypted_content": None}
    empty: dict[str, Any] = {"thinking": "", "signature": "", "text": "", "input": {}, "citations": []}
    return {key: empty.get(key, value) for key, value in block.items()}


def _deltas(block: Block, arguments: str) -> Iterator[dict[str, Any]]:
    if block["type"] == "thinking":
        for piece in fragments(block["thinking"]):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block["signature"]}
    elif block["type"] == "compaction":
        given: Block = {key: block[key] for key in ("content", "encrypted_content") if key in block}
        yield {"type": "compaction_delta", **given}
    elif block["type"] == "text":
        for citation in block.get("citations", ()):
            yield {"type": "citations_delta", "citation": citation}
        for piece in fragments(block["text"]):
            yield {"type": "text_delta", "text": piece}
    elif block["type"] in ("tool_use", "server_tool_use", "mcp_tool_use"):
        yield {"type": "input_json_delta", "partial_json": ""}
        for piece in fragments(arguments):
            yield {"type": "input_json_delta", "partial_json": piece}


def _reason(request: ReceivedRequest, turn: ModelTurn) -> str:
    if compaction.is_asked(request):
        return "compaction"
    if turn.stop == "length":
        return "max_tokens"
    if turn.stop == "filter" or turn.refusal is not None:
        return "refusal"
    if turn.stopped_by is not None:
        return "stop_sequence"
    return "tool_use" if turn.calls else "end_turn"


def prompt(request: ReceivedRequest) -> list[Any]:
    """The part of the body that the model reads."""
    return [CLAUDE.unseen(request.body.get("tools")), *map(request.body.get, ("system", "messages", "tools"))]


def _usage(request: ReceivedRequest, turn: ModelTurn) -> TokenUsage:
    return count_usage(prompt(request), turn)


def _render_input_usage(usage: TokenUsage, short: bool = False) -> dict[str, Any]:
    counts: dict[str, Any] = {
        "input_tokens": usage.uncached,
        "cache_creation_input_tokens": usage.written,
        "cache_read_input_tokens": usage.cached,
    }
    if short:
        return counts
    created = {f"ephemeral_{name}_input_tokens": usage.written_by_lifetime.get(name, 0) for name in ("5m", "1h")}
    return {**counts, "cache_creation": created, "service_tier": "standard", "inference_geo": "global"}


def _render_output_usage(usage: TokenUsage) -> dict[str, Any]:
    return {"output_tokens": usage.output, "output_tokens_details": {"thinking_tokens": usage.reasoning}}
