"""The lines of a relayed stream of one JSON value a line: whole, readable, and without our secrets.

As with frames of server-sent events, a line goes out whole, so that no cut of the bytes hides a secret, and a stream
that breaks off leaves no half line before our own last one. A line that is no JSON object is left out and counted; half
a surrogate pair in its text waits for the other half.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from dragoman.dialects.dialect import ChunkRewrite
from dragoman.dialects.shared.split_surrogates import HalfPairs
from dragoman.wire.ndjson import strip_frame, unwrap_line

_MOST = 64 * 1024
"""A longer line holds a picture rather than an error, and is passed on as it comes."""
_check_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_UNREADABLE = (msgspec.DecodeError, RecursionError, UnicodeDecodeError)


class RelayLines(msgspec.Struct, eq=False):
    """Between the provider's bytes and the client. `redact` takes secrets out, `rewrite` writes lines that clients
    misread, `skipped` counts unreadable lines."""

    _redact: Callable[[bytes], bytes] | None
    _rewrite: ChunkRewrite | None = None
    _halves: HalfPairs = msgspec.field(default_factory=HalfPairs)
    _held: bytes = b""
    _open: bool = False
    skipped: int = 0

    def feed(self, data: bytes) -> bytes:
        """The lines that are complete."""
        data, out = self._held + data, b""
        if self._open:
            at = data.find(b"\n") + 1 or len(data)
            self._open = data[at - 1 : at] != b"\n"
            out, data = self._without_secrets(data[:at]), data[at:]
        at = data.rfind(b"\n") + 1
        out += self._clean(data[:at])
        self._held = data[at:]
        if len(self._held) > _MOST:
            out += self._without_secrets(strip_frame(self._held))
            self._held, self._open = b"", True
        return out

    def close(self) -> bytes:
        """The rest of a stream that ended properly, if without its last line break."""
        held, self._held = self._held, b""
        return self._clean(held)

    def drop(self) -> bytes:
        """The stream broke off: forget the half line that is held, and end the one that is half out."""
        self._held = b""
        return b"\n" if self._open else b""

    def _clean(self, data: bytes) -> bytes:
        lines = list(filter(None, map(_unwrap, self._without_secrets(data).splitlines(keepends=True))))
        readable = [self._write_line(read) for line in lines if (read := self._readable(line))]
        self.skipped += len(lines) - len(readable)
        return b"".join(readable)

    def _readable(self, line: bytes) -> bytes:
        """The line, repaired if need be; nothing if it is no JSON object."""
        if _is_readable(line):
            return line
        joined = self._halves.join(line)
        return joined if _is_readable(joined) else b""

    def _write_line(self, line: bytes) -> bytes:
        if self._rewrite is None or not self._rewrite.may_be_misread(line):
            return line
        chunk = msgspec.json.decode(line)
        pieces = self._rewrite.pieces(chunk)
        return line if pieces == [chunk] else b"".join([msgspec.json.encode(piece) + b"\n" for piece in pieces])

    def _without_secrets(self, data: bytes) -> bytes:
        return data if self._redact is None else self._redact(data)


def _unwrap(line: bytes) -> bytes:
    """A line as it goes out: as it is, unless more than its JSON stands there."""
    json = unwrap_line(line)
    if not json:
        return b""
    return line if line.startswith(json) else json + b"\n"


def _is_readable(line: bytes) -> bool:
    try:
        _check_object(line)
        line.decode()
    except _UNREADABLE:
        return False
    return True
