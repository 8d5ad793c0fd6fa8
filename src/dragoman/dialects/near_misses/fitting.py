"""Whether a value fits a schema, as a decoder of that schema finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from msgspec import Meta

from dragoman.conversation.parts import Json
from dragoman.dialects.raw_json import UNREADABLE

BareBytes = Annotated[str, Meta(pattern=r"\A(?!data:)")]
"""Bytes in base64, and no data URL in their place."""


def fits(decode: Callable[[Json], object], raw: Json) -> bool:
    """Whether the decoder takes the value."""
    try:
        decode(raw)
    except UNREADABLE:
        return False
    return True
