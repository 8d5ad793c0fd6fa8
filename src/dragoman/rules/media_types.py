"""The usual names of media types. People write `image/jpg`, capitals, and parameters that no provider asks for."""

from __future__ import annotations

_ALIASES = {
    "image/jpg": "image/jpeg",
    "image/pjpeg": "image/jpeg",
    "image/x-png": "image/png",
    "application/x-pdf": "application/pdf",
}


def usual_type(media_type: str) -> str:
    """The registered name of a type, in small letters and without parameters."""
    bare = media_type.partition(";")[0].strip().lower()
    return _ALIASES.get(bare, bare)
