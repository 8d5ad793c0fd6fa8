"""The messages that nearly every Chat client sends, parsed in one short loop.

Half the cost of parsing a long conversation is saved here.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.literals import EMPTY, blank
from dragoman.conversation.messages import ASSISTANT, TOOL, Message, Role
from dragoman.conversation.parts import Call, Json, Media, MediaKind, Part, Result, Text
from dragoman.conversation.traits import CALLING, CODES
from dragoman.dialects.parsing import cache_hint, link_literal, stated_detail
from dragoman.dialects.plain_messages import (
    ALWAYS,
    BACKSLASH,
    BRACE,
    END,
    HINTS,
    LIST,
    LISTED,
    LONG,
    MEDIA,
    QUOTE,
    UNPAIRED,
    PlainMessages,
    PlainParts,
    check_object,
    finished,
    long_content,
)

_NONE = Raw()
_NULL = Raw(b"null")


class _PlainFunction(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    arguments: str


class _PlainToolCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: Annotated[str, Meta(min_length=1)]
    function: _PlainFunction
    type: Literal["function"]


class _PlainMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Role
    content: Raw = _NULL
    tool_calls: list[_PlainToolCall] | UnsetType = (
        UNSET  # null is more than these fields need: strict servers refuse it
    )
    tool_call_id: str | UnsetType = UNSET


class _PlainTextPart(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="text"):
    text: Raw
    cache_control: Raw = _NONE


class _PlainImageUrl(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    url: Raw
    detail: str = "auto"


class _PlainImagePart(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="image_url"):
    image_url: _PlainImageUrl
    cache_control: Raw = _NONE


_decode = msgspec.json.Decoder(list[_PlainMessage]).decode
_decode_parts = msgspec.json.Decoder(list[_PlainTextPart | _PlainImagePart]).decode
_text = msgspec.json.Decoder(str).decode


def parse_plain(raw: bytes | Raw) -> PlainMessages | None:
    """The messages, or None where one of them is not plain."""
    try:
        wire = _decode(raw)
    except msgspec.DecodeError:
        return None
    traits = ALWAYS
    done: list[Message] = []
    codes: list[str] = []
    ids: list[str] = []
    names: set[str] = set()
    asked: list[str] = []
    answered: list[str] = []
    results: list[Result] = []
    for index, message in enumerate(wire):
        role = message.role
        raw_content = message.content
        content = bytes(raw_content) if len(raw_content) < LONG else long_content(raw_content)
        has_text = content[0] == QUOTE
        calls = message.tool_calls
        if has_text:
            second = content[1]
            if (second <= QUOTE or second == BACKSLASH) and blank(content):
                if content != EMPTY or not calls:
                    return None
                has_text, content = False, b"null"
        identity = message.tool_call_id
        if role is TOOL:
            if not has_text or not identity or calls is not UNSET:
                return None
            answered.append(identity)
            results.append(Result(identity, (Text(content),)))
            continue
        if results:
            if answered != asked:
                traits |= UNPAIRED
            done.append(Message(TOOL, tuple(results), index - len(results), len(results)))
            codes.append("t")
            answered, results = [], []
        if calls is UNSET:
            if identity is not UNSET:
                return None
            if has_text:
                done.append(Message(role, (Text(content),), index))
            else:
                found = _parse_parts(raw_content) if content[0] == LIST else None
                if found is None:
                    return None
                traits |= found.traits
                done.append(Message(role, found.parts, index, listed=True))
            codes.append(CODES[role])
            continue
        if not calls or role is not ASSISTANT or not (has_text or content == b"null"):
            return None
        parts: list[Part] = [Text(content)] if has_text else []
        asked = []
        for call in calls:
            function = call.function
            arguments = function.arguments.encode()
            if not arguments or arguments[0] != BRACE or arguments[-1] != END or not call.id:
                return None
            try:
                check_object(arguments)
            except (msgspec.DecodeError, RecursionError):
                return None
            parts.append(Call(call.id, function.name, arguments))
            asked.append(call.id)
            names.add(function.name)
        ids += asked
        stood = b"" if has_text or raw_content is _NULL else bytes(raw_content)
        done.append(Message(ASSISTANT, tuple(parts), index, blank=stood))
        codes.append(CALLING)
    if results:
        if answered != asked:
            traits |= UNPAIRED
        done.append(Message(TOOL, tuple(results), len(wire) - len(results), len(results)))
        codes.append("t")
    return finished(done, traits, codes, ids, names)


def _parse_parts(raw: Raw) -> PlainParts | None:
    """A list of texts and images, or None where it is empty or holds anything else."""
    try:
        wire = _decode_parts(raw)
    except msgspec.DecodeError:
        return None
    traits = LISTED
    parts: list[Part] = []
    for part in wire:
        hint = cache_hint(part.cache_control)
        if hint is not None:
            traits |= HINTS
        if type(part) is _PlainTextPart:
            literal = bytes(part.text)
            if literal[0] != QUOTE or blank(literal):
                return None
            parts.append(Text(literal, hint=hint))
        elif type(part) is _PlainImagePart:
            url = part.image_url.url
            if memoryview(url)[0] != QUOTE:
                return None
            traits |= MEDIA
            detail = stated_detail(part.image_url.detail)
            parts.append(Media(MediaKind.IMAGE, link_literal(url), detail=detail, hint=hint))
    return PlainParts(tuple(parts), traits) if parts else None


def parse_arguments(raw: bytes) -> Json:
    """An argument string decoded and checked: a JSON object, or the string as it was where it holds none.

    An empty one means no arguments. The schema of calls knows it, so it is a near miss.
    """
    if raw[:1] != b'"':
        return b"{}" if raw in (b"", b"null") else raw
    text = _text(raw).encode().strip()
    try:
        check_object(text)
    except (msgspec.DecodeError, RecursionError):
        return b"{}" if raw == EMPTY else raw
    return text
