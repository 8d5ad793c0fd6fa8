"""Decompress bodies in pieces of bounded size."""

from __future__ import annotations

import zlib

from dragoman.upstream.transport.failures import BrokenResponse, UnknownEncoding

PIECE = 65536
_GZIP, _ZLIB, _RAW = 31, 15, -15


class Inflater:
    """Decompresses gzip or deflate, at most `PIECE` bytes at once.

    A kilobyte can expand to a gigabyte. A reader with a size limit stops long before that.
    """

    def __init__(self, where: str, encoding: str) -> None:
        self.where = where
        self.encoding = encoding.strip().lower()
        if self.encoding not in ("gzip", "x-gzip", "deflate"):
            raise UnknownEncoding(
                where,
                f"the answer is encoded as {self.encoding!r}",
                "Only gzip and deflate are supported; send accept-encoding: identity",
            )
        self._stream: zlib._Decompress | None = None
        self._pending = b""
        self._has_more_output = False

    def feed(self, data: bytes) -> None:
        """Add compressed bytes."""
        self._pending = self._pending + data if self._pending else data

    def piece(self) -> bytes:
        """The next decompressed bytes; empty if more input is needed."""
        while self._pending or self._has_more_output:
            plain = self._decompress()
            if plain:
                return plain
        return b""

    def finish(self) -> None:
        """Raise if the input is incomplete."""
        if self._stream is not None and not self._stream.eof:
            raise self._broken("the compressed body is incomplete")

    def _decompress(self) -> bytes:
        stream = self._stream
        if stream is None or stream.eof:  # a body may be several gzip members in a row
            stream = self._stream = zlib.decompressobj(self._window())
        try:
            plain = stream.decompress(self._pending, PIECE)
        except zlib.error as error:
            raise self._broken(f"the {self.encoding} body is damaged ({error})") from None
        self._pending = stream.unused_data if stream.eof else stream.unconsumed_tail
        # After a full piece zlib may hold more output although it has consumed all input.
        self._has_more_output = len(plain) == PIECE and not stream.eof
        return plain

    def _window(self) -> int:
        """Servers send "deflate" with and without a zlib header; the first byte shows which."""
        if self.encoding != "deflate":
            return _GZIP
        return _ZLIB if self._pending[0] & 0x0F == 8 else _RAW

    def _broken(self, what: str) -> BrokenResponse:
        return BrokenResponse(self.where, what, "Try again, or send accept-encoding: identity")
