"""Which media a base64 text holds. Ollama's requests do not name the type of their media: the bytes begin with it."""

from __future__ import annotations

from base64 import b64decode

from dragoman.conversation.parts import Json, MediaKind

_HEAD = 24
"""Characters of base64 that are looked at: eighteen bytes."""
_BEGINNINGS = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)
_CONTAINED = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
"""What a RIFF file holds."""
_USUAL = "image/png"


def media_type_of(literal: Json) -> str:
    """The media type of a JSON string of base64. Where nothing tells, it is a picture."""
    try:
        head = b64decode(literal[1:-1][:_HEAD].rstrip(b"=") + b"==")
    except ValueError:
        return _USUAL
    if head[:4] == b"RIFF":
        return _CONTAINED.get(head[8:12], _USUAL)
    return next((media_type for beginning, media_type in _BEGINNINGS if head.startswith(beginning)), _USUAL)


def kind_of(media_type: str) -> MediaKind:
    return MediaKind.AUDIO if media_type.startswith("audio/") else MediaKind.IMAGE
