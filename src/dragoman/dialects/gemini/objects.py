"""A JSON array, or objects one after the other, as bytes in any cut to the objects: a Gemini stream without SSE."""

from __future__ import annotations

import re

from dragoman.wire.sse import LIMIT

_TOKEN = re.compile(rb'[{}"\\]')


class ObjectDecoder:
    """Splits at the outermost braces. Whatever stands between objects is passed over."""

    __slots__ = ("_depth", "_escaped", "_held", "_quoted", "_scanned", "limit", "overflowed")

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.overflowed = False
        self._held = bytearray()
        self._scanned = 0
        self._depth = 0
        self._quoted = False
        self._escaped = -1

    def feed(self, chunk: bytes) -> list[bytes]:
        """The objects that are complete with this chunk."""
        if self.overflowed:
            return []
        self._held += chunk
        held = bytes(self._held)
        objects: list[bytes] = []
        start = 0
        for token in _TOKEN.finditer(held, self._scanned):
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
                    objects.append(held[start : at + 1])
                    start = at + 1
            elif sign == b'"' and self._depth:
                self._quoted = True
        self._keep(held, start)
        return objects

    def _keep(self, held: bytes, start: int) -> None:
        """Hold the unfinished object alone."""
        if not self._depth:
            start = len(held)
        self._held = bytearray(held[start:])
        self._scanned = len(self._held)
        self._escaped -= start
        if len(self._held) > self.limit:
            self.overflowed = True
            self._held.clear()
