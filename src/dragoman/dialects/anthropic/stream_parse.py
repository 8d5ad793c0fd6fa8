"""Bytes of an Anthropic stream to events."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event
from dragoman.conversation.parts import Origin
from dragoman.dialects.anthropic import ORIGIN
from dragoman.dialects.anthropic.answer_events import AnthropicAnswerParser
from dragoman.dialects.anthropic.answer_parse import parse_answer
from dragoman.dialects.anthropic.errors import parse_error
from dragoman.dialects.parsing import FRAME_TOO_LONG
from dragoman.dialects.raw_json import decode_members, valid_utf8
from dragoman.dialects.split_surrogates import SurrogateMender
from dragoman.wire.sse import SseDecoder, one_line


class _BlockDelta(msgspec.Struct, gc=False):
    type: str = ""
    text: Raw = Raw()
    thinking: Raw = Raw()
    partial_json: Raw = Raw()


class _StreamEvent(msgspec.Struct, gc=False):
    type: str = ""
    index: int = 0
    delta: _BlockDelta | None = None


_decode = msgspec.json.Decoder(_StreamEvent).decode


class AnthropicStreamParser:
    """Server-sent events of a stream. It never raises; `skipped` counts the frames that it could not read."""

    __slots__ = ("_answer", "_framed", "_frames", "_seed", "_surrogates", "skipped")

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        self._frames = SseDecoder(line_separator=b" ")
        self._answer = AnthropicAnswerParser(origin or ORIGIN, seed)
        self._surrogates = SurrogateMender()
        self._seed = seed
        self._framed = False
        self.skipped = 0

    def feed(self, data: bytes) -> list[Event]:
        out: list[Event] = []
        for frame in self._frames.feed(data):
            self._parse_frame(frame.data, out)
        if self._frames.overflowed and not self._answer.over:
            self._answer.fail(FRAME_TOO_LONG, out)
        return out

    def close(self) -> list[Event]:
        out: list[Event] = []
        for frame in self._frames.close():
            self._parse_frame(frame.data, out)
        answer = self._answer
        if not answer.over and not self._framed and self._frames.stray:
            # The server answered a request for a stream with a plain body.
            return parse_answer(one_line(bytes(self._frames.stray)), answer.origin, seed=self._seed)
        if not answer.over:
            answer.fail(UNFINISHED, out)
        return out

    def _parse_frame(self, data: bytes, out: list[Event]) -> None:
        answer = self._answer
        if answer.over:
            return
        if not data.isascii():
            data = valid_utf8(data)
        try:
            event = _decode(data)
        except (msgspec.DecodeError, RecursionError):
            data = self._surrogates.mark(data)
            try:
                event = _decode(data)
            except (msgspec.DecodeError, RecursionError):
                self.skipped += not data.startswith(b"[DONE]")
                return
        self._framed = True
        try:
            self._take(event, data, out)
        except RecursionError:  # read here, it is deeper in our own calls than where it was first decoded
            self.skipped += 1

    def _take(self, event: _StreamEvent, data: bytes, out: list[Event]) -> None:
        answer, delta, start = self._answer, event.delta, len(out)
        if event.type == "content_block_delta" and delta is not None:
            kind = delta.type
            if kind == "text_delta":
                answer.text(event.index, bytes(delta.text), out)
            elif kind == "input_json_delta":
                answer.arguments(event.index, bytes(delta.partial_json), out)
            elif kind == "thinking_delta":
                answer.thinking(event.index, bytes(delta.thinking), out)
            else:
                answer.other_delta(event.index, decode_members(decode_members(data)["delta"]), out)
            if self._surrogates.found:
                self._surrogates.mend(out, start)
        elif event.type != "ping":
            self._parse_event(event, data, out)

    def _parse_event(self, event: _StreamEvent, data: bytes, out: list[Event]) -> None:
        answer = self._answer
        fields = decode_members(data)
        try:
            match event.type:
                case "message_start":
                    answer.start(decode_members(fields["message"]), out)
                case "content_block_start":
                    answer.open_block(event.index, bytes(fields["content_block"]), out)
                case "content_block_stop":
                    answer.close_block(event.index, out)
                case "message_delta":
                    self._surrogates.flush(out)
                    answer.message_delta(fields, out)
                case "message_stop":
                    answer.end(out)
                case "error":
                    answer.fail(parse_error(200, {}, data), out)
                case _ if "error" in fields:
                    answer.fail(parse_error(200, {}, data), out)
                case _:
                    self.skipped += 1
        except (KeyError, msgspec.DecodeError):
            self.skipped += 1
