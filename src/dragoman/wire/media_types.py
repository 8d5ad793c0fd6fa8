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
_BRANDS = {
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"avif": "image/avif",
    b"M4A ": "audio/mp4",
}
"""What is in the container of MP4 and is no film."""
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


_FILM_SITES = ("https://www.youtube.com/", "https://youtube.com/", "https://m.youtube.com/", "https://youtu.be/")
"""What the addresses of films begin with that some models watch there. The address leads to a page, not to the film."""


def usual_type(media_type: str) -> str:
    """The registered name of a type. People write `image/jpg`, `png`, capitals, and parameters that no provider asks
    for."""
    bare = media_type.partition(";")[0].strip().lower()
    return _ALIASES.get(bare) or _ENDINGS.get(bare, bare)


def find_type(source: Inline | Remote) -> str:
    """The type that media are given under, or that their bytes or their URL show; empty if nothing tells.

    The bytes of a picture know better than its name: people rename files.
    """
    named = usual_type(source.media_type)
    if isinstance(source, Remote):
        return named if named not in _NAMELESS else type_of_url(source.url)
    if named not in _NAMELESS and not _is_seen(named):
        return named
    try:
        found = recognise(b64decode(source.data[1:-1][:_HEAD], validate=True))
        if named not in _NAMELESS:
            return found if _is_seen(found) else named
        return found or ("text/plain" if named and _is_text(b64decode(source.data[1:-1])) else "")
    except binascii.Error:
        return "" if named in _NAMELESS else named


def _is_seen(media_type: str) -> bool:
    """Whether the first bytes of such media tell it from others for certain."""
    return media_type.startswith("image/") or media_type == "application/pdf"


def _is_text(content: bytes) -> bool:
    """Whether the bytes are a text: UTF-8 without the control characters that files of other kinds begin with."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return False
    return bool(text) and _CONTROL.search(text) is None


def type_of_url(url: str) -> str:
    """The media type by the ending of a URL, or by its site; empty if it is unknown."""
    if url.startswith(_FILM_SITES):
        return "video/mp4"
    return _ENDINGS.get(url.partition("?")[0].rpartition(".")[2].lower(), "")


def recognise(content: bytes) -> str:
    """The media type by the first bytes."""
    if content[:4] == b"RIFF":
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(content[8:12], "")
    if content[4:8] == b"ftyp":
        return _BRANDS.get(content[8:12], "video/mp4")
    return next((name for magic, name in _MAGIC if content.startswith(magic)), "")
