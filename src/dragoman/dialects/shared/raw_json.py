"""JSON that is opened only as far as needed. Texts stay raw: they are copied, not decoded.

A member that is absent is `ABSENT`, which is empty; null is `b"null"`.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

ABSENT = Raw()
NOTHING = (b"", b"null")
"""A member that is absent or null."""
UNREADABLE = (msgspec.DecodeError, RecursionError)
"""What the decoders raise. An answer is foreign text, so they are always caught."""

decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
decode_items = msgspec.json.Decoder(list[Raw]).decode
decode_object = msgspec.json.Decoder(dict[str, Any]).decode
encode = msgspec.json.Encoder().encode

_decode_text = msgspec.json.Decoder(str).decode


def text_in(raw: Raw | bytes | None) -> str:
    """The text of a string; empty where the value is something else."""
    literal = bytes(raw) if raw is not None else b""
    return _decode_text(literal) if literal[:1] == b'"' else ""


def valid_utf8(data: bytes) -> bytes:
    """Bytes that are UTF-8, which decoders do not check where they skip over raw JSON."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data
