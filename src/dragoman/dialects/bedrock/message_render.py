"""Our messages to Converse messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Message
from dragoman.conversation.parts import (
    CacheHint,
    Call,
    Extras,
    Inline,
    Json,
    Media,
    MediaKind,
    Opaque,
    Part,
    Plain,
    Reasoning,
    Result,
    StateKind,
    Stored,
    Text,
)
from dragoman.dialects.bedrock import NAME
from dragoman.dialects.bedrock.message_parse import CACHE_POINT, FORMATS, HINTS, NO_TITLE
from dragoman.dialects.shared.ownership import end_object, own_block, plain_or_sealed, require_own
from dragoman.dialects.shared.rendering import Pieces, leading_systems, system_message
from dragoman.errors import Unrepresentable

_HEADS = {
    USER: b',{"role":"user","content":',
    ASSISTANT: b',{"role":"assistant","content":',
    SYSTEM: b',{"role":"system","content":',
    TOOL: b',{"role":"user","content":',
}


def render_messages(messages: Sequence[Message], start: int, stop: int, out: Pieces) -> None:
    """messages[start:stop] as items. Results and the user's text after them are one turn.

    Leading system messages belong to the member `system` (`render_system`), unless they were inline.
    """
    index = max(start, leading_systems(messages))
    while index < stop:
        message = messages[index]
        index += 1
        parts = message.parts
        if message.role is DEVELOPER:
            raise Unrepresentable("a developer message in a Bedrock request", item=message.at)
        if message.role is TOOL and index < stop and messages[index].role is USER:
            parts += messages[index].parts
            index += 1
        _render_message(message, parts, out)


def _render_message(message: Message, parts: Sequence[Part], out: Pieces) -> None:
    out.append(b',{"role":%b,"content":' % quote(message.role_text) if message.role_text else _HEADS[message.role])
    _render_blocks(parts, out)
    end_object(message.extras, NAME, out)


def render_system(messages: Sequence[Message]) -> Json | None:
    """The `system` field: a list of blocks."""
    message = system_message(messages)
    return None if message is None else render_blocks(message.parts)


def render_blocks(parts: Sequence[Part]) -> bytes:
    out: Pieces = []
    _render_blocks(parts, out)
    return b"".join(out)


def _render_blocks(parts: Sequence[Part], out: Pieces) -> None:
    mark = b"["
    for part in parts:
        if part.hint is None or not isinstance(part, Opaque) or part.kind != CACHE_POINT:
            out.append(mark)
            render_block(part, out)
            mark = b","
        if part.hint is not None:
            out += (mark, render_hint(part.hint))
            mark = b","
    out.append(b"]" if parts else b"[]")


def render_hint(hint: CacheHint) -> Json:
    """The block that asks for a cache up to here."""
    found = HINTS.get(hint.json)
    if found is not None:
        return found
    asked = msgspec.json.decode(hint.json)
    ttl = asked.get("ttl") if isinstance(asked, dict) else None
    return HINTS.get(b'{"type":"ephemeral","ttl":%b}' % msgspec.json.encode(ttl), HINTS[b'{"type":"ephemeral"}'])


def render_block(part: Part, out: Pieces) -> None:
    kind = type(part)
    if kind is Text and part.extras is None:
        out += (b'{"text":', part.literal, b"}")  # type: ignore[attr-defined]
        return
    if kind is Opaque:
        out.append(own_block(part, NAME))  # type: ignore[arg-type]
        return
    render = RENDERERS.get(kind)
    if render is None:
        raise Unrepresentable(f"a part of kind {kind.__name__} in Bedrock content")
    out.append(b"{")
    render(part, out)
    out.append(b"}")


def _render_text(part: Text, out: Pieces) -> None:
    """A text with its sources."""
    fields = require_own(part.extras, NAME)
    out += (b'"citationsContent":{"content":[{"text":', part.literal, b"}]")
    for key, value in fields.items():
        out += (b",", quote(key), b":", value)
    out.append(b"}")


def _render_call(part: Call, out: Pieces) -> None:
    if part.arguments[:1] != b"{":
        raise Unrepresentable(f"arguments of {part.name} that are no object")
    out += (b'"toolUse":{"toolUseId":', quote(part.id), b',"name":', quote(part.name), b',"input":', part.arguments)
    end_object(part.extras, NAME, out)


def _render_result(part: Result, out: Pieces) -> None:
    out += (b'"toolResult":{"toolUseId":', quote(part.call_id), b',"content":')
    _render_blocks(() if _says_nothing(part.parts) else part.parts, out)
    if part.is_error:
        out.append(b',"status":"error"')
    end_object(part.extras, NAME, out)


def _says_nothing(parts: Sequence[Part]) -> bool:
    """Whether a result is one empty text, which says the same as no content. Bedrock refuses empty texts."""
    return len(parts) == 1 and type(parts[0]) is Text and parts[0].literal == EMPTY and parts[0].hint is None


def _render_reasoning(part: Reasoning, out: Pieces) -> None:
    held = part.state
    if held is not None and held.kind == StateKind.REDACTED and held.origin.dialect == NAME:
        out += (b'"reasoningContent":{"redactedContent":', held.json, b"}")
        return
    out += (b'"reasoningContent":{"reasoningText":{"text":', part.text.literal if part.text is not None else EMPTY)
    if held is not None:
        out += (b',"signature":', plain_or_sealed(held, StateKind.SIGNATURE))
    end_object(part.extras, NAME, out)
    out.append(b"}")


_ALIASES = {"image/jpg": "jpeg", "audio/mp3": "mp3", "audio/x-wav": "wav", "text/x-markdown": "md"}
"""Further names of media types, and their formats."""


def format_of(kind: MediaKind, media_type: str) -> str:
    """The format for a media type; empty if there is none."""
    bare = media_type.partition(";")[0].strip().lower()
    found = next((name for name, known in FORMATS[kind].items() if known == bare), "")
    return found or (_ALIASES.get(bare, "") if _ALIASES.get(bare, "") in FORMATS[kind] else "")


def render_media(part: Media, out: Pieces) -> None:
    """The block, without its braces."""
    source = part.source
    media_type = source.media_type if isinstance(source, (Inline, Stored, Plain)) else ""
    name = format_of(part.kind, media_type)
    if not name or (isinstance(source, Plain) and part.kind is not MediaKind.DOCUMENT):
        raise Unrepresentable(f"{part.kind.value} of the type {media_type or 'that its URL has'} in a Bedrock request")
    out.append(b'"%b":{"format":%b' % (part.kind.value.encode(), quote(name)))
    if part.kind is MediaKind.DOCUMENT:
        out.append(b',"name":%b' % quote(part.title or NO_TITLE))
    out.append(b',"source":')
    if isinstance(source, Inline):
        out += (b'{"bytes":', source.data)
    elif isinstance(source, Plain):
        out += (b'{"text":', source.literal)
    elif isinstance(source, Stored) and source.provider == NAME:
        out += (b'{"s3Location":{"uri":', quote(source.id), b"}")
    else:
        raise Unrepresentable(f"{part.kind.value} that is not in the request itself")
    out.append(b"}")
    _render_fields(part.extras, out)
    out.append(b"}")


def _render_fields(extras: Extras | None, out: Pieces) -> None:
    for key, value in require_own(extras, NAME).items():
        out += (b",", quote(key), b":", value)


RENDERERS: dict[type[Part], Callable[..., None]] = {
    Text: _render_text,
    Call: _render_call,
    Result: _render_result,
    Reasoning: _render_reasoning,
    Media: render_media,
}
