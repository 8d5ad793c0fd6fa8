"""Compressed bodies, opened a bounded piece at a time."""

from __future__ import annotations

import zlib

from dragoman.upstream.transport.failures import BrokenResponse, UnknownEncoding

PIECE = 65536
_GZIP, _ZLIB, _RAW = 31, 15, -15


class Inflater:
    """Turns gzip or deflate back into plain bytes, never more than `PIECE` of them at once.

    A kilobyte can unfold into a gigabyte; a reader with a limit meets that limit long before.
    """

    def __init__(self, where: str, encoding: str) -> None:
        self.where = where
        self.encoding = encoding.strip().lower()
        if self.encoding not in ("gzip", "x-gzip", "deflate"):
            raise UnknownEncoding(
                where,
                f"the answer is encoded as {self.encoding!r}",
                "Only gzip and deflate are read; ask for identity in accept-encoding",
            )
        self._stream: zlib._Decompress | None = None
        self._pending = b""
        self._full = False

    def feed(self, data: bytes) -> None:
        """Add compressed bytes."""
        self._pending = self._pending + data if self._pending else data

    def piece(self) -> bytes:
        """The next plain bytes; empty when more input is needed."""
        while self._pending or self._full:
            plain = self._unfold()
            if plain:
                return plain
        return b""

    def finish(self) -> None:
        """Complain if the input stopped in the middle."""
        if self._stream is not None and not self._stream.eof:
            raise self._broken("the compressed body ends too early")

    def _unfold(self) -> bytes:
        stream = self._stream
        if stream is None or stream.eof:  # a body may be several gzip members in a row
            stream = self._stream = zlib.decompressobj(self._window())
        try:
            plain = stream.decompress(self._pending, PIECE)
        except zlib.error as error:
            raise self._broken(f"the {self.encoding} body is damaged ({error})") from None
        self._pending = stream.unused_data if stream.eof else stream.unconsumed_tail
        # A full piece may have left output inside zlib although all its input is used up.
        self._full = len(plain) == PIECE and not stream.eof
        return plain

    def _window(self) -> int:
        """Servers send "deflate" with and without its zlib envelope; the first byte tells them apart."""
        if self.encoding != "deflate":
            return _GZIP
        return _ZLIB if self._pending[0] & 0x0F == 8 else _RAW

    def _broken(self, what: str) -> BrokenResponse:
        return BrokenResponse(self.where, what, "Try again, or ask for identity in accept-encoding")
