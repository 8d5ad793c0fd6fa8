"""What the model says as one response object, and the items it is made of."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.provider import Received, ToolCall, Turn
from dragoman.emulators.responses.pairs import seal
from dragoman.emulators.usage import digest, used
from dragoman.emulators.wire import compact, token

Item = dict[str, Any]
_HEX = "0123456789abcdef"
_MOMENT = 1767225600  # 2026-01-01; no clock, so that the same request gets the same bytes
_ECHOED: dict[str, Any] = {
    "background": False,
    "frequency_penalty": 0.0,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "previous_response_id": None,
    "prompt_cache_key": None,
    "safety_identifier": None,
    "store": True,
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}


def frame(call: Received, status: str = "in_progress") -> dict[str, Any]:
    """The response before it has said anything: who, when, and the settings it was asked with."""
    body: dict[str, Any] = call.body
    echoed = {name: default if body.get(name) is None else body[name] for name, default in _ECHOED.items()}
    return {
        "id": identifier("resp_", call),
        "object": "response",
        "created_at": _MOMENT,
        "status": status,
        "completed_at": None,
        "error": None,
        "incomplete_details": None,
        "model": call.model,
        "output": [],
        **echoed,
        "reasoning": {"effort": None, "summary": None, **(body.get("reasoning") or {})},
        "service_tier": "default",
        "usage": None,
    }


def whole(call: Received, turn: Turn) -> dict[str, Any]:
    """The response in one piece."""
    reason = _cut_short(turn)
    return {
        **frame(call, "incomplete" if reason else "completed"),
        "completed_at": None if reason else _MOMENT,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": items(call, turn),
        "usage": usage(call, turn),
    }


def compacted(call: Received) -> dict[str, Any]:
    """The answer of `/responses/compact`: what the user said, and the rest behind a seal."""
    given = call.body.get("input")
    said = given if isinstance(given, list) else []
    kept = [
        {"type": "message", "id": identifier("msg_", call, index), "status": "completed", **item}
        for index, item in enumerate(said)
        if item.get("role") == "user"
    ]
    rest = {"type": "compaction", "id": identifier("cmp_", call), "encrypted_content": seal(digest(call))}
    return {
        "id": identifier("resp_", call),
        "object": "response.compaction",
        "created_at": _MOMENT,
        "output": [*kept, rest],
        "usage": usage(call, Turn(text="")),
    }


def items(call: Received, turn: Turn) -> list[Item]:
    """The output: reasoning, then a message, then calls."""
    status = "incomplete" if _cut_short(turn) else "completed"
    made: list[Item] = []
    if turn.reasoning is not None:
        made.append(_reasoning(call, turn.reasoning))
    content = _content(turn)
    if content:
        message = {"type": "message", "id": identifier("msg_", call), "status": status, "role": "assistant"}
        made.append({**message, "content": content})
    made.extend(_function_call(call, wanted, index) for index, wanted in enumerate(turn.calls))
    return made


def _reasoning(call: Received, thought: str) -> Item:
    summary = [{"type": "summary_text", "text": thought}] if thought else []
    return {
        "type": "reasoning",
        "id": identifier("rs_", call),
        "summary": summary,
        "content": [],
        "encrypted_content": seal(thought),
    }


def _content(turn: Turn) -> list[Item]:
    parts: list[Item] = []
    if turn.says:
        parts.append({"type": "output_text", "text": turn.says, "annotations": [], "logprobs": []})
    if turn.refusal is not None:
        parts.append({"type": "refusal", "refusal": turn.refusal})
    return parts


def _function_call(call: Received, wanted: ToolCall, index: int) -> Item:
    spelled = wanted.arguments if isinstance(wanted.arguments, str) else compact(wanted.arguments).decode()
    return {
        "type": "function_call",
        "id": identifier("fc_", call, index),
        "status": "completed",
        "call_id": wanted.id or token("call_", 24, digest(call), index),
        "name": wanted.name,
        "arguments": spelled,
    }


def identifier(prefix: str, call: Received, index: int = 0) -> str:
    """An id in OpenAI's form."""
    return token(prefix, 50, prefix, digest(call), index, alphabet=_HEX)


def _cut_short(turn: Turn) -> str | None:
    return {"length": "max_output_tokens", "filter": "content_filter"}.get(turn.stop or "")


def prompt(call: Received) -> list[Any]:
    """The part of the body that the model reads."""
    return [call.body.get(name) for name in ("instructions", "input", "tools")]


def usage(call: Received, turn: Turn) -> dict[str, Any]:
    """Token counts that add up."""
    counted = used(prompt(call), turn)
    return {
        "input_tokens": counted.input,
        "input_tokens_details": {"cached_tokens": counted.cached, "cache_write_tokens": 0},
        "output_tokens": counted.output,
        "output_tokens_details": {"reasoning_tokens": counted.reasoning},
        "total_tokens": counted.total,
    }
