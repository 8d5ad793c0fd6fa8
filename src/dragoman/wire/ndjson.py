"""One JSON value per line, as Ollama streams: lines from bytes in chunks of any size."""

from __future__ import annotations

import msgspec

from dragoman.wire.sse import BOM, LIMIT


class NdjsonDecoder(msgspec.Struct, eq=False):
    """Decodes bytes into non-empty lines. It sets `overflowed` if a line exceeds the limit."""

    limit: int = LIMIT
    overflowed: bool = False
    _tail: bytearray = msgspec.field(default_factory=bytearray)

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that are complete with this chunk."""
        if self.overflowed:
            return []
        self._tail += chunk
        lines: list[bytes] = []
        if b"\n" in chunk:
            *lines, rest = bytes(self._tail).split(b"\n")
            self._tail = bytearray(rest)
        if len(self._tail) > self.limit:
            self.overflowed = True
            self._tail.clear()
        return [line for line in map(unwrap_line, lines) if line]

    def close(self) -> list[bytes]:
        """The last line, if it has no line end."""
        rest = unwrap_line(bytes(self._tail))
        self._tail.clear()
        return [rest] if rest else []


_DATA = b"data:"
_SAYS_NOTHING = (b"event:", b"id:", b"retry:", b":", b"[DONE]")


def unwrap_line(line: bytes) -> bytes:
    """The JSON of a line, also of one that a server or a proxy wrote as the data of a server-sent event; empty for what
    else such an event has."""
    line = strip_frame(line).rstrip()
    return b"" if line.startswith(_SAYS_NOTHING) else line


def strip_frame(beginning: bytes) -> bytes:
    """The beginning of a line without what stands before its JSON."""
    return beginning.removeprefix(BOM).lstrip().removeprefix(_DATA).lstrip()


def line(json: bytes) -> bytes:
    """A value as its line."""
    return json + b"\n"
