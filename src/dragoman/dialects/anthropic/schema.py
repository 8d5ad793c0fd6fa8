"""The published schema of Messages: what a request may hold, and the cache hints in it."""

from __future__ import annotations

from typing import Annotated, Literal, final

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.parts import CacheHint, Json
from dragoman.dialects.shared.raw_json import ABSENT
from dragoman.dialects.shared.wire_schema import (
    BareBytes,
    ClosedObject,
    Holds,
    Id,
    JsonLiteral,
    JsonObject,
    WireObject,
    index_by_tag,
    open_decoder,
)
from dragoman.wire.json_reader import render_object, split_members


class AnthropicCacheControl(ClosedObject):
    type: str
    ttl: str | UnsetType = UNSET
    scope: Raw | UnsetType = UNSET


Hint = Annotated[Raw, Holds(AnthropicCacheControl | None)]


# Media

Checked = Annotated[str, Holds(Raw)]
"""A text that is looked at only when it is parsed, so that the error says where it stands."""


@final
class AnthropicBase64Source(ClosedObject, tag="base64"):
    media_type: Checked
    data: BareBytes


@final
class AnthropicUrlSource(ClosedObject, tag="url"):
    url: Checked


@final
class AnthropicFileSource(ClosedObject, tag="file"):
    file_id: Checked


@final
class AnthropicTextSource(ClosedObject, tag="text"):
    data: Raw
    media_type: Raw = ABSENT


@final
class AnthropicContentSource(ClosedObject, tag="content"):
    content: Raw


ImageSource = AnthropicBase64Source | AnthropicUrlSource | AnthropicFileSource
DocumentSource = ImageSource | AnthropicTextSource | AnthropicContentSource


class AnthropicCitations(ClosedObject):
    enabled: bool | UnsetType = UNSET


# Blocks


@final
class AnthropicText(WireObject, tag="text"):
    text: JsonLiteral
    cache_control: Hint = ABSENT
    citations: Raw = ABSENT


@final
class AnthropicImage(WireObject, tag="image"):
    source: ImageSource
    cache_control: Hint = ABSENT


@final
class AnthropicDocument(WireObject, tag="document"):
    source: DocumentSource
    cache_control: Hint = ABSENT
    citations: Annotated[Raw, Holds(AnthropicCitations | None)] = ABSENT
    title: str | None = None
    context: Annotated[Raw, Holds(str | None)] = ABSENT


@final
class AnthropicToolUse(WireObject, tag="tool_use"):
    id: Id
    name: str
    input: JsonObject
    cache_control: Hint = ABSENT
    caller: Raw = ABSENT


@final
class AnthropicSearchResult(WireObject, tag="search_result"):
    """Kept as it is, like the next one."""

    content: Raw


@final
class AnthropicToolReference(WireObject, tag="tool_reference"):
    tool_name: Raw


ResultBlock = AnthropicText | AnthropicImage | AnthropicDocument | AnthropicSearchResult | AnthropicToolReference
ResultContent = str | Annotated[list[ResultBlock], Meta(min_length=1)]


@final
class AnthropicToolResult(WireObject, tag="tool_result"):
    tool_use_id: Id
    content: Annotated[Raw, Holds(ResultContent)] = ABSENT
    is_error: Annotated[bool | None, Holds(bool)] = False
    cache_control: Hint = ABSENT


@final
class AnthropicThinking(WireObject, tag="thinking"):
    thinking: JsonLiteral
    signature: Raw = ABSENT


@final
class AnthropicRedactedThinking(WireObject, tag="redacted_thinking"):
    """Its state is not looked at. Thinking without any is left out as that of nobody known."""

    data: Raw = ABSENT


Block = (
    AnthropicText
    | AnthropicImage
    | AnthropicDocument
    | AnthropicToolUse
    | AnthropicToolResult
    | AnthropicThinking
    | AnthropicRedactedThinking
    | AnthropicSearchResult
)
BLOCKS = index_by_tag(Block)


# Messages


class AnthropicTurn(WireObject):
    role: Annotated[str, Holds(Literal["user", "assistant", "system"])]
    content: Annotated[Raw, Holds(str | list[Block])]
    tool_calls: UnsetType = UNSET


class AnthropicBlockTurn(WireObject):
    """A turn whose content is a list of blocks: decoded at once."""

    role: str
    content: list[Block]


decode_turn = msgspec.json.Decoder(AnthropicTurn).decode
decode_block_turn = msgspec.json.Decoder(AnthropicBlockTurn).decode
decode_block_turns = msgspec.json.Decoder(list[AnthropicBlockTurn]).decode
decode_block = msgspec.json.Decoder(Block).decode
decode_blocks = msgspec.json.Decoder(list[Block]).decode
decode_hint = msgspec.json.Decoder(AnthropicCacheControl).decode
decode_citations = msgspec.json.Decoder(AnthropicCitations | None).decode
decode_context = msgspec.json.Decoder(str | None).decode

open_turn = open_decoder(AnthropicTurn)
open_block = open_decoder(Block)
open_text = open_decoder(AnthropicText)
open_result = open_decoder(ResultContent)
open_result_block = open_decoder(ResultBlock)


@final
class _NoText(WireObject, tag=""):
    """What no client sends. In a union a type must be there; alone, that of a text could be left out."""


open_system = open_decoder(str | list[AnthropicText | _NoText] | None)


# Cache hints, which stand in a member of blocks and tools

_MEMBER = "cache_control"
_QUOTED = b'"cache_control"'


def parse_hint(raw: Raw) -> CacheHint | None:
    """Raises DecodeError if it does not fit."""
    if raw is ABSENT:
        return None
    text = bytes(raw)
    if text == b"null":
        return None
    decode_hint(text)
    return CacheHint(text)


def split_hint(raw: Json) -> tuple[CacheHint | None, Json]:
    """The hint of a block or a tool that is kept as it is, and the rest. One that does not fit stays where it is."""
    if _QUOTED not in raw:
        return None, raw
    members = split_members(raw)
    try:
        hint = parse_hint(members.pop(_MEMBER, ABSENT))
    except msgspec.DecodeError:
        hint = None
    return (None, raw) if hint is None else (hint, render_object(members))


def with_hint(block: Json, hint: CacheHint | None) -> Json:
    """The block with its hint again."""
    return block if hint is None else render_object({**split_members(block), _MEMBER: hint.json})


# Tools


class AnthropicTool(WireObject):
    """A tool of any kind. What it must have depends on its type."""

    name: Id | UnsetType = UNSET
    input_schema: JsonObject = ABSENT
    type: str | UnsetType = UNSET
    description: str | UnsetType = UNSET
    strict: bool | UnsetType = UNSET
    defer_loading: bool | UnsetType = UNSET
    allowed_callers: list[Raw] | UnsetType = UNSET
    input_examples: list[Raw] | UnsetType = UNSET
    cache_control: Hint = ABSENT


class AnthropicDeclaredTool(AnthropicTool, kw_only=True):
    """A tool of the client's own."""

    name: Id
    input_schema: JsonObject


open_declared_tool = open_decoder(AnthropicDeclaredTool)
open_tool = open_decoder(AnthropicTool)


# Settings


class AnthropicToolChoice(ClosedObject):
    type: str
    name: str | UnsetType = UNSET
    disable_parallel_tool_use: bool | UnsetType = UNSET


class AnthropicThinkingConfig(WireObject):
    type: str
    budget_tokens: int | UnsetType = UNSET
    display: str | None = None


class AnthropicFormat(WireObject):
    type: str
    schema: Raw


class AnthropicOutputConfig(WireObject):
    format: AnthropicFormat | None = None
    effort: str | None = None


class AnthropicMetadata(WireObject):
    user_id: str | None = None
