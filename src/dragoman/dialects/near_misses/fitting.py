"""Whether a value fits a schema, as a decoder of that schema finds."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from dragoman.dialects.wire_schema import fits

__all__ = ["BareBytes", "fits"]

BareBytes = Annotated[str, Meta(pattern=r"\A(?!data:)")]
"""Bytes in base64, and no data URL in their place."""
