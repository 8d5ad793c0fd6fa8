"""What Gemini says, whole or in chunks. Calls arrive whole; thoughts come first; the signature rides on the first
call of the step, or on the last of the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from dragoman.emulators.gemini.flavour import Manner, model_of
from dragoman.emulators.gemini.thoughts import sign
from dragoman.emulators.provider import Received, ToolCall, Turn
from dragoman.emulators.usage import digest, used, weight
from dragoman.emulators.wire import compact, fragments, token

Part = dict[str, Any]
_LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"


def whole(call: Received, turn: Turn, manner: Manner) -> dict[str, Any]:
    """The answer in one piece."""
    return _chunk(call, turn, manner, _parts(call, turn, manner), _reason(turn))


def chunks(call: Received, turn: Turn, manner: Manner) -> Iterator[dict[str, Any]]:
    """The same answer in chunks; the last one carries the finish reason."""
    pieces = [piece for part in _parts(call, turn, manner) for piece in _cut(part)]
    if not pieces:
        pieces = [{"text": ""}]
    for piece in pieces[:-1]:
        yield _chunk(call, turn, manner, [piece], None)
    yield _chunk(call, turn, manner, pieces[-1:], _reason(turn))


def _cut(part: Part) -> Iterator[Part]:
    if "text" not in part:
        yield part
        return
    rest = {key: value for key, value in part.items() if key not in ("text", "thoughtSignature")}
    for piece in fragments(part["text"]):
        yield {"text": piece, **rest}
    if "thoughtSignature" in part:
        yield {"text": "", **rest, "thoughtSignature": part["thoughtSignature"]}


def _chunk(call: Received, turn: Turn, manner: Manner, parts: list[Part], reason: str | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    if reason == "MALFORMED_FUNCTION_CALL":
        broken = next(wanted for wanted in turn.calls if _arguments(wanted) is None)
        candidate["finishMessage"] = f"Malformed function call: {broken.name}({broken.arguments})"
    made = {
        "candidates": [candidate],
        "usageMetadata": _usage(call, turn, manner),
        "modelVersion": call.model,
        "responseId": token("", 22, digest(call)),
    }
    return {**made, "createTime": "2026-01-01T00:00:00.000000Z"} if manner.is_vertex else made


def _parts(call: Received, turn: Turn, manner: Manner) -> list[Part]:
    parts: list[Part] = []
    if turn.reasoning is not None:
        parts.append({"text": turn.reasoning, "thought": True})
    said = turn.says or turn.refusal
    if said:
        parts.append({"text": said})
    if _reason(turn) != "MALFORMED_FUNCTION_CALL":
        parts.extend(_call_part(call, wanted, index) for index, wanted in enumerate(turn.calls))
    _attach_signature(parts, call, turn, manner)
    return parts


def _attach_signature(parts: list[Part], call: Received, turn: Turn, manner: Manner) -> None:
    if turn.reasoning is None and not model_of(call.model).since(3):
        return
    spoken = [part for part in parts if not part.get("thought")]
    bearer = next((part for part in spoken if "functionCall" in part), spoken[-1] if spoken else None)
    if bearer is not None:
        bearer["thoughtSignature"] = sign(manner, call.model, compact(bearer).decode())


def _call_part(call: Received, wanted: ToolCall, index: int) -> Part:
    made: dict[str, Any] = {"name": wanted.name, "args": _arguments(wanted) or {}}
    issued = wanted.id
    if issued is None and model_of(call.model).since(3):
        issued = token("", 8, digest(call), index, alphabet=_LOWER)
    return {"functionCall": {**made, "id": issued} if issued else made}


def _arguments(wanted: ToolCall) -> dict[str, Any] | None:
    """The arguments as an object; None where they are broken on purpose."""
    value = wanted.arguments
    if isinstance(value, str):
        try:
            value = orjson.loads(value or "{}")
        except orjson.JSONDecodeError:
            return None
    return value if isinstance(value, dict) else None


def _reason(turn: Turn) -> str:
    if turn.stop == "length":
        return "MAX_TOKENS"
    if turn.stop == "filter" or turn.refusal is not None:
        return "SAFETY"
    if any(_arguments(wanted) is None for wanted in turn.calls):
        return "MALFORMED_FUNCTION_CALL"
    return "STOP"


def prompt(call: Received) -> list[Any]:
    """The part of the body that the model reads."""
    body = call.body.get("generateContentRequest") or call.body
    return [body.get(name) for name in ("systemInstruction", "system_instruction", "contents", "tools")]


def _usage(call: Received, turn: Turn, manner: Manner) -> dict[str, Any]:
    usage = used(prompt(call), turn)
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
    return {**counts, "trafficType": "ON_DEMAND"} if manner.is_vertex else {**counts, "serviceTier": "standard"}


def count(call: Received, manner: Manner) -> dict[str, Any]:
    """The body of `countTokens`."""
    total = max(1, weight(prompt(call)))
    counted = {"totalTokens": total, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": total}]}
    return {**counted, "totalBillableCharacters": total * 4} if manner.is_vertex else counted
