"""Bytes of a Cohere stream to events."""

from __future__ import annotations

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event
from dragoman.conversation.parts import Origin
from dragoman.dialects.cohere import ORIGIN
from dragoman.dialects.cohere.answer_events import CohereAnswerParser
from dragoman.dialects.cohere.answer_parse import parse_answer
from dragoman.dialects.cohere.answer_wire import (
    CohereCallDelta,
    CohereContentDelta,
    CohereMessageDelta,
    CohereStreamEvent,
    decode_event,
)
from dragoman.dialects.cohere.errors import parse_error
from dragoman.dialects.parsing import FRAME_TOO_LONG
from dragoman.dialects.raw_json import UNREADABLE, text_in, valid_utf8
from dragoman.dialects.split_surrogates import SurrogateMender
from dragoman.wire.sse import SseDecoder, one_line

_SILENT = frozenset({"debug", "content-end", "citation-end"})
"""Events that add nothing to earlier ones."""
_NO_MESSAGE = CohereMessageDelta()


class CohereStreamParser:
    """Server-sent events of a stream. It never raises; `skipped` counts the frames that it could not read."""

    __slots__ = ("_answer", "_frames", "_seed", "_surrogates", "skipped")

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        self._frames = SseDecoder(line_separator=b" ")
        self._answer = CohereAnswerParser(origin or ORIGIN, seed)
        self._surrogates = SurrogateMender()
        self._seed = seed
        self.skipped = 0

    def feed(self, data: bytes) -> list[Event]:
        out: list[Event] = []
        for frame in self._frames.feed(data):
            self._parse_frame(frame.data, out)
        if self._frames.overflowed and not self._answer.over:
            self._answer.fail(FRAME_TOO_LONG, out)
        return out

    def close(self) -> list[Event]:
        """The end of the bytes. It is the end of the answer only if the answer says so."""
        out: list[Event] = []
        for frame in self._frames.close():
            self._parse_frame(frame.data, out)
        answer = self._answer
        if not answer.over and not answer.begun and self._frames.stray:
            # The server answered a request for a stream with a plain body.
            return parse_answer(one_line(bytes(self._frames.stray)), answer.origin, seed=self._seed)
        if not answer.over:
            answer.fail(UNFINISHED, out)
        return out

    def _parse_frame(self, data: bytes, out: list[Event]) -> None:
        if self._answer.over or data.strip(b'" ') == b"[DONE]":
            return
        if not data.isascii():
            data = valid_utf8(data)
        event = self._decoded(data)
        if event is None:
            self.skipped += 1
            return
        start = len(out)
        self._take(event, data, out)
        if self._surrogates.found:
            self._surrogates.mend(out, start)

    def _decoded(self, data: bytes) -> CohereStreamEvent | None:
        """The event, if need be decoded with half a surrogate pair marked in it."""
        for text in (data, self._surrogates.mark(data)):
            try:
                return decode_event(text)
            except UNREADABLE:
                continue
        return None

    def _take(self, event: CohereStreamEvent, data: bytes, out: list[Event]) -> None:
        delta = event.delta
        message = delta.message if delta is not None and delta.message is not None else _NO_MESSAGE
        index = event.index or 0
        kind = event.type
        if not self._answer.begun and kind in _BEGINNING:
            self._answer.start(event.id or "", {}, out)
        if kind in ("content-delta", "content-start"):
            self._content(event, message, out)
        elif kind == "tool-plan-delta":
            self._answer.plan(bytes(message.tool_plan), out)
        elif kind in ("tool-call-start", "tool-call-delta"):
            self._call(kind, index, message, out)
        elif kind == "tool-call-end":
            self._answer.end_call(index, out)
        elif kind == "citation-start":
            self._answer.cite(bytes(message.citations), out)
        elif kind == "message-end":
            self._end(event, out)
        elif not kind:
            self._answer.fail(parse_error(200, {}, data), out)
        elif kind != "message-start":
            self.skipped += kind not in _SILENT

    def _content(self, event: CohereStreamEvent, message: CohereMessageDelta, out: list[Event]) -> None:
        content = message.content
        if not isinstance(content, CohereContentDelta):
            return
        index = event.index or 0
        self._answer.thinking(index, bytes(content.thinking), out)
        self._answer.text(index, bytes(content.text), out, self._answer.logprobs(event.logprobs))

    def _call(self, kind: str, index: int, message: CohereMessageDelta, out: list[Event]) -> None:
        call = message.tool_calls
        if not isinstance(call, CohereCallDelta) or call.function is None:
            return
        if kind == "tool-call-start":
            self._answer.call(index, text_in(call.id), text_in(call.function.name), out)
        self._answer.arguments(index, bytes(call.function.arguments), out)

    def _end(self, event: CohereStreamEvent, out: list[Event]) -> None:
        self._surrogates.flush(out)
        delta = event.delta
        if delta is None:
            self._answer.end("", b"", b"", out)
        else:
            self._answer.end(delta.finish_reason or "", bytes(delta.usage), bytes(delta.error), out)


_BEGINNING = frozenset(
    {
        *("message-start", "content-start", "content-delta", "tool-plan-delta", "tool-call-start"),
        *("tool-call-delta", "tool-call-end", "citation-start", "message-end"),
    }
)
"""Events with which an answer has begun, even where its head was lost."""
