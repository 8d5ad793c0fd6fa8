"""AWS's binary event stream, written."""

from __future__ import annotations

import struct
from typing import Any
from zlib import crc32

from dragoman.emulators.wire import make_id, render_json

_PADDING = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def render_event(kind: str, payload: dict[str, Any]) -> bytes:
    """An event. Bedrock adds padding of varying length to each, which clients must ignore."""
    size = len(make_id("", 1, kind, payload)) + sum(render_json(payload)) % 60
    padded = {**payload, "p": _PADDING[:size]}
    return _frame({":event-type": kind, ":content-type": "application/json", ":message-type": "event"}, padded)


def render_exception(kind: str, payload: dict[str, Any]) -> bytes:
    """The frame that ends a stream with an error."""
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return _frame(headers, payload)


def _frame(headers: dict[str, str], payload: dict[str, Any]) -> bytes:
    block = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    body = render_json(payload)
    prelude = struct.pack(">II", len(block) + len(body) + 16, len(block))
    head = prelude + struct.pack(">I", crc32(prelude)) + block + body
    return head + struct.pack(">I", crc32(head))
