"""How a Chat Completions service sounds: answers, chunks, usage, ids.

All of them write the same object with small differences: where the usage rides, what reasoning is called, whether a
call arrives in one piece, which comments come first. A `Voice` is that set of differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from dragoman.emulators.provider import Received, ToolCall, Turn
from dragoman.emulators.usage import Usage, digest, used
from dragoman.emulators.wire import compact, fragments, sse, token

CREATED = 1_767_225_600  # 2026-01-01: answers carry a date, and no clock
_STOPS = {"end": "stop", "length": "length", "filter": "content_filter"}


class UsagePlace(StrEnum):
    """Where a stream says what it cost."""

    ASKED = "asked"  # a chunk of its own, only with `stream_options.include_usage`
    FINISH = "finish"  # on the chunk with the finish reason, always
    EVERY = "every"  # on every chunk


def plain_usage(usage: Usage) -> dict[str, Any]:
    """The three numbers everyone has."""
    return {"prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": usage.total}


def detailed_usage(usage: Usage) -> dict[str, Any]:
    """The three numbers with the parts that are cached and thought."""
    return {
        **plain_usage(usage),
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def openai_call_id(seed: str, index: int) -> str:
    return token("call_", 24, seed, index)


@dataclass(frozen=True, slots=True)
class Voice:
    """What differs between Chat services when they answer."""

    answer_id: Callable[[str], str] = lambda seed: token("chatcmpl-", 29, seed)
    call_id: Callable[[str, int], str] = openai_call_id
    reasoning: str | None = None  # the member that holds reasoning text; None keeps it to itself
    details: Callable[[Received, str], list[Any]] | None = None  # signed reasoning beside the text (OpenRouter)
    usage: UsagePlace = UsagePlace.ASKED
    usage_shape: Callable[[Usage], dict[str, Any]] = plain_usage
    whole_calls: bool = False  # a streamed call arrives in one chunk
    numbered_calls: bool = False  # calls carry `index` in whole answers too
    empty_content: Any = None  # `content` of a message that only calls tools
    done: str | None = "[DONE]"
    opening: tuple[bytes, ...] = ()  # comments ahead of the first chunk
    top: Mapping[str, Any] = field(default_factory=dict)  # further members of answers and chunks
    message: Mapping[str, Any] = field(default_factory=dict)  # further members of a whole message
    choice: Callable[[str], dict[str, Any]] = lambda reason: {}  # further members beside a finish reason
    finish: Callable[[str, Usage], dict[str, Any]] = lambda seed, usage: {}  # further members of the finish chunk
    logprobs: bool = True  # choices carry `logprobs: null`
    closing_calls: bool = False  # all calls ride in one piece on the chunk with the finish reason (Mistral)
    repeats_message: bool = False  # every chunk carries the message so far (Perplexity)


def finish_reason(turn: Turn) -> str:
    """The reason a Chat service gives for stopping."""
    if turn.stop is not None:
        return _STOPS[turn.stop]
    return "tool_calls" if turn.calls else "stop"


def arguments_text(call: ToolCall) -> str:
    """Arguments as Chat writes them: JSON inside a string."""
    return call.arguments if isinstance(call.arguments, str) else compact(call.arguments).decode()


def whole(call: Received, turn: Turn, voice: Voice) -> dict[str, Any]:
    """One `chat.completion`."""
    seed = digest(call)
    reason = finish_reason(turn)
    choices = [
        {
            "index": index,
            "message": _message(call, turn, voice, seed),
            **_logprobs(voice),
            "finish_reason": reason,
            **voice.choice(reason),
        }
        for index in range(_wanted(call))
    ]
    return {
        "id": voice.answer_id(seed),
        "object": "chat.completion",
        "created": CREATED,
        "model": call.model,
        "choices": choices,
        "usage": voice.usage_shape(_usage(call, turn)),
        **voice.top,
    }


def stream(call: Received, turn: Turn, voice: Voice) -> Iterator[bytes]:
    """The same answer as chunks."""
    seed = digest(call)
    usage = _usage(call, turn)
    head = {"id": voice.answer_id(seed), "object": "chat.completion.chunk", "created": CREATED, "model": call.model}
    head |= voice.top
    asked = voice.usage is UsagePlace.ASKED and _asks_usage(call)
    if asked:
        head["usage"] = None
    if voice.usage is UsagePlace.EVERY:
        head["usage"] = voice.usage_shape(usage)
    yield from voice.opening
    for index in range(_wanted(call)):
        for choice, extra in _choices(call, turn, voice, seed, usage):
            yield sse({**head, "choices": [{"index": index, **choice}], **extra})
    if asked:
        yield sse({**head, "choices": [], "usage": voice.usage_shape(usage)})
    if voice.done is not None:
        yield sse(voice.done)


def _choices(
    call: Received, turn: Turn, voice: Voice, seed: str, usage: Usage
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each chunk's choice, and what the chunk carries beside it."""
    said = ""
    for delta in _deltas(call, turn, voice, seed):
        said += delta.get("content") or ""
        yield _repeating({"delta": delta, **_logprobs(voice), "finish_reason": None}, said, voice), {}
    reason = finish_reason(turn)
    last = {"delta": _closing(turn, voice, seed), **_logprobs(voice), "finish_reason": reason, **voice.choice(reason)}
    extra = voice.finish(seed, usage)
    if voice.usage is UsagePlace.FINISH:
        extra["usage"] = voice.usage_shape(usage)
    yield _repeating(last, said, voice), extra


def _logprobs(voice: Voice) -> dict[str, Any]:
    return {"logprobs": None} if voice.logprobs else {}


def _closing(turn: Turn, voice: Voice, seed: str) -> dict[str, Any]:
    """The delta beside the finish reason; empty for most."""
    if not voice.closing_calls:
        return {}
    calls = [{"index": index, **_call(made, index, voice, seed)} for index, made in enumerate(turn.calls)]
    return {"tool_calls": calls} if calls else {"content": ""}


def _repeating(choice: dict[str, Any], said: str, voice: Voice) -> dict[str, Any]:
    if voice.repeats_message:
        choice["message"] = {"role": "assistant", "content": said}
    return choice


def _deltas(call: Received, turn: Turn, voice: Voice, seed: str) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "", **({"refusal": None} if "refusal" in voice.message else {})}
    if turn.reasoning and voice.reasoning:
        yield from ({voice.reasoning: piece} for piece in fragments(turn.reasoning))
    if turn.reasoning and voice.details:
        yield {"reasoning_details": voice.details(call, turn.reasoning)}
    yield from ({"content": piece} for piece in fragments(turn.says))
    if turn.refusal:
        yield from ({"refusal": piece} for piece in fragments(turn.refusal))
    if not voice.closing_calls:
        yield from ({"tool_calls": [piece]} for piece in _call_pieces(turn, voice, seed))


def _call_pieces(turn: Turn, voice: Voice, seed: str) -> Iterable[dict[str, Any]]:
    if voice.whole_calls:
        return [{"index": index, **_call(made, index, voice, seed)} for index, made in enumerate(turn.calls)]
    each = [list(_one_call(made, index, voice, seed)) for index, made in enumerate(turn.calls)]
    if turn.interleave:
        return [piece for row in zip_longest(*each) for piece in row if piece is not None]
    return [piece for pieces in each for piece in pieces]


def _one_call(made: ToolCall, index: int, voice: Voice, seed: str) -> Iterator[dict[str, Any]]:
    opening = _call(made, index, voice, seed)
    opening["function"] = {"name": made.name, "arguments": ""}
    yield {"index": index, **opening}
    for piece in fragments(arguments_text(made)):
        yield {"index": index, "function": {"arguments": piece}}


def _call(made: ToolCall, index: int, voice: Voice, seed: str) -> dict[str, Any]:
    return {
        "id": made.id or voice.call_id(seed, index),
        "type": "function",
        "function": {"name": made.name, "arguments": arguments_text(made)},
    }


def _message(call: Received, turn: Turn, voice: Voice, seed: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": turn.says or _no_text(turn, voice), **voice.message}
    if turn.refusal:
        message |= {"refusal": turn.refusal, "content": turn.says or None}
    if turn.reasoning and voice.reasoning:
        message[voice.reasoning] = turn.reasoning
    if turn.reasoning and voice.details:
        message["reasoning_details"] = voice.details(call, turn.reasoning)
    if turn.calls:
        calls = [_call(made, index, voice, seed) for index, made in enumerate(turn.calls)]
        message["tool_calls"] = [{**c, "index": i} for i, c in enumerate(calls)] if voice.numbered_calls else calls
    return message


def _no_text(turn: Turn, voice: Voice) -> Any:
    return voice.empty_content if turn.calls else ""


def _usage(call: Received, turn: Turn) -> Usage:
    body = call.body
    return used([body.get("messages"), body.get("tools"), body.get("response_format")], turn)


def _asks_usage(call: Received) -> bool:
    options = call.body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _wanted(call: Received) -> int:
    n = call.body.get("n")
    return n if isinstance(n, int) and 1 <= n <= 128 else 1
