"""The items that nearly every Responses client sends, parsed in one short loop.

Items of one assistant turn become one message, and so do the outputs that answer it.
"""

from __future__ import annotations

from typing import Annotated, Literal, final

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.literals import blank
from dragoman.conversation.messages import ASSISTANT, SYSTEM, TOOL, USER, Message, Role
from dragoman.conversation.parts import Call, Extras, Media, MediaKind, Part, Reasoning, Result, Text
from dragoman.conversation.traits import CALLING, CODES, observe_result
from dragoman.dialects.openai_responses import NAME
from dragoman.dialects.openai_responses.content import parse_content
from dragoman.dialects.openai_responses.message_parse import (
    parse_instructions,
    parse_reasoning,
    signs_call,
    with_item_fields,
)
from dragoman.dialects.openai_responses.near_misses import fits_output
from dragoman.dialects.parsing import extras_of, link_literal, stated_detail
from dragoman.dialects.plain_messages import (
    ALWAYS,
    BACKSLASH,
    BRACE,
    END,
    INLINE_SYSTEM,
    LIST,
    LISTED,
    LONG,
    MEDIA,
    MIXED_PARTS,
    NO_PARTS,
    PART_EXTRAS,
    QUOTE,
    REASONING,
    SIGNED,
    UNPAIRED,
    Opening,
    PlainMessages,
    PlainParts,
    check_object,
    finished,
    long_content,
    opening_of,
)

_NONE = Raw()


class _PlainItem(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: Literal["message", "function_call", "function_call_output", "reasoning"] = "message"
    role: Role | UnsetType = UNSET
    content: Raw = _NONE
    call_id: str | UnsetType = UNSET
    name: str | UnsetType = UNSET
    arguments: str | UnsetType = UNSET
    output: Raw = _NONE
    summary: Raw = _NONE
    encrypted_content: Raw = _NONE
    id: Raw = _NONE
    status: Raw = _NONE


_Nothing = Annotated[list[Raw], Meta(max_length=0)] | UnsetType


@final
class _PlainInputText(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="input_text"):
    text: Raw


@final
class _PlainOutputText(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="output_text"):
    text: Raw
    annotations: _Nothing = UNSET
    logprobs: _Nothing | None = None


@final
class _PlainInputImage(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="input_image"):
    image_url: Raw
    detail: str | UnsetType = UNSET


_END = _PlainItem(role=USER)
"""Closes the last turn. It is no message itself."""
_decode = msgspec.json.Decoder(list[_PlainItem]).decode
_decode_parts = msgspec.json.Decoder(list[_PlainInputText | _PlainOutputText | _PlainInputImage]).decode


@remembered
def parse_opening(raw: bytes) -> Opening:
    return opening_of(tuple(parse_instructions(raw)))


def parse_plain(raw: bytes | Raw, opening: Opening) -> PlainMessages | None:
    """The messages with their opening, or None where an item is not plain."""
    try:
        wire = _decode(raw)
    except msgspec.DecodeError:
        return None
    traits = ALWAYS | opening.traits
    done = list(opening.messages)
    codes = [opening.codes]
    ids: list[str] = []
    names: set[str] = set()
    asked: list[str] = []
    calls: list[str] = []
    answered: list[str] = []
    turn: list[Part] = []  # the parts of the turn that is being parsed
    turn_role, since, has_text = ASSISTANT, 0, False
    wire.append(_END)
    for index, item in enumerate(wire):
        kind = item.type
        if kind == "message":
            if item.role is UNSET or item.role is TOOL:
                return None
            role = item.role
        else:
            role = TOOL if kind == "function_call_output" else ASSISTANT
        if turn and (role is not turn_role or (has_text and not calls and kind == "message")):
            done.append(Message(turn_role, tuple(turn), since, index - since))
            if turn_role is TOOL:
                if answered != asked:
                    traits |= UNPAIRED
                codes.append("t")
                answered = []
            elif calls:
                codes.append(CALLING)
                ids += calls
                asked, calls = calls, []
            else:
                codes.append("a")
                if len(turn) == 1 and type(turn[0]) is Reasoning:
                    traits |= NO_PARTS
            turn, has_text = [], False
        if not turn:
            turn_role, since = role, index
        extras = None
        if item.id is not _NONE or item.status is not _NONE:
            extras = _extras(item)
            if extras is None:
                return None
            traits |= PART_EXTRAS
        if kind == "function_call":
            identity, name, text = item.call_id, item.name, item.arguments
            if not identity or name is UNSET or text is UNSET:
                return None
            arguments = text.encode()
            if not arguments or arguments[0] != BRACE or arguments[-1] != END:
                return None
            try:
                check_object(arguments)
            except (msgspec.DecodeError, RecursionError):
                return None
            names.add(name)
            calls.append(identity)
            turn.append(Call(identity, name, arguments, extras=extras))
        elif kind == "function_call_output":
            identity, content = item.call_id, bytes(item.output)
            if not identity or item.name is not UNSET or not content:
                return None
            answered.append(identity)
            if content[0] == QUOTE and extras is None:
                turn.append(Result(identity, (Text(content),)))
                continue
            if content[0] != QUOTE and not fits_output(content):
                return None
            result = _result(identity, content, extras, index)
            traits |= observe_result(result)
            turn.append(result)
        elif kind == "reasoning":
            thought = _reasoning(item, extras)
            if thought is None:
                return None
            traits |= REASONING
            if thought.state is not None:
                traits |= SIGNED
            if thought.extras is not None:
                traits |= PART_EXTRAS
            if calls:
                traits |= MIXED_PARTS
            turn.append(thought)
        elif item is not _END:
            if item.call_id is not UNSET or item.name is not UNSET:
                return None
            raw_content = item.content
            content = bytes(raw_content) if len(raw_content) < LONG else long_content(raw_content)
            listed = content[:1] != b'"'
            if not listed:
                second = content[1]
                if (second <= QUOTE or second == BACKSLASH) and blank(content):
                    return None
                parts: tuple[Part, ...] = (Text(content),)
            else:
                found = _parse_parts(item.content, role)
                if found is None:
                    return None
                parts = found.parts
                traits |= found.traits
            if role is ASSISTANT:
                if calls:
                    traits |= MIXED_PARTS
                has_text = True
                turn += parts if extras is None else (with_item_fields(parts[0], extras), *parts[1:])
                continue
            if extras is not None:
                return None
            if listed:
                traits |= LISTED
            if role is SYSTEM:
                traits |= INLINE_SYSTEM
            done.append(Message(role, parts, index, listed=listed, inline=role is SYSTEM))
            codes.append(CODES[role])
    return finished(done, traits, codes, ids, names)


def _extras(item: _PlainItem) -> Extras | None:
    """What every kind of item may have beside its content, or None where it is no text."""
    fields = {name: bytes(raw) for name, raw in (("id", item.id), ("status", item.status)) if raw is not _NONE}
    return extras_of(NAME, fields) if all(text[0] == QUOTE for text in fields.values()) else None


def _result(identity: str, output: bytes, extras: Extras | None, index: int) -> Result:
    """An output. Parts in it may be of any kind: the general parser takes them."""
    parts = (Text(output),) if output[0] == QUOTE else parse_content(output, f"/input/{index}/output")
    return Result(identity, parts, listed=output[0] == LIST, extras=extras)


def _reasoning(item: _PlainItem, extras: Extras | None) -> Reasoning | None:
    """Reasoning, or None where it may carry the signature of the call that follows, or has no summary."""
    if bytes(item.summary)[:1] != b"[" or bytes(item.content) == b"null":
        return None
    beside = extras.fields if extras is not None else {}
    part = parse_reasoning(bytes(item.summary), bytes(item.content), bytes(item.encrypted_content), beside)
    return None if part is None or signs_call(part) else part


def _parse_parts(raw: Raw, role: Role) -> PlainParts | None:
    """A list of texts and images, or None where it is empty or holds anything else than this role may say."""
    try:
        wire = _decode_parts(raw)
    except msgspec.DecodeError:
        return None
    traits = 0
    parts: list[Part] = []
    answers = role is ASSISTANT
    for part in wire:
        if (type(part) is _PlainOutputText) is not answers:
            return None
        if type(part) is _PlainInputImage:
            url = part.image_url
            if memoryview(url)[0] != QUOTE:
                return None
            traits |= MEDIA
            parts.append(Media(MediaKind.IMAGE, link_literal(url), detail=stated_detail(part.detail or None)))
            continue
        literal = bytes(part.text)
        if literal[0] != QUOTE or blank(literal):
            return None
        parts.append(Text(literal))
    return PlainParts(tuple(parts), traits) if parts else None
