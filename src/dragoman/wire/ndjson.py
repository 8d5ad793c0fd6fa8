"""One JSON value per line, as Ollama streams: lines from bytes in chunks of any size."""

from __future__ import annotations

from dragoman.wire.sse import BOM, LIMIT


class NdjsonDecoder:
    """Decodes bytes into non-empty lines. It sets `overflowed` if a line exceeds the limit."""

    __slots__ = ("_tail", "limit", "overflowed")

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.overflowed = False
        self._tail = bytearray()

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
        return [line for line in map(_strip, lines) if line]

    def close(self) -> list[bytes]:
        """The last line, if it has no line end."""
        rest = _strip(bytes(self._tail))
        self._tail.clear()
        return [rest] if rest else []


def _strip(line: bytes) -> bytes:
    return line.removeprefix(BOM).strip()


def line(json: bytes) -> bytes:
    """A value as its line."""
    return json + b"\n"
