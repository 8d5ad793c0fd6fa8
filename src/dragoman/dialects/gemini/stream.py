"""Gemini's stream: bytes to events, and events to bytes, as server-sent events or as one JSON array."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Json, Origin
from dragoman.dialects.answering import AnswerContext
from dragoman.dialects.gemini.errors import error_body, parse_error
from dragoman.dialects.gemini.finish import DIALECT, render_usage
from dragoman.dialects.gemini.objects import ObjectDecoder
from dragoman.dialects.gemini.parts import Parts, logprobs_result
from dragoman.dialects.gemini.reader import ABSENT, Chunk, Reader, decode_chunk
from dragoman.dialects.split_surrogates import TornDeltas
from dragoman.wire.json_reader import mend_surrogates, write_object
from dragoman.wire.sse import SseDecoder, one_line

TOO_LONG = Failure(FailureKind.BROKEN_STREAM, "A chunk of the stream was longer than can be read.")

_BLANK = b" \t\r\n\xef\xbb\xbf"
_LINE, _END = b"\r\n", b"\r\n\r\n"


class Parser:
    """Bytes of a stream to events. Never raises; `skipped` counts the chunks that could not be read.

    `seed` is what ids of calls are made from where the response has no id of its own.
    """

    __slots__ = ("_frames", "_idle", "_objects", "_reader", "_torn", "skipped")

    def __init__(self, origin: Origin | None = None, seed: str = "") -> None:
        self._frames: SseDecoder | None = None
        self._idle = False
        self._objects: ObjectDecoder | None = None
        self._reader = Reader(origin or Origin(DIALECT), seed)
        self._torn = TornDeltas()
        self.skipped = 0

    def feed(self, data: bytes) -> list[Event]:
        out: list[Event] = []
        if self._frames is None and self._objects is None:
            self._choose(data)
        if self._idle and data[-4:] == _END and data.find(_LINE) == len(data) - 4 and data[:6] == b"data: ":
            # One whole frame, as they nearly always come.
            self._read(data[6:-4], out)
        elif self._frames is not None:
            for frame in self._frames.feed(data):
                self._read(frame.data, out)
            self._idle = data[-4:] == _END and not self._frames.overflowed
            if self._frames.overflowed and not self._reader.over:
                self._reader.fail(TOO_LONG, out)
        elif self._objects is not None:
            for found in self._objects.feed(data):
                self._read(one_line(found), out)
            if self._objects.overflowed and not self._reader.over:
                self._reader.fail(TOO_LONG, out)
        if self._torn.found:
            self._torn.mend(out, 0)
        return out

    def close(self) -> list[Event]:
        out: list[Event] = []
        if self._frames is not None:
            for frame in self._frames.close():
                self._read(frame.data, out)
        if self._torn.found:
            self._torn.mend(out, 0)
            self._torn.tell_leftovers(out)
        self._reader.finish(out)
        return out

    def _choose(self, data: bytes) -> None:
        """A stream that opens with a bracket is JSON; any other is server-sent events."""
        start = data.lstrip(_BLANK)[:1]
        if start in (b"[", b"{"):
            self._objects = ObjectDecoder()
        elif start:
            self._frames = SseDecoder(joint=b" ")

    def _read(self, data: bytes, out: list[Event]) -> None:
        if self._reader.over:
            return
        try:
            chunk: Chunk | None = decode_chunk(data) if data.isascii() else None
        except msgspec.DecodeError:
            chunk = None
        if chunk is None:
            chunk, data = readable(data, self._torn.mark)
        if chunk is None:
            self.skipped += not data.startswith(b"[DONE]")
        elif chunk.error is not ABSENT:
            self._reader.fail(parse_error(200, {}, data), out)
        else:
            self._reader.chunk(chunk, data, out)


def readable(data: bytes, mend: Callable[[bytes], bytes] = mend_surrogates) -> tuple[Chunk | None, bytes]:
    """The chunk, None where it cannot be read, and its text as it was read. `mend` sees to torn surrogate pairs."""
    if not data.isascii():
        data = data.decode("utf-8", "replace").encode()
    try:
        return decode_chunk(data), data
    except msgspec.DecodeError:
        data = mend(data)
    try:
        return decode_chunk(data), data
    except msgspec.DecodeError:
        return None, data


class Renderer(Parts):
    """Events to the bytes of a stream: one chunk a delta, the stop and the usage in the last one."""

    __slots__ = ("_array", "_begun", "_close", "_head", "_open", "_out", "_tail")

    def __init__(self, answering: AnswerContext) -> None:
        super().__init__(answering)
        self._array = answering.array
        self._open, self._close = (b"", b"\r\n") if answering.array else (b"data: ", b"\r\n\r\n")
        self._out: list[bytes] = []
        self._begun = False
        self._head = b'%b{"candidates":[{"content":{"parts":[' % self._open
        self._tail = b""
        self.begin()

    def render(self, events: Sequence[Event]) -> bytes:
        out = self._out = []
        for event in events:
            self.take(event)
        return b"".join(out)

    def close(self) -> bytes:
        if self.over:
            return b""
        self._out = []
        self._fail(UNFINISHED)
        return b"".join(self._out)

    def begin(self) -> None:
        """The first choice, which is nearly always the only one, has its frame ready."""
        self._tail = b'],"role":"model"},"index":0}],%b%b' % (write_object(self.head())[1:], self._close)

    def part(self, choice: int, json: Json) -> None:
        if self._array:
            self._out.append(b"," if self._begun else b"[")
            self._begun = True
        tail = self._tail if not choice else self._tail.replace(b'"index":0', b'"index":%d' % choice, 1)
        self._out += (self._head, json, tail)

    def sign(self, choice: int, signature: bytes, thought: bool, fresh: bool) -> None:
        mark = b',"thought":true' if thought else b""
        self.part(choice, b'{"text":""%b,"thoughtSignature":%b}' % (mark, signature))

    def logprobs(self, choice: int, tokens: Json) -> None:
        candidate = {"content": _EMPTY_CONTENT, "index": b"%d" % choice, "logprobsResult": logprobs_result(tokens)}
        self._chunk({"candidates": b"[" + write_object(candidate) + b"]"})

    def finish(self) -> None:
        candidates = []
        last: dict[str, bytes] = {}
        for _, fields in self.stops():
            feedback = fields.pop("promptFeedback", None)
            if feedback is not None:
                last["promptFeedback"] = feedback
            else:
                candidates.append(write_object({"content": _EMPTY_CONTENT, **fields}))
        if candidates:
            last["candidates"] = b"[" + b",".join(candidates) + b"]"
        if self.usage is not None:
            last["usageMetadata"] = render_usage(self.usage)
        self._chunk(last)
        if self._array:
            self._out.append(b"]")

    def fail(self, failure: Failure) -> None:
        self._frame(error_body(failure)[1])
        if self._array:
            self._out.append(b"]")

    def _chunk(self, fields: dict[str, bytes]) -> None:
        self._frame(write_object({**fields, **self.head()}))

    def _frame(self, json: bytes) -> None:
        if self._array:
            self._out.append(b"," if self._begun else b"[")
            self._begun = True
        self._out += (self._open, json, self._close)


_EMPTY_CONTENT = b'{"parts":[{"text":""}],"role":"model"}'
