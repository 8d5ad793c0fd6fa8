"""Media in words. Answers of some dialects have no place for a picture or a sound: a link that holds the bytes tells
it.

Clients send it back as words of the model's. As words a picture of a megabyte is a million tokens, which no model
takes, and nobody sees the picture. So such a link is read as what it holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Inline, Json, Media, MediaKind, Part, Text

LONG = 1 << 10
"""The bytes of a text in which links are looked for. A shorter one costs no more than other words."""
LINK_END = b'")"'
_MARK = b"](data:"
_TYPE = r"[\w.+-]{1,64}/[\w.+-]{1,64}(?:;[\w.+-]{1,64}=[\w.+-]{1,64}){0,4}"
_find_links = re.compile(
    rf"(?<!!)\[(image|audio|document|video)\]\(data:({_TYPE}|);base64,([A-Za-z0-9+/]++={{0,2}})\)\n*+"
).finditer


def link_head(kind: MediaKind, media_type: str) -> Json:
    """What stands before the bytes, as a literal."""
    return quote(f"[{kind.value}](data:{media_type};base64,")


def parse_links(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts of a turn of the model's, with the media that its texts hold."""
    return tuple([one for part in parts for one in (_split(part) if _may_hold_links(part) else (part,))])


def _may_hold_links(part: Part) -> bool:
    return type(part) is Text and len(part.literal) > LONG and part.signature is None and _MARK in part.literal


def _split(part: Part) -> Iterator[Part]:
    """The words and the media of a text. What stands beside a text stays at its last part."""
    assert isinstance(part, Text)
    words, at, pieces = part.text, 0, list[Part]()
    for found in _find_links(words):
        kind, media_type, data = found.groups()
        if found.start() > at:
            pieces.append(Text(quote(words[at : found.start()])))
        pieces.append(Media(MediaKind(kind), Inline(media_type, quote(data))))
        at = found.end()
    if not pieces:
        return iter((part,))
    if at < len(words):
        pieces.append(Text(quote(words[at:])))
    return iter([*pieces[:-1], replace(pieces[-1], hint=part.hint, extras=part.extras)])
