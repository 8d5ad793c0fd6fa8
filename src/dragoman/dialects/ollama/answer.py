"""An Ollama answer, both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.collect import UNFINISHED, arguments_of, merged, tell
from dragoman.conversation.events import (
    CallDelta,
    CallEnded,
    CallStarted,
    Ended,
    Event,
    Failed,
    MediaDelta,
    ReasoningDelta,
    RefusalDelta,
    Started,
    Stopped,
    TextDelta,
    Used,
)
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import EMPTY, joined, quote, unquote
from dragoman.conversation.parts import Json, Origin
from dragoman.conversation.replies import Reply, Stop, Usage
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.ollama import NAME, THINKING
from dragoman.dialects.ollama.errors import parse_error
from dragoman.dialects.ollama.usage import parse_usage, render_usage
from dragoman.dialects.shared import held_events
from dragoman.dialects.shared.call_order import CallOrder
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.parsing import FRAME_TOO_LONG, answer_call_id, extras_of
from dragoman.dialects.shared.raw_json import ABSENT, UNREADABLE, decode_broken, decode_items, decode_object, encode
from dragoman.dialects.shared.split_surrogates import SurrogateMender
from dragoman.wire.json_reader import render_list, render_object
from dragoman.wire.ndjson import NdjsonDecoder
from dragoman.wire.sse import one_line

STOPS: Mapping[str, Stop] = {
    "stop": Stop.END,
    "length": Stop.LENGTH,
    "load": Stop.END,
    "unload": Stop.END,
    "content_filter": Stop.FILTER,
    "refusal": Stop.REFUSAL,
    "error": Stop.ERROR,
}
WORDS: Mapping[Stop, str] = {
    Stop.END: "stop",
    Stop.STOP_SEQUENCE: "stop",
    Stop.CALLS: "stop",
    Stop.PAUSE: "stop",
    Stop.LENGTH: "length",
    Stop.CONTEXT: "length",
    # Ollama's own models never end so. Its clients take any word but show `stop` as a success.
    Stop.FILTER: "content_filter",
    Stop.REFUSAL: "refusal",
    Stop.BROKEN_CALL: "error",
    Stop.ERROR: "error",
}


def parse_stop(word: str, called: bool) -> Stop:
    """Our reason for a word. An answer with a tool call stops for the call."""
    reason = STOPS.get(word, Stop.END)
    return Stop.CALLS if called and reason is Stop.END else reason


def render_stop(reason: Stop, word: str) -> str:
    """The word for our reason: the provider's own word where this dialect has it and it means the same."""
    return word if STOPS.get(word) is reason else WORDS[reason]


_TEXT, _THOUGHT, _NEITHER = 1, 2, 0
_KEPT = ("remote_model", "remote_host")
"""Members of the last object that are kept for clients of this dialect."""


class _AnswerFunction(msgspec.Struct, gc=False):
    name: str = ""
    arguments: Raw = ABSENT


class _OllamaAnswerCall(msgspec.Struct, gc=False):
    function: _AnswerFunction | None = None
    id: str | None = None


class _AnswerMessage(msgspec.Struct, gc=False):
    content: Raw = ABSENT
    thinking: Raw = ABSENT
    tool_calls: list[_OllamaAnswerCall] | None = None


class OllamaChunk(msgspec.Struct, gc=False):
    """One line of a stream, or a whole answer. An answer of `/api/generate` has `response` in place of a message."""

    model: str | None = None
    created_at: str | None = None
    message: _AnswerMessage | None = None
    response: Raw = ABSENT
    thinking: Raw = ABSENT
    done: bool | None = None
    done_reason: str | None = None
    logprobs: Raw = ABSENT
    error: Raw = ABSENT


decode_chunk = msgspec.json.Decoder(OllamaChunk).decode


class OllamaAnswerParser:
    """An answer on its way in. `seed` makes the ids of calls that have none. `over`: it has ended or failed. `skipped`
    counts the lines that it could not decode."""

    __slots__ = ("_calls", "_ids", "_kind", "_part", "_parts", "_surrogates", "begun", "over", "seed", "skipped")

    def __init__(self, seed: str = "") -> None:
        self.seed = seed
        self.begun = False
        self.over = False
        self.skipped = 0
        self._surrogates = SurrogateMender()
        self._part = -1
        self._parts = 0
        self._kind = _NEITHER
        self._calls = 0
        self._ids: set[str] = set()

    def take(self, line: bytes) -> list[Event]:
        """The events of one line of a stream."""
        out: list[Event] = []
        if self.over:
            return out
        chunk, text = decode_broken(decode_chunk, line, self._surrogates.mark)
        if chunk is None:
            self.skipped += 1
        elif chunk.error is not ABSENT:
            self.fail(parse_error(200, {}, text), out)
        else:
            self.chunk(chunk, text, out)
        return self._completed(out) if self._surrogates.found else out

    def _completed(self, out: list[Event]) -> list[Event]:
        """Half a pair at the very end of a text comes before the events that end the answer."""
        self._surrogates.mend(out, 0)
        if not self.over:
            return out
        halves: list[Event] = []
        self._surrogates.flush(halves)
        at = next((place for place, event in enumerate(out) if isinstance(event, Stopped | Failed)), len(out))
        return [*out[:at], *halves, *out[at:]]

    def chunk(self, chunk: OllamaChunk, data: bytes, out: list[Event]) -> None:
        """Take one object. `data` is its text."""
        if not self.begun:
            self.begun = True
            out.append(Started("", chunk.model or "", seconds(chunk.created_at)))
        message = chunk.message
        if message is None:
            message = _AnswerMessage(chunk.response, chunk.thinking)
        self._words(message, logprobs_of(bytes(chunk.logprobs)), out)
        for call in message.tool_calls or ():
            self._call(call, out)
        if chunk.done:
            self._end(chunk, data, out)

    def finish(self, out: list[Event]) -> None:
        """The end of the bytes. It is the end of the answer only where an object said so."""
        if not self.over:
            self.fail(UNFINISHED, out)

    def fail(self, failure: Failure, out: list[Event]) -> None:
        self.over = True
        out.append(Failed(failure))

    def _words(self, message: _AnswerMessage, logprobs: Json | None, out: list[Event]) -> None:
        thinking, content = bytes(message.thinking), bytes(message.content)
        if thinking[:1] == b'"' and thinking != EMPTY:
            out.append(ReasoningDelta(0, self._open(_THOUGHT), thinking, THINKING))
        if content[:1] == b'"' and (content != EMPTY or logprobs is not None):
            out.append(TextDelta(0, self._open(_TEXT), content, logprobs))

    def _open(self, kind: int) -> int:
        """The number of the part that is open, or of a new one where that is of another kind."""
        if self._kind != kind or kind == _NEITHER:
            self._kind, self._part = kind, self._parts
            self._parts += 1
        return self._part

    def _call(self, call: _OllamaAnswerCall, out: list[Event]) -> None:
        function = call.function
        if function is None or not function.name:
            return
        part = self._open(_NEITHER)
        self._calls += 1
        arguments = bytes(function.arguments)
        text = arguments.decode() if arguments[:1] == b"{" else "{}"
        identity, made = self._call_id(call.id, function.name)
        out.append(CallStarted(0, part, identity, function.name, made=made))
        out.append(CallDelta(0, part, quote(text)))
        out.append(CallEnded(0, part))

    def _call_id(self, given: str | None, name: str) -> tuple[str, bool]:
        """The call's id and whether it is made: a hash of the answer's and the call's number, so that two turns never
        share an id."""
        found = given or answer_call_id(self.seed or name, self._calls)
        while found in self._ids:
            found = answer_call_id(found)
        self._ids.add(found)
        return found, found != given

    def _end(self, chunk: OllamaChunk, data: bytes, out: list[Event]) -> None:
        self.over = True
        fields = _decode_fields(data)
        word = chunk.done_reason or ""
        kept = {name: encode(fields[name]) for name in _KEPT if name in fields}
        out.append(Stopped(0, parse_stop(word, self._calls > 0), word, None, extras_of(NAME, kept)))
        usage = parse_usage(fields)
        if usage is not None:
            out.append(Used(usage))
        out.append(Ended())


def _decode_fields(data: bytes) -> dict[str, Any]:
    try:
        return decode_object(data)
    except UNREADABLE:
        return {}


def seconds(time: str | None) -> int | None:
    """A moment in seconds since 1970; None where it is none, or before."""
    try:
        found = int(datetime.fromisoformat(time).timestamp()) if time else None
    except (ValueError, OverflowError):
        return None
    return found or None


def logprobs_of(raw: bytes) -> Json | None:
    """Log probabilities in the form of OpenAI Chat."""
    if raw[:1] != b"[":
        return None
    try:
        items = [decode_object(item) for item in decode_items(raw)]
    except UNREADABLE:
        return None
    return encode([_with_likeliest(item) for item in items]) if items else None


def _with_likeliest(item: dict[str, Any]) -> dict[str, Any]:
    tops = item.get("top_logprobs")
    listed = [_token(top) for top in tops if isinstance(top, dict)] if isinstance(tops, list) else []
    return {**_token(item), "top_logprobs": listed}


def _token(item: dict[str, Any]) -> dict[str, Any]:
    return {"token": item.get("token", ""), "logprob": item.get("logprob", 0.0), "bytes": item.get("bytes")}


_TOO_LONG = Failure(FailureKind.ANSWER_TOO_LARGE, "A tool call of the answer is too long.")


class MessageBuilder:
    """Takes events in any order. A subclass decides what becomes of the pieces."""

    __slots__ = (
        "_begun",
        "_call",
        "_calls",
        "_choice",
        "_fragments",
        "_media",
        "_order",
        "_size",
        "_stop",
        "context",
        "over",
        "started",
        "usage",
    )

    def __init__(self, context: AnswerContext) -> None:
        self.context = context
        self._begun = context.clock() if context.clock is not None else 0.0
        self.started = Started()
        self.usage: Usage | None = None
        self.over = False
        self._choice = -1
        self._order = CallOrder()
        self._call: CallStarted | None = None
        self._calls = 0
        self._fragments: list[bytes] = []
        self._size = 0
        self._media = -1
        self._stop: Stopped | None = None

    def take(self, event: Event) -> None:
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

    def _take(self, event: Event) -> None:
        if self._media >= 0 and getattr(event, "part", -1) != self._media:
            self._end_media()
        handler = _TAKE.get(type(event))
        if handler is not None:
            handler(self, event)

    # What a subclass does.

    def begin(self) -> None: ...

    def content(self, literal: Json, logprobs: Json | None) -> None: ...

    def thinking(self, literal: Json) -> None: ...

    def call(self, json: Json) -> None: ...

    def finish(self) -> None: ...

    def fail(self, failure: Failure) -> None: ...

    # Events.

    def _started(self, event: Started) -> None:
        self.started = event
        self.begin()

    def _text(self, event: TextDelta | RefusalDelta) -> None:
        logprobs = event.logprobs if isinstance(event, TextDelta) else None
        if event.literal != EMPTY or logprobs is not None:
            self.content(event.literal, logprobs)

    def _reasoning(self, event: ReasoningDelta) -> None:
        if event.literal != EMPTY and not self.context.hides_reasoning:
            self.thinking(event.literal)

    def _call_started(self, event: CallStarted) -> None:
        self._call, self._fragments, self._size = event, [], 0

    def _call_delta(self, event: CallDelta) -> None:
        self._fragments.append(event.literal)
        self._size += len(event.literal)
        if self._size > held_events.LIMIT:
            self._failed(Failed(_TOO_LONG))

    def _call_ended(self, event: CallEnded) -> None:
        call, self._call = self._call, None
        if call is None:
            return
        arguments: Json = arguments_of(unquote(joined("", self._fragments)), call.custom)
        if arguments[:1] != b"{":
            arguments = b'{"arguments":' + arguments + b"}"
        place, self._calls = self._calls, self._calls + 1
        function = {"index": b"%d" % place, "name": quote(call.name), "arguments": one_line(arguments)}
        members: dict[str, Json] = {"id": quote(call.id)} if call.id else {}
        self.call(render_object({**members, "function": render_object(function)}))

    def _media_delta(self, event: MediaDelta) -> None:
        """This dialect has no media in answers: they become a link that holds the bytes, and the transcript."""
        if self._media < 0:
            self._media = event.part
            target = event.url or f"data:{event.media_type};base64,"
            self.content(quote(f"[{event.kind.value}]({target}"), None)
        if event.data != EMPTY and not event.url:
            self.content(event.data, None)
        if event.transcript is not None and event.transcript != EMPTY:
            self._fragments.append(event.transcript)

    def _end_media(self) -> None:
        self._media = -1
        words, self._fragments = self._fragments, []
        self.content(joined("", [b'")"', *([b'"\\n\\n"'] if words else []), *words]), None)

    def _stopped(self, event: Stopped) -> None:
        self._stop = event

    def _used(self, event: Used) -> None:
        self.usage = merged(self.usage, event.usage)

    def _ended(self, event: Ended) -> None:
        self.over = True
        self.finish()

    def _failed(self, event: Failed) -> None:
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
        stop = self._stop or Stopped(0, Stop.END)
        reason = quote(render_stop(stop.reason, stop.word))
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


_TAKE: Mapping[type[Event], Callable[[Any, Any], None]] = {
    Started: MessageBuilder._started,
    TextDelta: MessageBuilder._text,
    RefusalDelta: MessageBuilder._text,
    ReasoningDelta: MessageBuilder._reasoning,
    CallStarted: MessageBuilder._call_started,
    CallDelta: MessageBuilder._call_delta,
    CallEnded: MessageBuilder._call_ended,
    MediaDelta: MessageBuilder._media_delta,
    Stopped: MessageBuilder._stopped,
    Used: MessageBuilder._used,
    Ended: MessageBuilder._ended,
    Failed: MessageBuilder._failed,
}
"""State, citations and blocks of providers have no place in an answer of this dialect."""


def parse_answer(body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> list[Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    chunk, text = decode_broken(decode_chunk, body)
    if chunk is None:
        return _parse_lines(body, seed)
    if chunk.error is not ABSENT or (chunk.message is None and chunk.response is ABSENT):
        return [Failed(parse_error(200, {}, text))]
    out: list[Event] = []
    answer = OllamaAnswerParser(seed)
    answer.chunk(chunk, text, out)
    answer.finish(out)
    return out


def _parse_lines(body: bytes, seed: str) -> list[Event]:
    """A server may send a stream although it was asked for one object."""
    answer, lines = OllamaAnswerParser(seed), NdjsonDecoder()
    events = [event for line in (*lines.feed(body), *lines.close()) for event in answer.take(line)]
    if answer.skipped:
        return [Failed(Failure(FailureKind.BROKEN_STREAM, "The answer is not a response that can be read.", raw=body))]
    if lines.overflowed and not answer.over:
        answer.fail(FRAME_TOO_LONG, events)
    answer.finish(events)
    return events


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one object."""
    whole = _OllamaAnswerRenderer(context)
    for event in tell(reply):
        whole.take(event)
    return whole.body


class _OllamaAnswerRenderer(MessageBuilder):
    """Collects the pieces of one message."""

    __slots__ = ("_called", "_logprobs", "_texts", "_thoughts", "body")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(context)
        self._texts: list[Json] = []
        self._thoughts: list[Json] = []
        self._called: list[Json] = []
        self._logprobs: list[Json] = []
        self.body = b""

    def content(self, literal: Json, logprobs: Json | None) -> None:
        self._texts.append(literal)
        if logprobs is not None:
            self._logprobs.append(logprobs)

    def thinking(self, literal: Json) -> None:
        self._thoughts.append(literal)

    def call(self, json: Json) -> None:
        self._called.append(json)

    def finish(self) -> None:
        message: dict[str, Json] = {"role": b'"assistant"', "content": joined("", self._texts)}
        if self._thoughts:
            message["thinking"] = joined("", self._thoughts)
        if self._called:
            message["tool_calls"] = render_list(self._called)
        fields: dict[str, Json] = {**self.head(), "message": render_object(message), **self.tail()}
        if self._logprobs:
            fields["logprobs"] = b"[" + b",".join([tokens[1:-1] for tokens in self._logprobs]) + b"]"
        self.body = render_object(fields)
