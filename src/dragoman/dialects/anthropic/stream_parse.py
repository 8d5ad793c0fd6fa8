"""Claude's stream of block events: bytes to events, and events to bytes."""

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
from dragoman.dialects.split_surrogates import TornDeltas
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
    """Bytes of a stream to events. Never raises; `skipped` counts the frames that could not be read."""

    __slots__ = ("_answer", "_framed", "_frames", "_seed", "_torn", "skipped")

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        self._frames = SseDecoder(line_separator=b" ")
        self._answer = AnthropicAnswerParser(origin or ORIGIN, seed)
        self._torn = TornDeltas()
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
            # The answer to a request for a stream was a plain body.
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
                answer.text(told.index, bytes(delta.text), out)
            elif kind == "input_json_delta":
                answer.arguments(told.index, bytes(delta.partial_json), out)
            elif kind == "thinking_delta":
                answer.thinking(told.index, bytes(delta.thinking), out)
            else:
                answer.odd_delta(told.index, decode_members(decode_members(data)["delta"]), out)
            if self._torn.found:
                self._torn.mend(out, start)
        elif told.type != "ping":
            self._parse_rare(told, data, out)

    def _parse_rare(self, told: _StreamEvent, data: bytes, out: list[Event]) -> None:
        answer = self._answer
        fields = decode_members(data)
        try:
            match told.type:
                case "message_start":
                    answer.start(decode_members(fields["message"]), out)
                case "content_block_start":
                    answer.open_block(told.index, bytes(fields["content_block"]), out)
                case "content_block_stop":
                    answer.shut_block(told.index, out)
                case "message_delta":
                    self._torn.tell_leftovers(out)
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
