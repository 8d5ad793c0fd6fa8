"""A picture of a file or a URL, as a part of a Chat message."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

from dragoman.errors import OptionError

MAX_BYTES = 20 << 20
"""No provider takes a larger picture."""

_BEGINNINGS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF8": "image/gif",
}


def image_part(place: str) -> dict[str, Any]:
    """The part. Raises OptionError if there is no picture."""
    url = place if place.startswith(("http://", "https://")) else _data_url(place)
    return {"type": "image_url", "image_url": {"url": url}}


def _data_url(place: str) -> str:
    if not place:
        raise OptionError("names no picture", at="/image", hint="write /image PATH")
    path = Path(place).expanduser()
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as fault:
        raise OptionError(f"cannot be read: {fault.strerror}", at=place) from None
    if len(content) > MAX_BYTES:
        raise OptionError(f"is larger than {MAX_BYTES >> 20} MB", at=place)
    return f"data:{_media_type(content, place)};base64,{b64encode(content).decode()}"


def _media_type(content: bytes, place: str) -> str:
    """By the first bytes: names lie."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    for beginning, media_type in _BEGINNINGS.items():
        if content.startswith(beginning):
            return media_type
    raise OptionError("is no picture in PNG, JPEG, GIF or WebP", at=place)
