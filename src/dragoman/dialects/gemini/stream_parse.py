"""Bytes of a Gemini stream to events, from server-sent events or one JSON array."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dragoman.conversation.events import Event
from dragoman.conversation.parts import Origin
from dragoman.dialects.gemini import ORIGIN
from dragoman.dialects.gemini.answer_events import GeminiAnswerParser, GeminiChunk, decode_chunk
from dragoman.dialects.gemini.errors import parse_error
from dragoman.dialects.gemini.json_array import ObjectDecoder
from dragoman.dialects.parsing import FRAME_TOO_LONG
from dragoman.dialects.raw_json import ABSENT
from dragoman.dialects.split_surrogates import SurrogateMender
from dragoman.wire.json_reader import replace_lone_surrogates
from dragoman.wire.sse import SseDecoder, one_line

_BLANK = b" \t\r\n\xef\xbb\xbf"
_LINE, _END = b"\r\n", b"\r\n\r\n"


class GeminiStreamParser:
    """Objects of a stream. It never raises; `skipped` counts the objects that it could not decode."""

    __slots__ = ("_answer", "_frames", "_idle", "_objects", "_surrogates", "skipped")

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        self._frames: SseDecoder | None = None
        self._idle = False
        self._objects: ObjectDecoder | None = None
        self._answer = GeminiAnswerParser(origin or ORIGIN, seed)
        self._surrogates = SurrogateMender()
        self.skipped = 0

    def feed(self, data: bytes) -> list[Event]:
        out: list[Event] = []
        if self._frames is None and self._objects is None:
            self._choose(data)
        if self._idle and data[-4:] == _END and data.find(_LINE) == len(data) - 4 and data[:6] == b"data: ":
            # One whole frame: nearly every chunk is one.
            self._parse_frame(data[6:-4], out)
        elif self._frames is not None:
            for frame in self._frames.feed(data):
                self._parse_frame(frame.data, out)
            self._idle = data[-4:] == _END and not self._frames.overflowed
            if self._frames.overflowed and not self._answer.over:
                self._answer.fail(FRAME_TOO_LONG, out)
        elif self._objects is not None:
            for found in self._objects.feed(data):
                self._parse_frame(one_line(found), out)
            if self._objects.overflowed and not self._answer.over:
                self._answer.fail(FRAME_TOO_LONG, out)
        if self._surrogates.found:
            self._surrogates.mend(out, 0)
        return out

    def close(self) -> list[Event]:
        out: list[Event] = []
        if self._frames is not None:
            for frame in self._frames.close():
                self._parse_frame(frame.data, out)
        if self._surrogates.found:
            self._surrogates.mend(out, 0)
            self._surrogates.flush(out)
        self._answer.finish(out)
        return out

    def _choose(self, data: bytes) -> None:
        """A stream that begins with a bracket is JSON. Any other is server-sent events."""
        start = data.lstrip(_BLANK)[:1]
        if start in (b"[", b"{"):
            self._objects = ObjectDecoder()
        elif start:
            self._frames = SseDecoder(line_separator=b" ")

    def _parse_frame(self, data: bytes, out: list[Event]) -> None:
        if self._answer.over:
            return
        try:
            chunk: GeminiChunk | None = decode_chunk(data) if data.isascii() else None
        except (msgspec.DecodeError, RecursionError):
            chunk = None
        if chunk is None:
            chunk, data = readable(data, self._surrogates.mark)
        if chunk is None:
            self.skipped += not data.startswith(b"[DONE]")
        elif chunk.error is not ABSENT:
            self._answer.fail(parse_error(200, {}, data), out)
        else:
            self._answer.chunk(chunk, data, out)


def readable(data: bytes, mend: Callable[[bytes], bytes] = replace_lone_surrogates) -> tuple[GeminiChunk | None, bytes]:
    """The chunk, or None where it cannot be decoded, and its text. `mend` takes care of split surrogate pairs."""
    if not data.isascii():
        data = data.decode("utf-8", "replace").encode()
    try:
        return decode_chunk(data), data
    except (msgspec.DecodeError, RecursionError):
        data = mend(data)
    try:
        return decode_chunk(data), data
    except (msgspec.DecodeError, RecursionError):
        return None, data
