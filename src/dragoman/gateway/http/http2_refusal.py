"""The answer to a client that begins with HTTP/2: a refusal in its own frames.

AWS's SDK for JavaScript speaks HTTP/2 to Bedrock and never tries HTTP/1.1. It shows an answer of HTTP/1.1 as
"Protocol error", and the message of this one.
"""

from __future__ import annotations

import struct

import msgspec

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _SETTINGS, _GOAWAY = 0, 1, 4, 7
_END_STREAM, _END_HEADERS = 1, 4
_HTTP_1_1_REQUIRED = 13
_WHY = (
    "this server speaks HTTP/1.1; give the client a handler for it, which is NodeHttpHandler of"
    " @smithy/node-http-handler in AWS's SDK for JavaScript"
)


class Http2Opening:
    """The frames of a client, up to its first request."""

    def __init__(self) -> None:
        self._held = b""
        self._at = len(PREFACE)

    def refuse(self, data: bytes) -> bytes:
        """What the client is told once its first request is there; empty until then."""
        self._held += data
        while len(self._held) >= self._at + 9:
            high, low, kind, _, stream = struct.unpack_from(">BHBBI", self._held, self._at)
            if kind == _HEADERS:
                return render_refusal(stream & 0x7FFFFFFF)
            self._at += 9 + (high << 16 | low)
        return b""


def render_refusal(stream: int) -> bytes:
    """The status 505 with the reason, and the end of the connection."""
    body = msgspec.json.encode({"message": _WHY})
    head = _field(8, b"505") + _field(31, b"application/json")
    goaway = struct.pack(">II", stream, _HTTP_1_1_REQUIRED) + _WHY.encode()
    return b"".join(
        (
            _frame(_SETTINGS, 0, 0, b""),
            _frame(_HEADERS, _END_HEADERS, stream, head),
            _frame(_DATA, _END_STREAM, stream, body),
            _frame(_GOAWAY, 0, 0, goaway),
        )
    )


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return struct.pack(">BHBBI", 0, len(payload), kind, flags, stream) + payload


def _field(index: int, value: bytes) -> bytes:
    """A header field, not indexed, whose name is in HPACK's static table. A prefix of four bits ends at 15."""
    name = bytes((index,)) if index < 15 else bytes((15, index - 15))
    return name + bytes((len(value),)) + value
