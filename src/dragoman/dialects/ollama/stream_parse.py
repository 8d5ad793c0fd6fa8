"""Bytes of an Ollama stream to events: one JSON object a line."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.conversation.events import Event, Failed, Stopped
from dragoman.conversation.parts import Origin
from dragoman.dialects.ollama.answer_events import OllamaAnswerParser, OllamaChunk, decode_chunk
from dragoman.dialects.ollama.errors import parse_error
from dragoman.dialects.parsing import FRAME_TOO_LONG
from dragoman.dialects.raw_json import ABSENT, UNREADABLE, valid_utf8
from dragoman.dialects.split_surrogates import SurrogateMender
from dragoman.wire.json_reader import replace_lone_surrogates
from dragoman.wire.ndjson import NdjsonDecoder


class OllamaStreamParser:
    """Lines of a stream. It never raises; `skipped` counts the lines that it could not decode."""

    __slots__ = ("_answer", "_lines", "_surrogates", "skipped")

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        self._lines = NdjsonDecoder()
        self._answer = OllamaAnswerParser(seed)
        self._surrogates = SurrogateMender()
        self.skipped = 0

    def feed(self, data: bytes) -> list[Event]:
        out: list[Event] = []
        for line in self._lines.feed(data):
            out += self._take(line)
        if self._lines.overflowed and not self._answer.over:
            self._answer.fail(FRAME_TOO_LONG, out)
        return out

    def close(self) -> list[Event]:
        out: list[Event] = []
        for line in self._lines.close():
            out += self._take(line)
        self._answer.finish(out)
        return out

    def _take(self, line: bytes) -> list[Event]:
        out: list[Event] = []
        if self._answer.over:
            return out
        chunk, text = readable(line, self._surrogates.mark)
        if chunk is None:
            self.skipped += 1
        elif chunk.error is not ABSENT:
            self._answer.fail(parse_error(200, {}, text), out)
        else:
            self._answer.chunk(chunk, text, out)
        return self._completed(out) if self._surrogates.found else out

    def _completed(self, out: list[Event]) -> list[Event]:
        """Half a pair at the very end of a text comes before the events that end the answer."""
        self._surrogates.mend(out, 0)
        if not self._answer.over:
            return out
        halves: list[Event] = []
        self._surrogates.flush(halves)
        at = next((place for place, event in enumerate(out) if isinstance(event, Stopped | Failed)), len(out))
        return [*out[:at], *halves, *out[at:]]


def readable(data: bytes, mend: Callable[[bytes], bytes] = replace_lone_surrogates) -> tuple[OllamaChunk | None, bytes]:
    """The chunk, or None where it cannot be decoded, and its text. `mend` takes care of split surrogate pairs."""
    if not data.isascii():
        data = valid_utf8(data)
    for text in (data, mend(data)):
        try:
            return decode_chunk(text), text
        except UNREADABLE:
            continue
    return None, data
