"""An Ollama answer, whole or in lines, as events."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation import events
from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import EMPTY
from dragoman.conversation.parts import Extras, Json, Origin
from dragoman.conversation.replies import Stop, Usage, clamp_tokens
from dragoman.dialects.families.call_input import parse_input
from dragoman.dialects.families.stop_reasons import StopReasons
from dragoman.dialects.ollama import NAME, THINKING
from dragoman.dialects.shared import raw_json
from dragoman.dialects.shared.parsing import answer_call_id, extras_of
from dragoman.dialects.shared.split_surrogates import SurrogateMender
from dragoman.wire.error_bodies import parse_failure, parse_no_answer, unreadable_answer

STOPS = StopReasons(
    {
        "stop": Stop.END,
        "length": Stop.LENGTH,
        "load": Stop.END,
        "unload": Stop.END,
        # Ollama's own models never end so. Its clients take any word but show `stop` as a success.
        "content_filter": Stop.FILTER,
        "refusal": Stop.REFUSAL,
        "error": Stop.ERROR,
    }
)


_TEXT, _THOUGHT, _NEITHER = 1, 2, 0
_KEPT = ("remote_model", "remote_host")
"""Members of the last object that are kept for clients of this dialect."""


class _AnswerFunction(msgspec.Struct, gc=False):
    name: str = ""
    arguments: Raw = raw_json.ABSENT


class _OllamaAnswerCall(msgspec.Struct, gc=False):
    function: _AnswerFunction | None = None
    id: str | None = None


class _AnswerMessage(msgspec.Struct, gc=False):
    content: Raw = raw_json.ABSENT
    thinking: Raw = raw_json.ABSENT
    tool_calls: list[_OllamaAnswerCall] | None = None


class OllamaChunk(msgspec.Struct, gc=False):
    """One line of a stream, or a whole answer. An answer of `/api/generate` has `response` in place of a message."""

    model: str | None = None
    created_at: str | None = None
    message: _AnswerMessage | None = None
    response: Raw = raw_json.ABSENT
    thinking: Raw = raw_json.ABSENT
    done: bool | None = None
    done_reason: str | None = None
    logprobs: Raw = raw_json.ABSENT
    error: Raw = raw_json.ABSENT


decode_chunk = msgspec.json.Decoder(OllamaChunk).decode


_MOST_UNREAD = 2000


class OllamaAnswerParser:
    """An answer on its way in. `seed` makes the ids of calls that have none. `over`: it has ended or failed. `skipped`
    counts the lines that it could not decode."""

    __slots__ = (
        *("_calls", "_ids", "_kind", "_part", "_parts", "_surrogates"),
        *("begun", "over", "seed", "skipped", "unread"),
    )

    def __init__(self, seed: str = "") -> None:
        self.seed = seed
        self.begun = False
        self.over = False
        self.unread = b""
        """The beginning of the lines that it could not decode."""
        self.skipped = 0
        self._surrogates = SurrogateMender()
        self._part = -1
        self._parts = 0
        self._kind = _NEITHER
        self._calls = 0
        self._ids: set[str | None] = set()

    def take(self, line: bytes) -> list[events.Event]:
        """The events of one line of a stream."""
        out: list[events.Event] = []
        if self.over:
            return out
        chunk, text = raw_json.decode_broken(decode_chunk, line, self._surrogates.mark)
        if chunk is None:
            self.skipped += 1
            self.unread = (self.unread + line)[:_MOST_UNREAD]
        elif not raw_json.says_nothing(chunk.error):
            self.fail(parse_failure(200, {}, text, NAME), out)
        else:
            self.chunk(chunk, text, out)
        return self._completed(out) if self._surrogates.found else out

    def _completed(self, out: list[events.Event]) -> list[events.Event]:
        """Half a pair at the very end of a text comes before the events that end the answer."""
        self._surrogates.mend(out, 0)
        if not self.over:
            return out
        halves: list[events.Event] = []
        self._surrogates.flush(halves)
        at = next(
            (place for place, event in enumerate(out) if isinstance(event, events.Stopped | events.Failed)), len(out)
        )
        return [*out[:at], *halves, *out[at:]]

    def chunk(self, chunk: OllamaChunk, data: bytes, out: list[events.Event]) -> None:
        """Take one object. `data` is its text."""
        if not self.begun:
            self.begun = True
            out.append(events.Started("", chunk.model or "", seconds(chunk.created_at)))
        message = chunk.message
        if message is None:
            message = _AnswerMessage(chunk.response, chunk.thinking)
        self._words(message, logprobs_of(bytes(chunk.logprobs)), out)
        for call in message.tool_calls or ():
            self._call(call, out)
        if chunk.done:
            self._end(chunk, data, out)

    def finish(self, out: list[events.Event]) -> None:
        """The end of the bytes. It is the end of the answer only if an object said so."""
        if not self.over:
            self.fail(UNFINISHED, out)

    def fail(self, failure: Failure, out: list[events.Event]) -> None:
        self.over = True
        out.append(events.Failed(failure))

    def _words(self, message: _AnswerMessage, logprobs: Json | None, out: list[events.Event]) -> None:
        thinking, content = bytes(message.thinking), bytes(message.content)
        if thinking[:1] == b'"' and thinking != EMPTY:
            out.append(events.ReasoningDelta(0, self._open(_THOUGHT), thinking, THINKING))
        if content[:1] == b'"' and (content != EMPTY or logprobs is not None):
            out.append(events.TextDelta(0, self._open(_TEXT), content, logprobs))

    def _open(self, kind: int) -> int:
        """The number of the part that is open, or of a new one if that is of another kind."""
        if self._kind != kind or kind == _NEITHER:
            self._kind, self._part = kind, self._parts
            self._parts += 1
        return self._part

    def _call(self, call: _OllamaAnswerCall, out: list[events.Event]) -> None:
        function = call.function
        if function is None or not function.name:
            return
        part = self._open(_NEITHER)
        self._calls += 1
        identity, made = self._call_id(call.id, function.name)
        out.append(events.CallStarted(0, part, identity, function.name, made=made))
        out.append(events.CallDelta(0, part, parse_input(bytes(function.arguments))))
        out.append(events.CallEnded(0, part))

    def _call_id(self, given: str | None, name: str) -> tuple[str, bool]:
        """The call's id and whether it is made: a hash of the answer's and the call's number, so that two turns never
        share an id, nor two calls."""
        found = given if given not in self._ids else None
        self._ids.add(given)
        return (found, False) if found else (answer_call_id(self.seed or name, self._calls), True)

    def _end(self, chunk: OllamaChunk, data: bytes, out: list[events.Event]) -> None:
        self.over = True
        fields = _decode_fields(data)
        word = chunk.done_reason or ""
        kept = {name: raw_json.encode(fields[name]) for name in _KEPT if name in fields}
        out.append(events.Stopped(0, STOPS.parse(word, self._calls > 0), word, None, extras_of(NAME, kept)))
        usage = parse_usage(fields)
        if usage is not None:
            out.append(events.Used(usage))
        out.append(events.Ended())


def _decode_fields(data: bytes) -> dict[str, Any]:
    try:
        return raw_json.decode_object(data)
    except raw_json.UNREADABLE:
        return {}


def seconds(time: str | None) -> int | None:
    """A moment in seconds since 1970; None if it is none, or before."""
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
        items = [raw_json.decode_object(item) for item in raw_json.decode_items(raw)]
    except raw_json.UNREADABLE:
        return None
    return raw_json.encode([_with_likeliest(item) for item in items]) if items else None


def _with_likeliest(item: dict[str, Any]) -> dict[str, Any]:
    tops = item.get("top_logprobs")
    listed = [_token(top) for top in tops if isinstance(top, dict)] if isinstance(tops, list) else []
    return {**_token(item), "top_logprobs": listed}


def _token(item: dict[str, Any]) -> dict[str, Any]:
    return {"token": item.get("token", ""), "logprob": item.get("logprob", 0.0), "bytes": item.get("bytes")}


def parse_answer(
    body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False
) -> list[events.Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    chunk, text = raw_json.decode_broken(decode_chunk, body)
    if chunk is None:
        return [events.Failed(unreadable_answer(body))]
    if not raw_json.says_nothing(chunk.error) or (chunk.message is None and chunk.response is raw_json.ABSENT):
        return [events.Failed(parse_no_answer(text, NAME))]
    out: list[events.Event] = []
    answer = OllamaAnswerParser(seed)
    answer.chunk(chunk, text, out)
    answer.finish(out)
    return out


# Usage: a count of zero is left out, and thinking is part of the answer

INPUT, OUTPUT = "prompt_eval_count", "eval_count"
DURATIONS = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
"""In nanoseconds. They are kept for clients of this dialect."""


def parse_usage(fields: Mapping[str, Any]) -> Usage | None:
    """The counts of the last object of an answer, or None if it has none."""
    times = {name: raw_json.encode(fields[name]) for name in DURATIONS if isinstance(fields.get(name), int)}
    if fields.get(INPUT) is None and fields.get(OUTPUT) is None and not times:
        return None
    extras = Extras(NAME, times) if times else None
    return Usage(input=clamp_tokens(fields.get(INPUT)), output=clamp_tokens(fields.get(OUTPUT)), extras=extras)
