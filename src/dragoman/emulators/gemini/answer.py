"""Answers in Gemini format: whole or in chunks.

Calls arrive whole. Thoughts come first, and only if the request asks for them; the signature comes anyway. It is on
the first call, or on the last text if there is no call. Of a text that comes in pieces, Gemini 2.5 signs the first
piece; Gemini 3 sends the signature last, on a part of its own without text. All of this is as recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from dragoman.emulators.gemini.flavour import Flavour, model_of
from dragoman.emulators.gemini.grounding import metadata, run_parts, tool_tokens
from dragoman.emulators.gemini.thoughts import sign
from dragoman.emulators.logprobs import gemini_logprobs
from dragoman.emulators.provider import ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.usage import answer_seed, count_tokens, count_usage
from dragoman.emulators.wire import fragments, make_id, render_json

Part = dict[str, Any]
_MOST_CANDIDATES = 8
_LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"


def render_answer(request: ReceivedRequest, turn: ModelTurn, flavour: Flavour) -> dict[str, Any]:
    """The whole answer."""
    return _chunk(request, turn, flavour, _parts(request, turn, flavour), _reason(turn))


def render_chunks(request: ReceivedRequest, turn: ModelTurn, flavour: Flavour) -> Iterator[dict[str, Any]]:
    """The same answer in chunks. The last one carries the finish reason."""
    last = model_of(request.model).since(3)
    pieces = [piece for part in _parts(request, turn, flavour) for piece in _cut(part, last)]
    if not pieces:
        pieces = [{"text": ""}]
    for piece in pieces[:-1]:
        yield _chunk(request, turn, flavour, [piece], None)
    yield _chunk(request, turn, flavour, pieces[-1:], _reason(turn))


def _cut(part: Part, signs_last: bool) -> Iterator[Part]:
    if "text" not in part:
        yield part
        return
    rest = {key: value for key, value in part.items() if key not in ("text", "thoughtSignature")}
    pieces: list[Part] = [{"text": piece, **rest} for piece in fragments(part["text"])]
    if "thoughtSignature" in part:
        if signs_last:
            pieces.append({"text": ""})
        pieces[-1 if signs_last else 0]["thoughtSignature"] = part["thoughtSignature"]
    yield from pieces


def _chunk(
    request: ReceivedRequest, turn: ModelTurn, flavour: Flavour, parts: list[Part], reason: str | None
) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    generation = _generation_config(request)
    if reason:
        candidate["finishReason"] = reason
        candidate |= metadata(turn)
        if generation.get("responseLogprobs") is True:
            candidate["logprobsResult"] = gemini_logprobs(turn.visible_text, generation.get("logprobs"))
    if reason == "MALFORMED_FUNCTION_CALL":
        broken = next(tool_call for tool_call in turn.calls if _arguments(tool_call) is None)
        candidate["finishMessage"] = f"Malformed function call: {broken.name}({broken.arguments})"
    chunk = {
        "candidates": [{**candidate, "index": index} for index in range(_candidate_count(generation))],
        "usageMetadata": _render_usage(request, turn, flavour),
        "modelVersion": request.model,
        "responseId": make_id("", 22, answer_seed(request)),
    }
    return {**chunk, "createTime": "2026-01-01T00:00:00.000000Z"} if flavour.is_vertex else chunk


def _parts(request: ReceivedRequest, turn: ModelTurn, flavour: Flavour) -> list[Part]:
    parts: list[Part] = []
    if turn.reasoning is not None and _thinking_config(request).get("includeThoughts") is True:
        parts.append({"text": turn.reasoning, "thought": True})
    parts += run_parts(request, turn, flavour)
    text = turn.visible_text or turn.refusal
    if text:
        parts.append({"text": text})
    if _reason(turn) != "MALFORMED_FUNCTION_CALL":
        parts.extend(_call_part(request, tool_call, index) for index, tool_call in enumerate(turn.calls))
    _attach_signature(parts, request, turn, flavour)
    return parts


def _attach_signature(parts: list[Part], request: ReceivedRequest, turn: ModelTurn, flavour: Flavour) -> None:
    is_new = model_of(request.model).since(3)
    if not is_new and turn.reasoning is None:
        return
    visible = [part for part in parts if part.keys() & {"text", "functionCall"} and not part.get("thought")]
    signed_part = next((part for part in visible if "functionCall" in part), visible[-1] if visible else None)
    if signed_part is not None and (is_new or "functionCall" in signed_part or _declares_functions(request)):
        signed_part["thoughtSignature"] = sign(flavour, request.model, render_json(signed_part).decode())


def _declares_functions(request: ReceivedRequest) -> bool:
    """Gemini 2.5 signs a text only beside declared functions: 37 of 39 recorded, and 0 of 149 without any."""
    tools = request.body.get("tools")
    return isinstance(tools, list) and any(
        isinstance(tool, dict) and ("functionDeclarations" in tool or "function_declarations" in tool) for tool in tools
    )


def _thinking_config(request: ReceivedRequest) -> dict[str, Any]:
    """`thinkingConfig` in camel case, however it was written."""
    generation = _generation_config(request)
    config = generation.get("thinkingConfig") or generation.get("thinking_config") or {}
    named = {"include_thoughts": "includeThoughts", "thinking_budget": "thinkingBudget"}
    return {named.get(key, key): value for key, value in config.items()}


def _generation_config(request: ReceivedRequest) -> dict[str, Any]:
    found = request.body.get("generationConfig") or request.body.get("generation_config")
    return found if isinstance(found, dict) else {}


def _candidate_count(generation: dict[str, Any]) -> int:
    count = generation.get("candidateCount")
    return count if isinstance(count, int) and 1 <= count <= _MOST_CANDIDATES else 1


def thinks(request: ReceivedRequest) -> bool:
    """Whether the model thinks: unless a budget of 0 says no, and Flash-Lite of 2.5 only when it is told to."""
    model, config = model_of(request.model), _thinking_config(request)
    if not model.thinks or config.get("thinkingBudget") == 0:
        return False
    return "2.5-flash-lite" not in model.name or "thinkingBudget" in config


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
    usage = count_usage(prompt(request), turn, _candidate_count(_generation_config(request)))
    counts: dict[str, Any] = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "totalTokenCount": usage.total,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.input}],
    }
    if read := tool_tokens(turn):
        counts["toolUsePromptTokenCount"] = read
        counts["toolUsePromptTokensDetails"] = [{"modality": "TEXT", "tokenCount": read}]
        counts["totalTokenCount"] += read
    if usage.reasoning:
        counts["thoughtsTokenCount"] = usage.reasoning
    if usage.cached:
        counts["cachedContentTokenCount"] = usage.cached
        counts["cacheTokensDetails"] = [{"modality": "TEXT", "tokenCount": usage.cached}]
    return {**counts, "trafficType": "ON_DEMAND"} if flavour.is_vertex else {**counts, "serviceTier": "standard"}


def count_prompt(request: ReceivedRequest) -> int:
    """The tokens of what the model reads."""
    return max(1, count_tokens(prompt(request)))


def render_count(request: ReceivedRequest, flavour: Flavour) -> dict[str, Any]:
    """The body of `countTokens`."""
    total = count_prompt(request)
    counted = {"totalTokens": total, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": total}]}
    return {**counted, "totalBillableCharacters": total * 4} if flavour.is_vertex else counted
