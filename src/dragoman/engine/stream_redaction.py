"""Secrets of ours in what a provider says: it may repeat the key that it was sent, in an error above all.

Frames of a relayed stream go out whole. A client can do nothing with a part of one, so no cut of the bytes hides a
secret, and a stream that breaks off leaves no half frame before our own last event.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dragoman.conversation.failures import Failure

_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")
_MOST = 64 * 1024
"""A longer frame holds a picture rather than an error, and is passed on as it comes."""


class Redaction(msgspec.Struct, frozen=True):
    """Two pure functions that take our secrets out: `text` out of a provider's words, `data` out of relayed bytes."""

    text: Callable[[str], str]
    data: Callable[[bytes], bytes]

    def failure(self, failure: Failure) -> Failure:
        """A failure as a client may see it."""
        message = self.text(failure.message)
        return failure if message == failure.message else msgspec.structs.replace(failure, message=message)


class StreamRedactor:
    """Between the provider's bytes and the client. Costs two looks at a chunk that ends where a frame does."""

    __slots__ = ("_held", "_open", "_redact")

    def __init__(self, redact: Callable[[bytes], bytes]) -> None:
        self._redact = redact
        self._held = b""
        self._open = False

    def feed(self, data: bytes) -> bytes:
        """The frames that are complete."""
        if not self._held and data.endswith(_ENDS):
            self._open = False
            return self._redact(data) if b"error" in data else data
        data = self._held + data
        at = max(data.rfind(end) + len(end) if end in data else 0 for end in _ENDS)
        self._open = self._open and not at
        if len(data) - at > _MOST:
            at, self._open = len(data), True
        self._held = data[at:]
        return self._clean(data[:at])

    def close(self) -> bytes:
        """The rest of a stream that ended properly, if without its last line break."""
        held, self._held = self._held, b""
        return self._clean(held)

    def drop(self) -> bytes:
        """The stream broke off: forget the half frame that is held, and end the one that is half out."""
        self._held = b""
        return b"\n\n" if self._open else b""

    def _clean(self, data: bytes) -> bytes:
        return self._redact(data) if b"error" in data else data
