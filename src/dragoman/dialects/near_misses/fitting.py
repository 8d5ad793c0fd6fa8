"""Whether a value fits a schema, as a decoder of that schema finds."""

from __future__ import annotations

from collections.abc import Callable

from dragoman.conversation.parts import Json
from dragoman.dialects.raw_json import UNREADABLE


def fits(decode: Callable[[Json], object], raw: Json) -> bool:
    """Whether the decoder takes the value."""
    try:
        decode(raw)
    except UNREADABLE:
        return False
    return True
