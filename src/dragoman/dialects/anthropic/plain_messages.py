"""The messages that nearly every Anthropic client sends, parsed in one short loop.

Claude Code writes all content as lists of blocks, which one typed decode takes as a whole. Others write short texts as
plain strings among them; then each list is decoded on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, final

import msgspec
from msgspec import Meta, Raw

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.literals import blank
from dragoman.conversation.messages import ASSISTANT, TOOL, USER, Message, Role
from dragoman.conversation.parts import Call, Inline, Media, MediaKind, Part, Reasoning, Remote, Result, Text
from dragoman.conversation.traits import CALLING, CODES, observe_message, observe_result
from dragoman.dialects.anthropic import ORIGIN
from dragoman.dialects.anthropic.message_parse import (
    parse_blocks,
    parse_system,
    redacted_thinking,
    thinking,
)
from dragoman.dialects.anthropic.near_misses import fits_hint, fits_result
from dragoman.dialects.carried_state import reattached
from dragoman.dialects.parsing import cache_hint
from dragoman.dialects.plain_messages import (
    ALWAYS,
    BACKSLASH,
    BRACE,
    HINTS,
    LIST,
    LISTED,
    MEDIA,
    MIXED_PARTS,
    NO_PARTS,
    QUOTE,
    REASONING,
    SIGNED,
    UNPAIRED,
    Opening,
    PlainMessages,
    finished,
    opening_of,
)

_NONE = Raw()
_NULL = Raw(b"null")


@final
class _PlainTextBlock(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="text"):
    text: Raw
    cache_control: Raw = _NONE
    citations: None = None  # the SDKs send back what an answer held, and there it is null


@final
class _PlainToolUse(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="tool_use"):
    id: Annotated[str, Meta(min_length=1)]
    name: str
    input: Raw
    cache_control: Raw = _NONE


@final
class _PlainToolResult(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="tool_result"):
    tool_use_id: Annotated[str, Meta(min_length=1)]
    content: Raw = _NULL
    is_error: bool = False
    cache_control: Raw = _NONE


@final
class _PlainThinking(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="thinking"):
    thinking: Raw
    signature: Raw


@final
class _PlainRedacted(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="redacted_thinking"):
    data: Raw


@final
class _PlainBase64Source(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="base64"):
    media_type: str
    data: Raw


@final
class _PlainUrlSource(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="url"):
    url: str


@final
class _PlainImageBlock(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="image"):
    source: _PlainBase64Source | _PlainUrlSource
    cache_control: Raw = _NONE


_Block = _PlainTextBlock | _PlainToolUse | _PlainToolResult | _PlainThinking | _PlainRedacted | _PlainImageBlock


class _ListedMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Role
    content: list[_Block]


class _MixedMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Role
    content: Raw


_decode_listed = msgspec.json.Decoder(list[_ListedMessage]).decode
_decode_mixed = msgspec.json.Decoder(list[_MixedMessage]).decode
_decode_blocks = msgspec.json.Decoder(list[_Block]).decode


@remembered
def parse_opening(raw: bytes) -> Opening:
    return opening_of(tuple(parse_system(raw)))


def parse_plain(raw: bytes | Raw, opening: Opening) -> PlainMessages | None:
    """The messages with their opening, or None where one of them is not plain."""
    wire = _decode(raw)
    if wire is None:
        return None
    traits = ALWAYS | opening.traits
    done = list(opening.messages)
    codes = [opening.codes]
    ids: list[str] = []
    names: set[str] = set()
    asked: list[str] = []
    for index, message in enumerate(wire):
        role = message.role
        if role is not USER and role is not ASSISTANT:
            return None
        content: list[_Block] | Raw | None = message.content
        if type(content) is Raw:
            literal = bytes(content)
            if literal[0] == QUOTE:
                second = literal[1]
                if (second <= QUOTE or second == BACKSLASH) and blank(literal):
                    return None
                done.append(Message(role, (Text(literal),), index))
                codes.append(CODES[role])
                continue
            content = _blocks_of(content)
        if not content:
            return None
        parts: list[Part] = []
        calls: list[str] = []
        results: list[Part] = []
        answered: list[str] = []
        seen = LISTED
        is_foreign = False
        for block in content:
            part: Part | None
            if type(block) is _PlainTextBlock:
                literal = bytes(block.text)
                if literal[0] != QUOTE:
                    return None
                second = literal[1]
                if (second <= QUOTE or second == BACKSLASH) and blank(literal):
                    return None
                if calls:
                    seen |= MIXED_PARTS
                part = Text(literal)
            elif type(block) is _PlainToolUse:
                arguments = bytes(block.input)
                if arguments[0] != BRACE or role is not ASSISTANT:
                    return None
                calls.append(block.id)
                names.add(block.name)
                part = Call(block.id, block.name, arguments)
            elif type(block) is _PlainToolResult:
                if parts or role is not USER:
                    return None
                answered.append(block.tool_use_id)
                text = bytes(block.content)
                if text[0] == QUOTE and not block.is_error and block.cache_control is _NONE:
                    results.append(Result(block.tool_use_id, (Text(text),)))
                    continue
                result = _result(block, text, f"/messages/{index}/content/{len(results)}/content")
                if result is None:
                    return None
                seen |= observe_result(result) if result.hint is None else observe_result(result) | HINTS
                results.append(result)
                continue
            elif type(block) is _PlainImageBlock:
                part = _image(block)
                if part is None or role is not USER:
                    return None
                seen |= MEDIA
            else:
                thought = _reasoning(block)
                if thought is None or thought.state is None or role is not ASSISTANT:
                    return None
                seen |= REASONING | SIGNED
                if calls:
                    seen |= MIXED_PARTS
                is_foreign = is_foreign or thought.state.origin is not ORIGIN
                parts.append(thought)
                continue
            if block.cache_control is not _NONE:
                hint = cache_hint(block.cache_control)
                if hint is not None and not fits_hint(hint.json):
                    return None
                if hint is not None:
                    seen |= HINTS
                    part = msgspec.structs.replace(part, hint=hint)
            parts.append(part)
        if results:
            if answered != asked:
                traits |= UNPAIRED
            done.append(Message(TOOL, tuple(results), index, listed=True))
            codes.append("t")
        if parts:
            turn = Message(role, tuple(parts) if not is_foreign else reattached(parts), index, listed=True)
            if is_foreign:
                seen = observe_message(turn)
            elif len(parts) == 1 and type(parts[0]) is Reasoning:
                seen |= NO_PARTS
            done.append(turn)
            if calls:
                asked = calls
                ids += calls
                codes.append(CALLING)
            else:
                codes.append(CODES[role])
        traits |= seen
    return finished(done, traits, codes, ids, names)


def _decode(raw: bytes | Raw) -> Sequence[_ListedMessage | _MixedMessage] | None:
    try:
        return _decode_listed(raw)
    except msgspec.DecodeError:
        pass
    try:
        return _decode_mixed(raw)
    except msgspec.DecodeError:
        return None


def _blocks_of(raw: Raw) -> list[_Block] | None:
    try:
        return _decode_blocks(raw)
    except msgspec.DecodeError:
        return None


def _result(block: _PlainToolResult, content: bytes, at: str) -> Result | None:
    """A result. Blocks inside it may be of any kind: the general parser takes them."""
    if content[0] != QUOTE and block.content is not _NULL and not fits_result(content):
        return None
    hint = cache_hint(block.cache_control)
    if hint is not None and not fits_hint(hint.json):
        return None
    listed = content[0] == LIST
    parts = parse_blocks(content, at) if content[0] != QUOTE else (Text(content),)
    return Result(block.tool_use_id, parts, bool(block.is_error), listed=listed, hint=hint)


def _image(block: _PlainImageBlock) -> Media | None:
    source = block.source
    if type(source) is _PlainUrlSource:
        return Media(MediaKind.IMAGE, Remote(source.url))
    literal = bytes(source.data)
    if literal[0] != QUOTE or literal.startswith(b'"data:'):
        return None
    return Media(MediaKind.IMAGE, Inline(source.media_type, literal))


def _reasoning(block: _PlainThinking | _PlainRedacted) -> Reasoning | None:
    if type(block) is _PlainThinking:
        text, signature = bytes(block.thinking), bytes(block.signature)
        return thinking(text, signature) if text[0] == QUOTE == signature[0] else None
    data = bytes(block.data)
    return redacted_thinking(data) if data[0] == QUOTE else None
