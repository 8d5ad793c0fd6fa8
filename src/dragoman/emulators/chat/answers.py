"""Answers in Chat Completions format: whole answers, chunks, usage, ids.

All Chat services write the same object with small differences: where the usage is, how the reasoning field is called,
whether a call arrives in one piece, which comments come first. An `AnswerStyle` holds these differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from dragoman.emulators.logprobs import openai_logprobs, split_tokens
from dragoman.emulators.provider import ModelCall, ModelTurn, ReceivedRequest
from dragoman.emulators.usage import (
    NO_OVERHEAD,
    PromptOverhead,
    TokenUsage,
    UnseenTokens,
    answer_seed,
    count_tokens,
    count_usage,
)
from dragoman.emulators.wire import fragments, make_id, render_sse_event

CREATED = 1_767_225_600  # 2026-01-01: a fixed date, so that the same request gets the same bytes
_PROOFS = {"signature", "data"}
_STOPS = {"end": "stop", "length": "length", "filter": "content_filter"}


class UsagePlace(StrEnum):
    """Where a stream reports its usage."""

    ON_REQUEST = "on-request"  # a chunk of its own, only with `stream_options.include_usage`
    FINISH = "finish"  # on the chunk with the finish reason, always
    EVERY = "every"  # on every chunk


def plain_usage(usage: TokenUsage) -> dict[str, Any]:
    """The three counts that every service reports."""
    return {"prompt_tokens": usage.input, "completion_tokens": usage.output, "total_tokens": usage.total}


def detailed_usage(usage: TokenUsage) -> dict[str, Any]:
    """The three counts with the cached and the reasoning tokens among them."""
    written = {"cache_write_tokens": usage.written} if usage.written else {}
    return {
        **plain_usage(usage),
        "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0, **written},
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def cached_usage(usage: TokenUsage) -> dict[str, Any]:
    """The three counts with the cached tokens among them."""
    return {**plain_usage(usage), "prompt_tokens_details": {"cached_tokens": usage.cached}}


def openai_call_id(seed: str, index: int) -> str:
    return make_id("call_", 24, seed, index)


@dataclass(frozen=True, slots=True)
class AnswerStyle:
    """How the answers of one Chat service differ from those of others."""

    answer_id: Callable[[str], str] = lambda seed: make_id("chatcmpl-", 29, seed)
    call_id: Callable[[str, int], str] = openai_call_id
    reasoning_field: str | None = None  # the field that holds reasoning text; None: it is not sent
    thought_part: Callable[[ReceivedRequest, str], dict[str, Any]] | None = None  # reasoning as a part of the content
    repeated: Callable[[ReceivedRequest], str] = lambda request: ""  # the text of the request that comes back first
    reasoning_details: Callable[[ReceivedRequest, str], list[Any]] | None = None  # signed reasoning (OpenRouter)
    thinks: Callable[[ReceivedRequest], bool] = lambda request: True  # without it there is no reasoning in the answer
    shows_thoughts: Callable[[ReceivedRequest], bool] = lambda request: True  # without it there are only the details
    usage_place: UsagePlace = UsagePlace.ON_REQUEST
    render_usage: Callable[[TokenUsage], dict[str, Any]] = plain_usage
    whole_calls: bool = False  # a streamed call arrives in one chunk
    numbered_calls: bool = False  # calls also carry `index` in whole answers
    empty_content: Any = None  # `content` of a message that only calls tools
    done: str | None = "[DONE]"
    opening: tuple[bytes, ...] = ()  # comments before the first chunk
    top_fields: Mapping[str, Any] = field(default_factory=dict)  # further fields of answers and chunks
    message_fields: Mapping[str, Any] = field(default_factory=dict)  # further fields of a whole message
    choice_fields: Callable[[str], dict[str, Any]] = lambda reason: {}  # further fields beside the finish reason
    finish_fields: Callable[[str, TokenUsage], dict[str, Any]] = lambda seed, usage: {}  # of the last chunk
    logprobs: bool | None = True  # choices carry `logprobs`, which may be null; None: only if asked for; False: never
    call_fields: Callable[[ReceivedRequest, ModelCall, int], dict[str, Any]] = lambda request, call, index: {}
    closing_calls: bool = False  # the chunk with the finish reason carries all calls whole (Mistral)
    one_choice: bool = False  # `n` is ignored
    overhead: PromptOverhead = NO_OVERHEAD  # what the service puts into a prompt
    repeats_message: bool = False  # every chunk carries the message so far (Perplexity)
    run_fields: Callable[[ModelTurn], dict[str, Any]] = lambda turn: {}  # of a message, about what the service ran
    page_fields: Callable[[ModelTurn], dict[str, Any]] = lambda turn: {}  # the same, beside the choices


def finish_reason(turn: ModelTurn) -> str:
    """The finish reason of a turn."""
    if turn.stop is not None:
        return _STOPS[turn.stop]
    return "tool_calls" if turn.calls else "stop"


def render_answer(request: ReceivedRequest, turn: ModelTurn, style: AnswerStyle) -> dict[str, Any]:
    """One `chat.completion`."""
    seed = answer_seed(request)
    reason = finish_reason(turn)
    choices = [
        {
            "index": index,
            "message": _message(request, turn, style),
            **_logprobs(request, style, turn.visible_text),
            "finish_reason": reason,
            **style.choice_fields(reason),
        }
        for index in range(_choice_count(request, style))
    ]
    return {
        "id": style.answer_id(seed),
        "object": "chat.completion",
        "created": CREATED,
        "model": request.model,
        "choices": choices,
        "usage": style.render_usage(_usage(request, turn, style)),
        **style.top_fields,
        **style.page_fields(turn),
    }


def render_stream(request: ReceivedRequest, turn: ModelTurn, style: AnswerStyle) -> Iterator[bytes]:
    """The same answer as chunks."""
    seed = answer_seed(request)
    usage = _usage(request, turn, style)
    head = {"id": style.answer_id(seed), "object": "chat.completion.chunk", "created": CREATED, "model": request.model}
    head |= {**style.top_fields, **style.page_fields(turn)}
    own_chunk = style.usage_place is UsagePlace.ON_REQUEST and _usage_requested(request)
    if own_chunk:
        head["usage"] = None
    if style.usage_place is UsagePlace.EVERY:
        head["usage"] = style.render_usage(usage)
    yield from style.opening
    for index in range(_choice_count(request, style)):
        for choice, extra in _choices(request, turn, style, seed, usage):
            yield render_sse_event({**head, "choices": [{"index": index, **choice}], **extra})
    if own_chunk:
        yield render_sse_event({**head, "choices": [], "usage": style.render_usage(usage)})
    if style.done is not None:
        yield render_sse_event(style.done)


def _choices(
    request: ReceivedRequest, turn: ModelTurn, style: AnswerStyle, seed: str, usage: TokenUsage
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """The choice of each chunk, and the fields beside it."""
    text_so_far = ""
    for delta in _deltas(request, turn, style):
        content = delta.get("content")
        text = content if isinstance(content, str) else ""
        text_so_far += text
        probable = _logprobs(request, style, text)
        yield _repeating({"delta": delta, **probable, "finish_reason": None}, text_so_far, style), {}
    reason = finish_reason(turn)
    last = {
        "delta": _closing(request, turn, style),
        **_logprobs(request, style, ""),
        "finish_reason": reason,
        **style.choice_fields(reason),
    }
    extra = style.finish_fields(seed, usage)
    if style.usage_place is UsagePlace.FINISH:
        extra["usage"] = style.render_usage(usage)
    yield _repeating(last, text_so_far, style), extra


def _logprobs(request: ReceivedRequest, style: AnswerStyle, text: str) -> dict[str, Any]:
    null = {"logprobs": None} if style.logprobs else {}
    if style.logprobs is False or request.body.get("logprobs") is not True or not text:
        return null
    content = openai_logprobs(text, request.body.get("top_logprobs"))
    return {"logprobs": {"content": content, **({"refusal": None} if style.logprobs else {})}}


def _closing(request: ReceivedRequest, turn: ModelTurn, style: AnswerStyle) -> dict[str, Any]:
    """The delta beside the finish reason. Most services leave it empty."""
    if not style.closing_calls:
        return {}
    calls = [{"index": index, **_call(request, tool_call, index, style)} for index, tool_call in enumerate(turn.calls)]
    return {"tool_calls": calls} if calls else {"content": ""}


def _repeating(choice: dict[str, Any], text_so_far: str, style: AnswerStyle) -> dict[str, Any]:
    if style.repeats_message:
        choice["message"] = {"role": "assistant", "content": text_so_far}
    return choice


def _deltas(request: ReceivedRequest, turn: ModelTurn, style: AnswerStyle) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": "", **({"refusal": None} if "refusal" in style.message_fields else {})}
    if turn.reasoning:
        yield from _reasoning_deltas(request, turn.reasoning, style)
    cut = split_tokens if request.body.get("logprobs") is True else fragments  # a token is never cut
    if repeated := style.repeated(request):
        yield {"content": repeated}
    yield from ({"content": piece} for piece in cut(turn.visible_text))
    if found := style.run_fields(turn):
        yield found
    if turn.refusal:
        yield from ({"refusal": piece} for piece in fragments(turn.refusal))
    if not style.closing_calls:
        yield from ({"tool_calls": [piece]} for piece in _call_pieces(request, turn, style))


def _reasoning_deltas(request: ReceivedRequest, text: str, style: AnswerStyle) -> Iterator[dict[str, Any]]:
    """Reasoning in pieces. With details each piece comes twice, as a text and as an entry; the proof comes last."""
    if style.thought_part is not None:
        yield from ({"content": [style.thought_part(request, piece)]} for piece in fragments(text))
        return
    details = style.reasoning_details(request, text) if style.reasoning_details else []
    visible: dict[str, Any] = next((entry for entry in details if "text" in entry or "summary" in entry), {})
    word = "summary" if "summary" in visible else "text"
    plain = {key: value for key, value in visible.items() if key not in (word, "signature")}
    for piece in fragments(text) if style.shows_thoughts(request) else ():
        delta = {style.reasoning_field: piece} if style.reasoning_field else {}
        yield {**delta, "reasoning_details": [{**plain, word: piece}]} if visible else delta
    proofs = [{key: entry[key] for key in entry if key != word} for entry in details if entry.keys() & _PROOFS]
    yield from ({"reasoning_details": [entry]} for entry in proofs)


def _call_pieces(request: ReceivedRequest, turn: ModelTurn, style: AnswerStyle) -> Iterable[dict[str, Any]]:
    if style.whole_calls:
        return [
            {"index": index, **_call(request, tool_call, index, style)} for index, tool_call in enumerate(turn.calls)
        ]
    each = [list(_one_call(request, tool_call, index, style)) for index, tool_call in enumerate(turn.calls)]
    if turn.interleave:
        return [piece for row in zip_longest(*each) for piece in row if piece is not None]
    return [piece for pieces in each for piece in pieces]


def _one_call(
    request: ReceivedRequest, tool_call: ModelCall, index: int, style: AnswerStyle
) -> Iterator[dict[str, Any]]:
    opening = _call(request, tool_call, index, style)
    opening["function"] = {"name": tool_call.name, "arguments": ""}
    yield {"index": index, **opening}
    for piece in fragments(tool_call.arguments_text):
        yield {"index": index, "function": {"arguments": piece}}


def _call(request: ReceivedRequest, tool_call: ModelCall, index: int, style: AnswerStyle) -> dict[str, Any]:
    return {
        "id": tool_call.id or style.call_id(answer_seed(request), index),
        "type": "function",
        "function": {"name": tool_call.name, "arguments": tool_call.arguments_text},
        **style.call_fields(request, tool_call, index),
    }


def _message(request: ReceivedRequest, turn: ModelTurn, style: AnswerStyle) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": _content(request, turn, style),
        **style.message_fields,
        **style.run_fields(turn),
    }
    if turn.refusal:
        message |= {"refusal": turn.refusal, "content": turn.visible_text or None}
    if turn.reasoning and style.reasoning_field and style.shows_thoughts(request):
        message[style.reasoning_field] = turn.reasoning
    if turn.reasoning and style.reasoning_details:
        message["reasoning_details"] = style.reasoning_details(request, turn.reasoning)
    if turn.calls:
        calls = [_call(request, tool_call, index, style) for index, tool_call in enumerate(turn.calls)]
        message["tool_calls"] = [{**c, "index": i} for i, c in enumerate(calls)] if style.numbered_calls else calls
    return message


def _content(request: ReceivedRequest, turn: ModelTurn, style: AnswerStyle) -> Any:
    text = style.repeated(request) + turn.visible_text
    if turn.reasoning and style.thought_part is not None:
        return [style.thought_part(request, turn.reasoning), *([{"type": "text", "text": text}] if text else [])]
    return text or (style.empty_content if turn.calls else "")


def _prompt(request: ReceivedRequest, style: AnswerStyle) -> list[Any]:
    """The part of the body that the model reads."""
    body = request.body
    return [find_unseen(request, style), body.get("messages"), body.get("tools"), body.get("response_format")]


def find_unseen(request: ReceivedRequest, style: AnswerStyle) -> UnseenTokens:
    """What the service puts into the prompt. It says nothing of tools that may not be called."""
    body = request.body
    return style.overhead.unseen(body.get("tools") if body.get("tool_choice") != "none" else None)


def count_prompt(request: ReceivedRequest, style: AnswerStyle) -> int:
    """The tokens of what the model reads."""
    return count_tokens(_prompt(request, style))


def _usage(request: ReceivedRequest, turn: ModelTurn, style: AnswerStyle) -> TokenUsage:
    return count_usage(_prompt(request, style), turn, _choice_count(request, style))


def _usage_requested(request: ReceivedRequest) -> bool:
    options = request.body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _choice_count(request: ReceivedRequest, style: AnswerStyle) -> int:
    n = request.body.get("n") if not style.one_choice else 1
    return n if isinstance(n, int) and 1 <= n <= 128 else 1
