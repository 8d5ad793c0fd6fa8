"""Claude's stream of block events: bytes to events, and events to bytes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event, Started, TextDelta, Used
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Json, Origin
from dragoman.dialects.answering import AnswerContext
from dragoman.dialects.anthropic.blocks import TEXT, Blocks, late_fields, own_fields
from dragoman.dialects.anthropic.errors import error_body, parse_error
from dragoman.dialects.anthropic.reader import Reader
from dragoman.dialects.anthropic.reply import parse_reply
from dragoman.dialects.anthropic.stops import DIALECT, render_usage
from dragoman.dialects.split_surrogates import TornDeltas
from dragoman.wire.json_reader import write_object
from dragoman.wire.sse import SseDecoder, event_frame, one_line

TOO_LONG = Failure(FailureKind.BROKEN_STREAM, "An event of the stream was longer than can be read.")


class _Delta(msgspec.Struct, gc=False):
    type: str = ""
    text: Raw = Raw()
    thinking: Raw = Raw()
    partial_json: Raw = Raw()


class _Told(msgspec.Struct, gc=False):
    type: str = ""
    index: int = 0
    delta: _Delta | None = None


_decode = msgspec.json.Decoder(_Told).decode
_members = msgspec.json.Decoder(dict[str, Raw]).decode


class Parser:
    """Bytes of a stream to events. Never raises; `skipped` counts the frames that could not be read."""

    __slots__ = ("_framed", "_frames", "_reader", "_torn", "skipped")

    def __init__(self, origin: Origin | None = None) -> None:
        self._frames = SseDecoder(joint=b" ")
        self._reader = Reader(origin or Origin(DIALECT))
        self._torn = TornDeltas()
        self._framed = False
        self.skipped = 0

    def feed(self, data: bytes) -> list[Event]:
        out: list[Event] = []
        for frame in self._frames.feed(data):
            self._read(frame.data, out)
        if self._frames.overflowed and not self._reader.over:
            self._reader.fail(TOO_LONG, out)
        return out

    def close(self) -> list[Event]:
        out: list[Event] = []
        for frame in self._frames.close():
            self._read(frame.data, out)
        reader = self._reader
        if not reader.over and not self._framed and self._frames.stray:
            # The answer to a request for a stream was a plain body.
            return parse_reply(one_line(bytes(self._frames.stray)), reader.origin)
        if not reader.over:
            reader.fail(UNFINISHED, out)
        return out

    def _read(self, data: bytes, out: list[Event]) -> None:
        reader = self._reader
        if reader.over:
            return
        if not data.isascii():
            data = _utf8(data)
        try:
            told = _decode(data)
        except msgspec.DecodeError:
            data = self._torn.mark(data)
            try:
                told = _decode(data)
            except msgspec.DecodeError:
                self.skipped += not data.startswith(b"[DONE]")
                return
        self._framed = True
        delta, start = told.delta, len(out)
        if told.type == "content_block_delta" and delta is not None:
            kind = delta.type
            if kind == "text_delta":
                reader.text(told.index, bytes(delta.text), out)
            elif kind == "input_json_delta":
                reader.arguments(told.index, bytes(delta.partial_json), out)
            elif kind == "thinking_delta":
                reader.thinking(told.index, bytes(delta.thinking), out)
            else:
                reader.odd_delta(told.index, _members(_members(data)["delta"]), out)
            if self._torn.found:
                self._torn.mend(out, start)
        elif told.type != "ping":
            self._read_rare(told, data, out)

    def _read_rare(self, told: _Told, data: bytes, out: list[Event]) -> None:
        reader = self._reader
        fields = _members(data)
        try:
            match told.type:
                case "message_start":
                    reader.start(_members(fields["message"]), out)
                case "content_block_start":
                    reader.open_block(told.index, bytes(fields["content_block"]), out)
                case "content_block_stop":
                    reader.shut_block(told.index, out)
                case "message_delta":
                    self._torn.tell_leftovers(out)
                    reader.message_delta(fields, out)
                case "message_stop":
                    reader.end(out)
                case "error":
                    reader.fail(parse_error(200, {}, data), out)
                case _ if "error" in fields:
                    reader.fail(parse_error(200, {}, data), out)
                case _:
                    self.skipped += 1
        except (KeyError, msgspec.DecodeError):
            self.skipped += 1


def _utf8(data: bytes) -> bytes:
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data


class Renderer(Blocks):
    """Events to the bytes of a stream. Blocks come one after the other, whatever the events do."""

    __slots__ = ("_answering", "_begun", "_head", "_index", "_out", "_start")

    def __init__(self, answering: AnswerContext) -> None:
        super().__init__()
        self._answering = answering
        self._out: list[bytes] = []
        self._index = -1
        self._head = b""
        self._begun = False
        self._start: Started | None = None

    def render(self, events: Sequence[Event]) -> bytes:
        out = self._out = []
        for event in events:
            if type(event) is TextDelta and event.part == self._part and self._kind is TEXT and event.literal != EMPTY:
                # Most events of most streams: a block that is open goes on.
                if event.choice == self._shown:
                    out += (self._head, event.literal, b"}}\n\n")
                continue
            if self._start is not None and type(event) is not Used:
                self._write_start()
            self.take(event)
        if self._start is not None:
            self._write_start()
        return b"".join(out)

    def close(self) -> bytes:
        if self.over:
            return b""
        self._out = []
        self._fail(UNFINISHED)
        return b"".join(self._out)

    def begin(self, event: Started) -> None:
        # Written with the next event that is not about usage: Claude tells the input's size in its first event.
        self._start = event

    def _write_start(self) -> None:
        event, self._start = self._start, None
        if self._begun or event is None:
            return
        self._begun = True
        message = {
            "id": quote(event.id or self._answering.id),
            "type": b'"message"',
            "role": b'"assistant"',
            "model": quote(self._answering.model or event.model),
            "content": b"[]",
            "stop_reason": b"null",
            "stop_sequence": b"null",
            "usage": render_usage(self.usage),
            **own_fields(event.extras),
        }
        frame = b'{"type":"message_start","message":' + write_object(message) + b"}"
        self._out.append(event_frame(b"message_start", frame))

    def open_block(self, kind: bytes, block: Json) -> None:
        if not self._begun:
            self._start = self._start or Started()
            self._write_start()
        self._index += 1
        frame = b'{"type":"content_block_start","index":%d,"content_block":%b}' % (self._index, block)
        self._out.append(event_frame(b"content_block_start", frame))
        self._head = _HEADS.get(kind, b"") % self._index if kind else b""

    def write(self, kind: bytes, literal: bytes) -> None:
        self._out += (self._head, literal, b"}}\n\n")

    def sign(self, literal: bytes) -> None:
        self._write_delta(b'{"type":"signature_delta","signature":%b}' % literal)

    def cite(self, json: Json) -> None:
        self._write_delta(b'{"type":"citations_delta","citation":%b}' % json)

    def _write_delta(self, delta: bytes) -> None:
        frame = b'{"type":"content_block_delta","index":%d,"delta":%b}' % (self._index, delta)
        self._out.append(event_frame(b"content_block_delta", frame))

    def shut_block(self) -> None:
        self._out.append(event_frame(b"content_block_stop", b'{"type":"content_block_stop","index":%d}' % self._index))

    def finish(self) -> None:
        if not self._begun:
            self._start = self._start or Started()
            self._write_start()
        fields = late_fields(self)
        outer = {key: fields.pop(key) for key in ("context_management",) if key in fields}
        frame = write_object(
            {"type": b'"message_delta"', "delta": write_object(fields), "usage": render_usage(self.usage), **outer}
        )
        self._out.append(event_frame(b"message_delta", frame))
        self._out.append(event_frame(b"message_stop", b'{"type":"message_stop"}'))

    def fail(self, failure: Failure) -> None:
        self._out.append(event_frame(b"error", error_body(failure, self._answering)[1]))


_DELTA = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%%d,"delta":{"type":"%b","%b":'
_HEADS = {
    b"text_delta": _DELTA % (b"text_delta", b"text"),
    b"thinking_delta": _DELTA % (b"thinking_delta", b"thinking"),
    b"input_json_delta": _DELTA % (b"input_json_delta", b"partial_json"),
}
