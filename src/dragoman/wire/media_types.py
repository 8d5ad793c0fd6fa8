"""What media are: the usual names of their types, and what their first bytes or the ending of their URL tell."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode

from dragoman.conversation.parts import Inline, Remote

_ALIASES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "application/x-pdf": "application/pdf",
}
UNTOLD = "application/octet-stream"
_NAMELESS = ("", UNTOLD, "binary/octet-stream")
"""Types that say nothing."""
_HEAD = 16
"""Characters of base64 for the 12 bytes that tell a type."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_MAGIC = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
)
_ENDINGS = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "pdf": "application/pdf",
}


def usual_type(media_type: str) -> str:
    """The registered name of a type. People write `image/jpg`, `png`, capitals, and parameters that no provider asks
    for."""
    bare = media_type.partition(";")[0].strip().lower()
    return _ALIASES.get(bare) or _ENDINGS.get(bare, bare)


def find_type(source: Inline | Remote) -> str:
    """The type that media are given under, or that their bytes or their URL show; empty if nothing tells."""
    named = usual_type(source.media_type)
    if named not in _NAMELESS:
        return named
    if isinstance(source, Remote):
        return type_of_url(source.url)
    try:
        found = recognise(b64decode(source.data[1:-1][:_HEAD], validate=True))
        return found or ("text/plain" if named and _is_text(b64decode(source.data[1:-1])) else "")
    except binascii.Error:
        return ""


def _is_text(content: bytes) -> bool:
    """Whether the bytes are a text: UTF-8 without the control characters that files of other kinds begin with."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return False
    return bool(text) and _CONTROL.search(text) is None


def type_of_url(url: str) -> str:
    """The media type by the ending of a URL; empty if it is unknown."""
    return _ENDINGS.get(url.partition("?")[0].rpartition(".")[2].lower(), "")


def recognise(content: bytes) -> str:
    """The media type by the first bytes."""
    if content[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(content[8:12], "")
    if content[4:8] == b"ftyp":
        return "video/mp4"
    return next((name for magic, name in _MAGIC if content.startswith(magic)), "")
