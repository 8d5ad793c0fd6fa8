"""A reply as an Ollama answer, whole or in lines, and errors."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from dragoman.conversation import events
from dragoman.conversation.collect import arguments_of, merge_usage, tell
from dragoman.conversation.failures import EXACT_STATUSES, Failure, FailureKind
from dragoman.conversation.literals import EMPTY, join_texts, quote, unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.ollama import NAME
from dragoman.dialects.ollama.answer_parse import DURATIONS, INPUT, OUTPUT, STOPS
from dragoman.dialects.shared import call_order
from dragoman.dialects.shared.call_order import CallOrder
from dragoman.dialects.shared.media_links import LINK_END, link_head
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.raw_json import encode
from dragoman.wire.json_reader import render_list, render_object
from dragoman.wire.retry_after import render_wait
from dragoman.wire.sse import one_line

_TOO_LONG = Failure(FailureKind.ANSWER_TOO_LARGE, "A tool call of the answer is too long.")


class MessageBuilder(msgspec.Struct):
    """Takes events in any order. A subclass decides what becomes of the pieces."""

    context: AnswerContext
    _begun: float = 0.0
    started: events.Started = msgspec.field(default_factory=events.Started)
    usage: Usage | None = None
    over: bool = False
    _choice: int = -1
    _order: CallOrder = msgspec.field(default_factory=CallOrder)
    _call: events.CallStarted | None = None
    _calls: int = 0
    _fragments: list[bytes] = []
    _size: int = 0
    _media_part: int = -1
    _stop: events.Stopped | None = None

    def __post_init__(self) -> None:
        self._begun = self.context.clock() if self.context.clock is not None else 0.0

    def take(self, event: events.Event) -> None:
        choice = getattr(event, "choice", None)
        if self.over or (choice is not None and choice != self._choice and not self._is_first(event)):
            return
        for ordered in self._order.take(event):
            if not self.over:
                self._take(ordered)

    def _is_first(self, event: Any) -> bool:
        """Whether it belongs to the choice that the client gets: the first that comes, whatever its number."""
        if self._choice < 0:
            self._choice = event.choice
        return bool(event.choice == self._choice)

    def _take(self, event: events.Event) -> None:
        if self._media_part >= 0 and getattr(event, "part", -1) != self._media_part:
            self._end_media()
        _TAKE[type(event)](self, event)

    # What a subclass does.

    def begin(self) -> None: ...

    def content(self, literal: Json, logprobs: Json | None) -> None: ...

    def thinking(self, literal: Json) -> None: ...

    def call(self, json: Json) -> None: ...

    def finish(self) -> None: ...

    def fail(self, failure: Failure) -> None: ...

    # Events.

    def _started(self, event: events.Started) -> None:
        self.started = event
        self.begin()

    def _text(self, event: events.TextDelta | events.RefusalDelta) -> None:
        logprobs = event.logprobs if isinstance(event, events.TextDelta) else None
        if event.literal != EMPTY or logprobs is not None:
            self.content(event.literal, logprobs)

    _refusal = _text

    def _reasoning(self, event: events.ReasoningDelta) -> None:
        if event.literal != EMPTY and not self.context.hides_reasoning:
            self.thinking(event.literal)

    def _call_started(self, event: events.CallStarted) -> None:
        self._call, self._fragments, self._size = event, [], 0

    def _call_delta(self, event: events.CallDelta) -> None:
        self._fragments.append(event.literal)
        self._size += len(event.literal)
        if self._size > call_order.LIMIT:
            self._failed(events.Failed(_TOO_LONG))

    def _call_ended(self, event: events.CallEnded) -> None:
        call, self._call = self._call, None
        if call is None:
            return
        arguments: Json = arguments_of(unquote(join_texts("", self._fragments)), call.custom)
        if arguments[:1] != b"{":
            arguments = b'{"arguments":' + arguments + b"}"
        place, self._calls = self._calls, self._calls + 1
        function = {"index": b"%d" % place, "name": quote(call.name), "arguments": one_line(arguments)}
        members: dict[str, Json] = {"id": quote(call.id)} if call.id else {}
        self.call(render_object({**members, "function": render_object(function)}))

    def _media(self, event: events.MediaDelta) -> None:
        """This dialect has no media in answers: they become a link that holds the bytes, and the transcript."""
        if self._media_part < 0:
            self._media_part = event.part
            addressed = quote(f"[{event.kind.value}]({event.url}") if event.url else b""
            self.content(addressed or link_head(event.kind, event.media_type), None)
        if event.data != EMPTY and not event.url:
            self.content(event.data, None)
        if event.transcript is not None and event.transcript != EMPTY:
            self._fragments.append(event.transcript)

    def _end_media(self) -> None:
        self._media_part = -1
        words, self._fragments = self._fragments, []
        self.content(join_texts("", [LINK_END, *([b'"\\n\\n"'] if words else []), *words]), None)

    def _stopped(self, event: events.Stopped) -> None:
        self._stop = event

    def _used(self, event: events.Used) -> None:
        self.usage = merge_usage(self.usage, event.usage)

    def _ended(self, event: events.Ended) -> None:
        self.over = True
        self.finish()

    def _failed(self, event: events.Failed) -> None:
        self.over = True
        self.fail(event.failure)

    # What every framing needs.

    def head(self) -> dict[str, Json]:
        """The members that every object begins with."""
        moment = datetime.fromtimestamp(self.started.created or self.context.created, UTC)
        return {
            "model": quote(self.context.model or self.started.model),
            "created_at": quote(moment.strftime("%Y-%m-%dT%H:%M:%SZ")),
        }

    def tail(self) -> dict[str, Json]:
        """The members that the last object ends with."""
        stop = self._stop or events.Stopped(0, Stop.END)
        reason = quote(STOPS.render(stop.reason, stop.word))
        own = own_fields(stop.extras, NAME)
        return {"done": b"true", "done_reason": reason, **own, **render_usage(self.usage, *self._times())}

    def _times(self) -> tuple[float, float]:
        """The seconds until the model began to write, and from there to the end. Nobody saw a whole answer begin: a
        tenth of its time is taken for the reading."""
        context = self.context
        if context.clock is None:
            return 0.0, 0.0
        total, writing = context.clock() - context.began, context.clock() - self._begun
        return (total - writing, writing) if writing > total / 100 else (total / 10, total * 9 / 10)


_TAKE = events.methods_by_event(MessageBuilder)
"""State, citations and blocks of providers have no place in an answer of this dialect."""


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one object."""
    whole = _OllamaAnswerRenderer(context)
    for event in tell(reply):
        whole.take(event)
    return whole.body


class _OllamaAnswerRenderer(MessageBuilder):
    """Collects the pieces of one message."""

    _texts: list[Json] = []
    _thoughts: list[Json] = []
    _called: list[Json] = []
    _logprobs: list[Json] = []
    body: Json = b""

    def content(self, literal: Json, logprobs: Json | None) -> None:
        self._texts.append(literal)
        if logprobs is not None:
            self._logprobs.append(logprobs)

    def thinking(self, literal: Json) -> None:
        self._thoughts.append(literal)

    def call(self, json: Json) -> None:
        self._called.append(json)

    def finish(self) -> None:
        message: dict[str, Json] = {"role": b'"assistant"', "content": join_texts("", self._texts)}
        if self._thoughts:
            message["thinking"] = join_texts("", self._thoughts)
        if self._called:
            message["tool_calls"] = render_list(self._called)
        fields: dict[str, Json] = {**self.head(), "message": render_object(message), **self.tail()}
        if self._logprobs:
            fields["logprobs"] = b"[" + b",".join([tokens[1:-1] for tokens in self._logprobs]) + b"]"
        self.body = render_object(fields)


# Usage

_SECOND = 1_000_000_000
_LEAST = 1_000_000
"""No part of an answer takes less time: clients divide by it."""


def render_usage(usage: Usage | None, reading: float = 0.0, writing: float = 0.0) -> dict[str, Json]:
    """The members of the last object of an answer. `reading` and `writing` are the seconds until the model said its
    first word, and from there to the end; the provider's own times win."""
    times = render_times(reading, writing)
    if usage is None:
        return times
    times |= {name: value for name, value in own_fields(usage.extras, NAME).items() if name in times}
    return {**times, INPUT: b"%d" % usage.input, OUTPUT: b"%d" % usage.output}


def render_times(reading: float = 0.0, writing: float = 0.0) -> dict[str, Json]:
    """The times of an answer. No model is loaded for it, which takes the least time that there is."""
    parts = (_LEAST, max(int(reading * _SECOND), _LEAST), max(int(writing * _SECOND), _LEAST))
    return {name: b"%d" % time for name, time in zip(DURATIONS, (sum(parts), *parts), strict=True)}


# Errors: a status and one sentence

_TOO_LONG_PROMPT = "prompt too long; exceeded max context length"


def render_error(failure: Failure, context: AnswerContext) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    headers = {"content-type": "application/json; charset=utf-8"}
    headers |= render_wait(failure)
    return failure.status_for(*EXACT_STATUSES), headers, error_body(failure)


def error_body(failure: Failure) -> bytes:
    """The body alone, which is also the last line of a stream that failed."""
    return encode({"error": _word_error(failure)})


def _word_error(failure: Failure) -> str:
    """For a conversation that is too long: Ollama's sentence with the known numbers, then the provider's own."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or failure.message.startswith(_TOO_LONG_PROMPT):
        return failure.message
    surplus = ""
    if failure.tokens is not None and failure.limit is not None and failure.tokens > failure.limit:
        surplus = f" by {failure.tokens - failure.limit} tokens"
    return f"{_TOO_LONG_PROMPT}{surplus} ({failure.message})"
