"""What the choices of a `Reply` are made of."""

from dragoman.conversation.parts import (
    Call,
    Citation,
    Inline,
    Media,
    MediaKind,
    Opaque,
    Origin,
    Part,
    Plain,
    Reasoning,
    Refusal,
    Remote,
    Stored,
    Text,
)

__all__ = [
    "Call",
    "Citation",
    "Inline",
    "Media",
    "MediaKind",
    "Opaque",
    "Origin",
    "Part",
    "Plain",
    "Reasoning",
    "Refusal",
    "Remote",
    "Stored",
    "Text",
]
