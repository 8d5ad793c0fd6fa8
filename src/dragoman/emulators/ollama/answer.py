"""Answers as the server writes them: one object, or one object a line.

A model that can think does so unless `think` is false. A call comes whole, in a line of its own. The last line has the
counts, and its reason is `stop` after calls too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from dragoman.emulators.logprobs import openai_logprobs, split_tokens
from dragoman.emulators.ollama.models import capabilities
from dragoman.emulators.provider import ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.usage import answer_seed, count_tokens, count_usage
from dragoman.emulators.wire import fragments, make_id

CREATED = "2026-01-01T00:00:00.123456Z"
_ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


def render_answer(request: ReceivedRequest, turn: ModelTurn) -> dict[str, Any]:
    """The whole answer."""
    message: dict[str, Any] = {"role": "assistant", "content": _content(turn)}
    if turn.reasoning:
        message["thinking"] = turn.reasoning
    calls = _calls(request, turn)
    if calls:
        message["tool_calls"] = calls
    return {**_head(request), "message": message, **_end(request, turn), **_logprobs(request, _content(turn))}


def render_lines(request: ReceivedRequest, turn: ModelTurn) -> Iterator[dict[str, Any]]:
    """The same answer, line by line."""
    if turn.reasoning:
        for piece in fragments(turn.reasoning):
            yield _line(request, {"content": "", "thinking": piece})
    for piece in _pieces(request, _content(turn)):
        yield {**_line(request, {"content": piece}), **_logprobs(request, piece)}
    for call in _calls(request, turn):
        yield _line(request, {"content": "", "tool_calls": [call]})
    yield {**_head(request), "message": {"role": "assistant", "content": ""}, **_end(request, turn)}


def _pieces(request: ReceivedRequest, text: str) -> Iterator[str]:
    """The text line by line: a token each if their probabilities are asked for, so that they are those of the whole."""
    return split_tokens(text) if request.body.get("logprobs") is True else iter(fragments(text))


def _logprobs(request: ReceivedRequest, text: str) -> dict[str, Any]:
    if request.body.get("logprobs") is not True or not text:
        return {}
    return {"logprobs": openai_logprobs(text, request.body.get("top_logprobs"))}


def _head(request: ReceivedRequest) -> dict[str, Any]:
    return {"model": request.model, "created_at": CREATED}


def _line(request: ReceivedRequest, message: dict[str, Any]) -> dict[str, Any]:
    return {**_head(request), "message": {"role": "assistant", **message}, "done": False}


def _content(turn: ModelTurn) -> str:
    return turn.visible_text or turn.refusal or ""


def thinks(request: ReceivedRequest) -> bool:
    """Whether the model can think and is not told to do without."""
    return "thinking" in capabilities(request.model) and request.body.get("think") is not False


def _calls(request: ReceivedRequest, turn: ModelTurn) -> list[dict[str, Any]]:
    return [_call(request, call, index) for index, call in enumerate(turn.calls)]


def _call(request: ReceivedRequest, call: ModelCall, index: int) -> dict[str, Any]:
    identity = call.id or make_id("call_", 8, answer_seed(request), index, alphabet=_ALPHABET)
    return {"id": identity, "function": {"index": index, "name": call.name, "arguments": _arguments(call)}}


def _arguments(call: ModelCall) -> dict[str, Any]:
    """An object: a call that cannot be parsed is no call to the server, so nothing else ever arrives."""
    value = call.arguments
    if isinstance(value, str):
        try:
            value = orjson.loads(value or "{}")
        except orjson.JSONDecodeError:
            value = {}
    return value if isinstance(value, dict) else {}


def _end(request: ReceivedRequest, turn: ModelTurn) -> dict[str, Any]:
    usage = count_usage(_prompt(request), turn)
    return {
        "done": True,
        "done_reason": "length" if turn.stop == "length" else "stop",
        "total_duration": 1_164_634_958,
        "load_duration": 148_749_625,
        "prompt_eval_count": usage.input,
        "prompt_eval_duration": 248_357_042,
        "eval_count": usage.output,
        "eval_duration": 469_802_920,
    }


def _prompt(request: ReceivedRequest) -> list[Any]:
    """The part of the body that the model reads."""
    return [request.body.get("messages"), request.body.get("tools")]


def count_prompt(request: ReceivedRequest) -> int:
    """The tokens of what the model reads."""
    return count_tokens(_prompt(request))
