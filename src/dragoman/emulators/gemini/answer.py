"""Answers in Gemini format: whole or in chunks.

Calls arrive whole, thoughts come first. The signature is on the first call, or on the last text if there is no call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from dragoman.emulators.gemini.flavour import Flavour, model_of
from dragoman.emulators.gemini.thoughts import sign
from dragoman.emulators.provider import ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.usage import answer_seed, count_tokens, count_usage
from dragoman.emulators.wire import fragments, make_id, render_json

Part = dict[str, Any]
_LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"


def render_answer(request: ReceivedRequest, turn: ModelTurn, flavour: Flavour) -> dict[str, Any]:
    """The whole answer."""
    return _chunk(request, turn, flavour, _parts(request, turn, flavour), _reason(turn))


def render_chunks(request: ReceivedRequest, turn: ModelTurn, flavour: Flavour) -> Iterator[dict[str, Any]]:
    """The same answer in chunks. The last one carries the finish reason."""
    pieces = [piece for part in _parts(request, turn, flavour) for piece in _cut(part)]
    if not pieces:
        pieces = [{"text": ""}]
    for piece in pieces[:-1]:
        yield _chunk(request, turn, flavour, [piece], None)
    yield _chunk(request, turn, flavour, pieces[-1:], _reason(turn))


def _cut(part: Part) -> Iterator[Part]:
    if "text" not in part:
        yield part
        return
    rest = {key: value for key, value in part.items() if key not in ("text", "thoughtSignature")}
    for piece in fragments(part["text"]):
        yield {"text": piece, **rest}
    if "thoughtSignature" in part:
        yield {"text": "", **rest, "thoughtSignature": part["thoughtSignature"]}


def _chunk(
    request: ReceivedRequest, turn: ModelTurn, flavour: Flavour, parts: list[Part], reason: str | None
) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    if reason == "MALFORMED_FUNCTION_CALL":
        broken = next(tool_call for tool_call in turn.calls if _arguments(tool_call) is None)
        candidate["finishMessage"] = f"Malformed function call: {broken.name}({broken.arguments})"
    chunk = {
        "candidates": [candidate],
        "usageMetadata": _render_usage(request, turn, flavour),
        "modelVersion": request.model,
        "responseId": make_id("", 22, answer_seed(request)),
    }
    return {**chunk, "createTime": "2026-01-01T00:00:00.000000Z"} if flavour.is_vertex else chunk


def _parts(request: ReceivedRequest, turn: ModelTurn, flavour: Flavour) -> list[Part]:
    parts: list[Part] = []
    if turn.reasoning is not None:
        parts.append({"text": turn.reasoning, "thought": True})
    text = turn.visible_text or turn.refusal
    if text:
        parts.append({"text": text})
    if _reason(turn) != "MALFORMED_FUNCTION_CALL":
        parts.extend(_call_part(request, tool_call, index) for index, tool_call in enumerate(turn.calls))
    _attach_signature(parts, request, turn, flavour)
    return parts


def _attach_signature(parts: list[Part], request: ReceivedRequest, turn: ModelTurn, flavour: Flavour) -> None:
    if turn.reasoning is None and not model_of(request.model).since(3):
        return
    visible = [part for part in parts if not part.get("thought")]
    signed_part = next((part for part in visible if "functionCall" in part), visible[-1] if visible else None)
    if signed_part is not None:
        signed_part["thoughtSignature"] = sign(flavour, request.model, render_json(signed_part).decode())


def _call_part(request: ReceivedRequest, tool_call: ModelCall, index: int) -> Part:
    function_call: dict[str, Any] = {"name": tool_call.name, "args": _arguments(tool_call) or {}}
    call_id = tool_call.id
    if call_id is None and model_of(request.model).since(3):
        call_id = make_id("", 8, answer_seed(request), index, alphabet=_LOWER)
    return {"functionCall": {**function_call, "id": call_id} if call_id else function_call}


def _arguments(tool_call: ModelCall) -> dict[str, Any] | None:
    """The arguments as an object; None if the script broke them."""
    value = tool_call.arguments
    if isinstance(value, str):
        try:
            value = orjson.loads(value or "{}")
        except orjson.JSONDecodeError:
            return None
    return value if isinstance(value, dict) else None


def _reason(turn: ModelTurn) -> str:
    if turn.stop == "length":
        return "MAX_TOKENS"
    if turn.stop == "filter" or turn.refusal is not None:
        return "SAFETY"
    if any(_arguments(tool_call) is None for tool_call in turn.calls):
        return "MALFORMED_FUNCTION_CALL"
    return "STOP"


def prompt(request: ReceivedRequest) -> list[Any]:
    """The part of the body that the model reads."""
    body = request.body.get("generateContentRequest") or request.body
    return [body.get(name) for name in ("systemInstruction", "system_instruction", "contents", "tools")]


def _render_usage(request: ReceivedRequest, turn: ModelTurn, flavour: Flavour) -> dict[str, Any]:
    usage = count_usage(prompt(request), turn)
    counts: dict[str, Any] = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "totalTokenCount": usage.total,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.input}],
    }
    if usage.reasoning:
        counts["thoughtsTokenCount"] = usage.reasoning
    if usage.cached:
        counts["cachedContentTokenCount"] = usage.cached
    return {**counts, "trafficType": "ON_DEMAND"} if flavour.is_vertex else {**counts, "serviceTier": "standard"}


def render_count(request: ReceivedRequest, flavour: Flavour) -> dict[str, Any]:
    """The body of `countTokens`."""
    total = max(1, count_tokens(prompt(request)))
    counted = {"totalTokens": total, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": total}]}
    return {**counted, "totalBillableCharacters": total * 4} if flavour.is_vertex else counted
