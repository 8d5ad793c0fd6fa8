"""Media in an answer, for a dialect whose answers have none: a link that holds the bytes."""

from __future__ import annotations

from dragoman.conversation.literals import EMPTY, joined, quote
from dragoman.conversation.parts import MediaKind


def media_link(kind: MediaKind, media_type: str, content: bytes, url: str) -> list[bytes]:
    """The link as a literal, or nothing where there are neither bytes nor an address."""
    if url:
        return [quote(f"[{kind.value}]({url})")]
    if content == EMPTY:
        return []
    return [joined("", [link_head(kind, media_type), content, LINK_END])]


def link_head(kind: MediaKind, media_type: str) -> bytes:
    return quote(f"[{kind.value}](data:{media_type};base64,")


LINK_END = b'")"'
