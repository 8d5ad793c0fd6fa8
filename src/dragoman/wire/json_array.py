"""The framing of a Gemini stream without server-sent events: the objects of a JSON array, from bytes in any cut."""

from __future__ import annotations

import re

import msgspec

from dragoman.wire.sse import LIMIT

_TOKEN = re.compile(rb'[{}"\\]')


class ObjectDecoder(msgspec.Struct, eq=False):
    """Splits at the outermost braces and skips everything between objects."""

    limit: int = LIMIT
    overflowed: bool = False
    _held: list[bytes] = []
    _size: int = 0
    _depth: int = 0
    _quoted: bool = False
    _escaped: int = -1

    def feed(self, chunk: bytes) -> list[bytes]:
        """The objects that are complete with this chunk. Every byte is looked at once, whatever the cut."""
        if self.overflowed:
            return []
        objects: list[bytes] = []
        start = 0
        for token in _TOKEN.finditer(chunk):
            at, sign = token.start(), token[0]
            if at == self._escaped:
                continue
            if self._quoted:
                if sign == b"\\":
                    self._escaped = at + 1
                self._quoted = sign != b'"'
            elif sign == b"{":
                start = start if self._depth else at
                self._depth += 1
            elif sign == b"}" and self._depth:
                self._depth -= 1
                if not self._depth:
                    objects.append(b"".join([*self._held, chunk[start : at + 1]]))
                    self._held, self._size = [], 0
            elif sign == b'"' and self._depth:
                self._quoted = True
        # An escape at the very end continues in the next chunk.
        self._escaped = 0 if self._escaped == len(chunk) else -1
        self._keep(chunk[start:] if self._depth else b"")
        return objects

    def _keep(self, rest: bytes) -> None:
        """Hold the beginning of an object that is not complete."""
        if rest:
            self._held.append(rest)
            self._size += len(rest)
        if self._size > self.limit:
            self.overflowed = True
            self._held = []
