"""The smallest image, sound and document that servers take for real ones, as data URLs or base64."""

from __future__ import annotations

import base64
import struct
import zlib

_SIDE = 32
_RATE = 8000


def _png() -> bytes:
    """A grey square. Some models refuse pictures of less than 28 pixels a side."""
    head = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\x00" + b"\x80" * _SIDE) * _SIDE, 9)
    chunks = ((b"IHDR", head), (b"IDAT", rows), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, content) for kind, content in chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _wav() -> bytes:
    """A twentieth of a second of silence."""
    sound = b"\x80" * (_RATE // 20)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, _RATE, _RATE, 1, 8)
    content = b"WAVE" + form + struct.pack("<4sI", b"data", len(sound)) + sound
    return struct.pack("<4sI", b"RIFF", len(content)) + content


_PDF = (
    b"%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n"
    b"3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>endobj\n"
    b"trailer<</Root 1 0 R>>\n%%EOF\n"
)


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


IMAGE = f"data:image/png;base64,{_base64(_png())}"
SOUND = _base64(_wav())
DOCUMENT = f"data:application/pdf;base64,{_base64(_PDF)}"


def base64_of(url: str) -> str:
    """What a data URL holds, still in base64."""
    return url.partition(",")[2]
