"""Secrets of ours in a stream that is relayed: a provider may repeat the key it was sent, in an error above all.

Frames go out whole. A client can do nothing with a part of one, and so no cut of the bytes hides a secret, and a stream
that breaks off leaves no half frame before our own last words.
"""

from __future__ import annotations

from collections.abc import Callable

_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")
_MOST = 64 * 1024
"""A longer frame holds a picture rather than an error, and is passed on as it comes."""


class StreamRedactor:
    """Between the provider's bytes and the client. Costs two looks at a chunk that ends where a frame does."""

    __slots__ = ("_clean", "_held", "_open")

    def __init__(self, clean: Callable[[bytes], bytes]) -> None:
        self._clean = clean
        self._held = b""
        self._open = False

    def feed(self, data: bytes) -> bytes:
        """The frames that are complete."""
        if not self._held and data.endswith(_ENDS):
            self._open = False
            return self._clean(data) if b"error" in data else data
        data = self._held + data
        at = max(data.rfind(end) + len(end) if end in data else 0 for end in _ENDS)
        self._open = self._open and not at
        if len(data) - at > _MOST:
            at, self._open = len(data), True
        self._held = data[at:]
        return self._said(data[:at])

    def close(self) -> bytes:
        """The stream ended as it should, if without its last line break."""
        held, self._held = self._held, b""
        return self._said(held)

    def drop(self) -> bytes:
        """The stream broke off: what is left of a frame is of no use; what ends one that is half out."""
        self._held = b""
        return b"\n\n" if self._open else b""

    def _said(self, data: bytes) -> bytes:
        return self._clean(data) if b"error" in data else data
