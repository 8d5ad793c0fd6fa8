"""Members that a Chat stream and a whole Chat answer share."""

from __future__ import annotations

from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Extras, Json, MediaKind, Origin
from dragoman.dialects.citations import page_of
from dragoman.dialects.openai_chat import NAME
from dragoman.dialects.ownership import own_members
from dragoman.dialects.raw_json import encode

_PLAIN_REASONING = frozenset({"reasoning_content", "reasoning", "think"})


def render_annotation(citation: Json, origin: Origin) -> Json | None:
    """A citation as an annotation, or None where Chat has no form for it."""
    if origin.dialect == NAME:
        return citation
    page = page_of(citation)
    if page is None:
        return None
    cited = {"start_index": page.start, "end_index": page.end, "url": page.url, "title": page.title}
    return encode({"type": "url_citation", "url_citation": cited})


def render_media(
    kind: MediaKind, media_type: str, data: bytes, transcript: bytes | None, url: str, extras: Extras | None
) -> bytes:
    """The member of a message that holds a sound or a picture; empty for media that Chat has no member for."""
    if kind is MediaKind.AUDIO:
        words = b"" if transcript is None else b',"transcript":' + transcript
        return b'"audio":{"data":' + data + words + own_members(extras, NAME) + b"}"
    if kind is MediaKind.IMAGE:
        return b'"images":[' + render_image(media_type, data, url) + b"]"
    return b""


def render_image(media_type: str, data: bytes, url: str) -> bytes:
    literal = quote(url) if data == EMPTY else b'"data:' + media_type.encode() + b";base64," + data[1:]
    return b'{"type":"image_url","image_url":{"url":' + literal + b"}}"


def render_logprobs(tokens: Json | None) -> bytes:
    return b"null" if tokens is None else b'{"content":' + tokens + b',"refusal":null}'


def is_detailed(field: str) -> bool:
    """Whether reasoning is in `reasoning_details` too, so that it can come back: all but the plain spellings."""
    return field not in _PLAIN_REASONING


def reasoning_field(field: str) -> bytes:
    """The member that shows reasoning: `reasoning` beside details, else `reasoning_content`."""
    return b'"reasoning":' if field == "reasoning" or field.startswith("reasoning.") else b'"reasoning_content":'
