"""Anthropic messages to ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation import traits
from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.literals import EMPTY
from dragoman.conversation.messages import ASSISTANT, FIELD, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.parts import (
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
    StateKind,
    Stored,
    Text,
)
from dragoman.conversation.traits import CALLING, CODES, ObservedMessage, observe_message, observe_name
from dragoman.dialects.anthropic import NAME, ORIGIN, schema
from dragoman.dialects.anthropic.tools import parse_tool_change
from dragoman.dialects.families.carried_state import reattach
from dragoman.dialects.near_misses.parts import fits_items
from dragoman.dialects.shared.media_links import LONG
from dragoman.dialects.shared.parsed_messages import BRACE, QUOTE, compose, is_blank
from dragoman.dialects.shared.parsing import decode_known, extras_of, parse_listed, parse_state
from dragoman.dialects.shared.raw_json import ABSENT, NOTHING, encode, fields_of
from dragoman.dialects.shared.top_level import decode_value
from dragoman.dialects.shared.wire_schema import fits, split_unknown
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import render_object

_ROLES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM}


def parse_item(raw: Json, index: int) -> Sequence[ObservedMessage] | None:
    """A message that fits the schema; None if it does not."""
    try:
        if raw[-2:] == b"]}":  # Claude Code writes all content as lists of blocks, which one decode takes as a whole
            return parse_block_turn(schema.decode_block_turn(raw), index)
        turn = schema.decode_turn(raw)
        role, content = _ROLES.get(turn.role), bytes(turn.content)
        if content[0] == QUOTE and role is not None:
            if role is ASSISTANT and len(content) > LONG:
                return compose(role, (Text(content),), index, False)
            message = Message(role, (Text(content),), index)
            return (ObservedMessage(message, traits.BLANK_TEXT if is_blank(content) else 0, CODES[role]),)
        return parse_block_turn(schema.AnthropicBlockTurn(turn.role, schema.decode_blocks(content)), index)
    except msgspec.DecodeError:
        return None


def parse_block_turn(turn: schema.AnthropicBlockTurn, index: int) -> Sequence[ObservedMessage] | None:
    """A message that is a list of blocks, decoded; None if it does not fit."""
    role, blocks = _ROLES.get(turn.role), turn.content
    if role is None:
        return None
    try:
        return (len(blocks) == 1 and _parse_only(blocks[0], role, index)) or _parse_blocks(blocks, role, index)
    except (msgspec.DecodeError, MalformedRequest):
        return None


def _parse_only(block: schema.Block, role: Role, index: int) -> Sequence[ObservedMessage] | None:
    """A turn of one plain result or call, as most of an agent's are; None if it is anything else."""
    if type(block) is schema.AnthropicToolResult:
        text = bytes(block.content)
        if text and text[0] == QUOTE and role is USER and block.is_error is False and block.cache_control is ABSENT:
            message = Message(TOOL, (Result(block.tool_use_id, (Text(text),)),), index, listed=True)
            seen = traits.LISTED | traits.BLANK_TEXT if is_blank(text) else traits.LISTED
            return (ObservedMessage(message, seen, "t", [block.tool_use_id]),)
    elif type(block) is schema.AnthropicToolUse and role is ASSISTANT:
        arguments = bytes(block.input)
        if arguments[0] == BRACE and block.cache_control is ABSENT and block.caller is ABSENT:
            seen = traits.LISTED | traits.CALLS | observe_name(block.name)
            message = Message(role, (Call(block.id, block.name, arguments),), index, listed=True)
            return (ObservedMessage(message, seen, CALLING, [block.id]),)
    return None


def _parse_blocks(blocks: list[schema.Block], role: Role, index: int) -> Sequence[ObservedMessage] | None:
    """The messages of blocks that fit. Only the assistant calls tools."""
    parts: list[Part] = []
    for block in blocks:
        part = PARSERS[type(block)](block)
        if part is None or (type(block) is schema.AnthropicToolResult and block.is_error is None):
            return None
        if type(part) is Call and role is USER:
            return None
        parts.append(part)
    return compose(role, reattach(parts), index, True)


class _AnyTurn(msgspec.Struct, gc=False):
    role: str
    content: Raw = ABSENT


_decode_any_turn = msgspec.json.Decoder(_AnyTurn).decode


def parse_odd_item(raw: Json, index: int) -> Sequence[ObservedMessage]:
    """A message with members or blocks that the schema does not name, or with a role that nobody knows."""
    at = f"/messages/{index}"
    turn = decode_value(_decode_any_turn, raw, at)
    unknown = split_unknown(raw, schema.AnthropicTurn)[1]
    role = _ROLES.get(turn.role)
    role, role_text = (USER, turn.role) if role is None else (role, "")
    content = bytes(turn.content)
    parts = (Text(content),) if content[:1] == b'"' else parse_blocks(content, f"{at}/content")
    listed = content[:1] != b'"' and content not in NOTHING
    return compose(role, parts, index, listed, extras=extras_of(NAME, unknown), role_text=role_text)


@remembered
def parse_system(raw: Json) -> tuple[ObservedMessage, ...]:
    """The `system` field: one message, of one text or of several blocks."""
    if raw in NOTHING or raw == b"[]":
        return ()
    listed = raw[:1] != b'"'
    parts = parse_blocks(raw, "/system") if listed else (Text(raw),)
    return (observe_message(Message(SYSTEM, parts, FIELD, listed=listed)),)


# Blocks


def parse_blocks(raw: Json, at: str) -> tuple[Part, ...]:
    """A list of blocks of any kind."""
    return reattach(parse_listed(raw, at, _parse_block, "blocks"))


def _parse_block(raw: Json, at: str) -> Part:
    """A block. Members that its type does not name become extra fields; one of an unknown type is kept as it is."""
    found = decode_known(raw, at, schema.decode_block, schema.BLOCKS)
    part = PARSERS[type(found[0])](found[0], at, found[1]) if found is not None else None
    return _keep_block(raw) if part is None else part


def fits_result(raw: Json) -> bool:
    """Whether the content of a result fits the schema. Blocks of kinds that are not known here may be newer."""
    return fits(schema.open_result, raw) or _are_result_blocks(raw)


def _are_result_blocks(raw: Json) -> bool:
    return fits_items(raw, lambda block: fits(schema.open_result_block, block))


def fits_block(raw: Json) -> bool:
    """Whether a block fits the schema, with further members or not."""
    return fits(schema.open_block, raw) or _is_newer_result(raw)


def _is_newer_result(raw: Json) -> bool:
    """Whether it is a result that fits but for its blocks, which are all right, or of kinds that are not known here."""
    fields = fields_of(raw) or {}
    if fields.get("type") != b'"tool_result"' or not _are_result_blocks(fields.get("content", b"")):
        return False
    return fits(schema.open_block, render_object({**fields, "content": EMPTY}))


_TOOL_CHANGES = {"tool_addition": True, "tool_removal": False}
"""Blocks that change the list of tools, and whether what they name may be called from there on."""


def _keep_block(raw: Json) -> Opaque:
    wire = msgspec.json.decode(raw)
    kind = str(wire.get("type"))
    hint, bare = schema.split_hint(raw)
    if kind in _TOOL_CHANGES:
        changes = parse_tool_change(raw, _TOOL_CHANGES[kind])
        return Opaque(kind=kind, json=bare, origin=ORIGIN, hint=hint, meant=(), declares=changes)
    return Opaque(kind=kind, json=bare, origin=ORIGIN, hint=hint, holds=_held_pictures(wire.get("source")))


def _held_pictures(source: Any) -> tuple[Part, ...]:
    """The blocks of a document that is made of texts and pictures, if it has pictures."""
    content = source.get("content") if isinstance(source, dict) else None
    kinds = [block.get("type") for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    raw = msgspec.json.encode(content)
    if "image" not in kinds or not {"text", "image"}.issuperset(kinds) or not _are_result_blocks(raw):
        return ()
    return parse_blocks(raw, "")


def _gather_extras(unknown: Mapping[str, Json], **members: Raw) -> Extras | None:
    """Extra fields, with those members of the schema that have no place in our parts."""
    given = {key: bytes(raw) for key, raw in members.items() if raw is not ABSENT and bytes(raw) not in _EMPTY}
    return extras_of(NAME, {**unknown, **given})


_EMPTY = (b"null", b"[]")
_NONE: Mapping[str, Json] = {}


def _parse_text(block: schema.AnthropicText, at: str = "", unknown: Mapping[str, Json] = _NONE) -> Part | None:
    literal = bytes(block.text)
    if literal[0] != QUOTE:
        return None
    if block.cache_control is ABSENT and block.citations is ABSENT and not unknown:
        return Text(literal)
    extras = _gather_extras(unknown, citations=block.citations)
    return Text(literal, hint=schema.parse_hint(block.cache_control), extras=extras)


def _parse_call(block: schema.AnthropicToolUse, at: str = "", unknown: Mapping[str, Json] = _NONE) -> Part | None:
    arguments = bytes(block.input)
    if arguments[0] != BRACE:
        return None
    if block.caller is not ABSENT:
        unknown = {"caller": encode(msgspec.json.decode(block.caller)), **unknown}
    hint = schema.parse_hint(block.cache_control)
    return Call(block.id, block.name, arguments, hint=hint, extras=extras_of(NAME, unknown))


def _parse_result(block: schema.AnthropicToolResult, at: str = "", unknown: Mapping[str, Json] = _NONE) -> Part | None:
    content = bytes(block.content)
    if content[:1] == b'"':
        parts: tuple[Part, ...] = (Text(content),)
    elif block.content is ABSENT or fits_result(content):
        parts = parse_blocks(content, f"{at}/content")
    else:
        return None
    listed, hint = content[:1] == b"[", schema.parse_hint(block.cache_control)
    return Result(
        block.tool_use_id, parts, bool(block.is_error), listed=listed, hint=hint, extras=extras_of(NAME, unknown)
    )


def _parse_thinking(block: schema.AnthropicThinking, at: str = "", unknown: Mapping[str, Json] = _NONE) -> Part | None:
    """A thinking block. State of another maker may stand in it without a text."""
    literal, signature = bytes(block.thinking), bytes(block.signature)
    if literal[0] != QUOTE:
        return None
    held = parse_state(StateKind.SIGNATURE, signature, ORIGIN) if signature[:1] == b'"' else None
    text = None if held is not None and held.origin is not ORIGIN and literal == EMPTY else Text(literal)
    redacted = held is not None and held.kind == StateKind.REDACTED
    return Reasoning(text=text, state=held, redacted=redacted, extras=extras_of(NAME, unknown))


def _parse_redacted(
    block: schema.AnthropicRedactedThinking, at: str = "", unknown: Mapping[str, Json] = _NONE
) -> Part | None:
    held = parse_state(StateKind.REDACTED, bytes(block.data), ORIGIN)
    return Reasoning(state=held, redacted=True, extras=extras_of(NAME, unknown))


def _parse_image(block: schema.AnthropicImage, at: str = "", unknown: Mapping[str, Json] = _NONE) -> Part | None:
    source = _parse_source(block.source, at)
    extras = extras_of(NAME, unknown)
    return (
        None
        if source is None
        else Media(MediaKind.IMAGE, source, hint=schema.parse_hint(block.cache_control), extras=extras)
    )


def _parse_document(block: schema.AnthropicDocument, at: str = "", unknown: Mapping[str, Json] = _NONE) -> Part | None:
    source = _parse_source(block.source, at)
    if source is None:
        return None
    schema.decode_citations(block.citations or b"null")
    schema.decode_context(block.context or b"null")
    extras = _gather_extras(unknown, context=block.context, citations=block.citations)
    return Media(
        MediaKind.DOCUMENT, source, title=block.title, hint=schema.parse_hint(block.cache_control), extras=extras
    )


def _parse_source(source: schema.DocumentSource, at: str) -> Inline | Remote | Stored | Plain | None:
    """Where media come from; None if it is a document of blocks, or does not hold a text."""
    match source:
        case schema.AnthropicBase64Source(media_type, data):
            literal = bytes(data)
            return Inline(media_type, literal) if literal[0] == QUOTE and literal[:6] != b'"data:' else None
        case schema.AnthropicUrlSource(url):
            return Remote(url)
        case schema.AnthropicFileSource(file_id):
            return Stored(file_id, NAME)
        case schema.AnthropicTextSource(data):
            if memoryview(data)[0] != QUOTE:
                raise MalformedRequest("the data of a source is not a text", at=f"{at}/source/data")
            return Plain(bytes(data))
        case schema.AnthropicContentSource():
            return None


def _parse_nothing(block: schema.Block, at: str = "", unknown: Mapping[str, Json] = _NONE) -> Part | None:
    """A block that is kept as it is."""
    return None


PARSERS: dict[type[Any], Callable[..., Part | None]] = {
    schema.AnthropicText: _parse_text,
    schema.AnthropicToolUse: _parse_call,
    schema.AnthropicToolResult: _parse_result,
    schema.AnthropicThinking: _parse_thinking,
    schema.AnthropicRedactedThinking: _parse_redacted,
    schema.AnthropicImage: _parse_image,
    schema.AnthropicDocument: _parse_document,
    schema.AnthropicSearchResult: _parse_nothing,
}
