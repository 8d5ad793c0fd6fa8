"""Anthropic messages to ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation import reasoning_states
from dragoman.conversation.messages import ASSISTANT, FIELD, SYSTEM, TOOL, USER, Message
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
    Remote,
    Result,
    Stored,
    Text,
)
from dragoman.dialects.anthropic import NAME, ORIGIN
from dragoman.dialects.carried_state import reattached
from dragoman.dialects.parsing import cache_hint, extras_of, kind_of, parse_state
from dragoman.dialects.raw_json import ABSENT, NOTHING
from dragoman.dialects.top_level import decode_word, decoded
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import salvage, split_items, split_members


class AnthropicWireMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: Raw = ABSENT


class AnthropicWireBlock(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: str
    text: Raw = ABSENT
    id: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    tool_use_id: str | None = None
    content: Raw = ABSENT
    is_error: bool | None = None
    thinking: Raw = ABSENT
    signature: Raw = ABSENT
    data: Raw = ABSENT
    source: Raw = ABSENT
    title: str | None = None
    citations: Raw = ABSENT
    cache_control: Raw = ABSENT


_messages = msgspec.json.Decoder(list[AnthropicWireMessage]).decode
_message = msgspec.json.Decoder(AnthropicWireMessage)
_blocks = msgspec.json.Decoder(list[AnthropicWireBlock]).decode
_block = msgspec.json.Decoder(AnthropicWireBlock)
_ROLES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM}


def parse_messages(raw: bytes | Raw) -> list[Message]:
    """The list of messages. A user turn of results and text becomes TOOL + USER."""
    found: list[Message] = []
    try:
        wire = _messages(raw)
    except msgspec.DecodeError:
        for index, item in enumerate(split_items(raw, "/messages")):
            salvaged = salvage(item, _message, f"/messages/{index}")
            extras = extras_of(NAME, salvaged.extras.get("$", {}))
            _parse_message(salvaged.value, index, extras, found)
        return found
    for index, message in enumerate(wire):
        _parse_message(message, index, None, found)
    return found


def _parse_message(wire: AnthropicWireMessage, index: int, extras: Extras | None, found: list[Message]) -> None:
    role = _ROLES.get(wire.role)
    role_text = ""
    if role is None:
        role, role_text = USER, wire.role
    content = bytes(wire.content)
    if content[:1] == b'"':
        parts: tuple[Part, ...] = (Text(content),)
        listed = False
    else:
        parts = parse_blocks(content, f"/messages/{index}/content")
        listed = content not in NOTHING
    if role is USER and listed and any(type(part) is Result for part in parts):
        _split_turn(parts, index, extras, found)
        return
    inline = role is SYSTEM and (not found or found[-1].inline)
    found.append(Message(role, parts, index, extras=extras, listed=listed, inline=inline, role_text=role_text))


def _split_turn(parts: tuple[Part, ...], index: int, extras: Extras | None, found: list[Message]) -> None:
    """Runs of results and of other parts, in their order."""
    run: list[Part] = []
    for position, part in enumerate(parts):
        run.append(part)
        last = position + 1 == len(parts)
        if last or (type(parts[position + 1]) is Result) is not (type(part) is Result):
            role = TOOL if type(part) is Result else USER
            found.append(Message(role, tuple(run), index, extras=extras, listed=True))
            run = []


def parse_system(raw: bytes) -> list[Message]:
    """The `system` field: one message, of one text or of several blocks."""
    if raw in NOTHING or raw == b"[]":
        return []
    if raw[:1] == b'"':
        return [Message(SYSTEM, (Text(raw),), FIELD)]
    return [Message(SYSTEM, parse_blocks(raw, "/system"), FIELD, listed=True)]


def parse_blocks(raw: bytes, at: str) -> tuple[Part, ...]:
    if raw in NOTHING:
        return ()
    if raw[:1] != b"[":
        raise MalformedRequest("content is neither a string nor a list of blocks", at=at)
    try:
        wire = _blocks(raw)
    except msgspec.DecodeError:
        return tuple([_parse_raw(bytes(item), f"{at}/{index}") for index, item in enumerate(split_items(raw, at))])
    parts = [_parse_block(block, f"{at}/{index}", None) for index, block in enumerate(wire)]
    if None in parts:
        raws = split_items(raw, at)
        parts = [_opaque(bytes(raws[index])) if part is None else part for index, part in enumerate(parts)]
    return reattached(parts)  # type: ignore[arg-type]


def _parse_raw(raw: bytes, at: str) -> Part:
    """A block with unknown fields: they become extras where the type is known, else the block is kept verbatim."""
    if raw[:1] != b"{":
        raise MalformedRequest("a content block that is not an object", at=at)
    if kind_of(raw, at) not in PARSERS:
        return _opaque(raw)
    salvaged = salvage(raw, _block, at)
    part = _parse_block(salvaged.value, at, extras_of(NAME, salvaged.extras.get("$", {})))
    return _opaque(raw) if part is None else part


def _opaque(raw: bytes) -> Opaque:
    return Opaque(kind=str(msgspec.json.decode(raw).get("type")), json=raw, origin=ORIGIN)


def _parse_block(wire: AnthropicWireBlock, at: str, extras: Extras | None) -> Part | None:
    if wire.type == "text" and extras is None and wire.cache_control is ABSENT and wire.citations is ABSENT:
        literal = bytes(wire.text)
        return Text(literal) if literal[:1] == b'"' else None
    parser = PARSERS.get(wire.type)
    return None if parser is None else parser(wire, at, cache_hint(wire.cache_control), extras)


def _parse_text(wire: AnthropicWireBlock, at: str, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    literal = bytes(wire.text)
    if literal[:1] != b'"':
        return None
    citations = bytes(wire.citations)
    if citations not in NOTHING and citations != b"[]":
        fields: Mapping[str, Json] = {**(extras.fields if extras else {}), "citations": citations}
        extras = extras_of(NAME, fields)
    return Text(literal, hint=hint, extras=extras)


def _parse_call(wire: AnthropicWireBlock, at: str, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    if wire.id is None or wire.name is None:
        raise MalformedRequest("a tool_use block without id or name", at=at)
    return Call(wire.id, wire.name, bytes(wire.input) or b"{}", hint=hint, extras=extras)


def _parse_result(wire: AnthropicWireBlock, at: str, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    if wire.tool_use_id is None:
        raise MalformedRequest("a tool_result block without the id of its call", at=f"{at}/tool_use_id")
    content = bytes(wire.content)
    if content[:1] == b'"':
        parts: tuple[Part, ...] = (Text(content),)
    else:
        parts = parse_blocks(content, f"{at}/content")
    return Result(wire.tool_use_id, parts, bool(wire.is_error), listed=content[:1] == b"[", hint=hint, extras=extras)


def _parse_thinking(wire: AnthropicWireBlock, at: str, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    return thinking(bytes(wire.thinking), bytes(wire.signature), extras)


def thinking(literal: bytes, signature: bytes, extras: Extras | None = None) -> Reasoning:
    """A thinking block. State of another maker may stand in it without a text."""
    text = Text(literal) if literal[:1] == b'"' else None
    held = parse_state(reasoning_states.SIGNATURE, signature, ORIGIN) if signature[:1] == b'"' else None
    if held is not None and held.origin is not ORIGIN and text is not None and text.literal == b'""':
        text = None
    return Reasoning(
        text=text, state=held, redacted=held is not None and held.kind == reasoning_states.REDACTED, extras=extras
    )


def _parse_redacted(wire: AnthropicWireBlock, at: str, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    return redacted_thinking(bytes(wire.data), extras)


def redacted_thinking(literal: bytes, extras: Extras | None = None) -> Reasoning:
    return Reasoning(state=parse_state(reasoning_states.REDACTED, literal, ORIGIN), redacted=True, extras=extras)


def _parse_image(wire: AnthropicWireBlock, at: str, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    source = _source(bytes(wire.source), f"{at}/source")
    return (
        None
        if source is None or isinstance(source, Plain)
        else Media(MediaKind.IMAGE, source, hint=hint, extras=extras)
    )


def _parse_document(wire: AnthropicWireBlock, at: str, hint: CacheHint | None, extras: Extras | None) -> Part | None:
    source = _source(bytes(wire.source), f"{at}/source")
    if source is None:
        return None
    citations = bytes(wire.citations)
    if citations not in NOTHING:
        extras = extras_of(NAME, {**(extras.fields if extras else {}), "citations": citations})
    return Media(MediaKind.DOCUMENT, source, title=wire.title, hint=hint, extras=extras)


def _source(raw: bytes, at: str) -> Inline | Remote | Stored | Plain | None:
    if raw[:1] != b"{":
        raise MalformedRequest("the source is not an object", at=at)
    wire = split_members(raw)
    plain: dict[str, Any] = {key: bytes(value) for key, value in wire.items()}
    match plain:
        case {"type": b'"base64"', "media_type": media_type, "data": data, **rest} if not rest:
            return Inline(decoded(decode_word, media_type, f"{at}/media_type"), _literal(data, at))
        case {"type": b'"url"', "url": url, **rest} if not rest:
            return Remote(decoded(decode_word, url, f"{at}/url"))
        case {"type": b'"file"', "file_id": file_id, **rest} if not rest:
            return Stored(decoded(decode_word, file_id, f"{at}/file_id"), NAME)
        case {"type": b'"text"', "data": data, **rest} if not rest.keys() - {"media_type"}:
            return Plain(_literal(data, at))
        case {"type": b'"url"', **rest} if "url" not in rest:
            raise MalformedRequest("a source without its url", at=f"{at}/url")
    return None


def _literal(raw: bytes, at: str) -> bytes:
    """A string that may be many megabytes long, checked by its first byte alone."""
    if raw[:1] != b'"':
        raise MalformedRequest("the data of a source is not a text", at=f"{at}/data")
    return raw


PARSERS: dict[str, Callable[[AnthropicWireBlock, str, CacheHint | None, Extras | None], Part | None]] = {
    "text": _parse_text,
    "tool_use": _parse_call,
    "tool_result": _parse_result,
    "thinking": _parse_thinking,
    "redacted_thinking": _parse_redacted,
    "image": _parse_image,
    "document": _parse_document,
}
