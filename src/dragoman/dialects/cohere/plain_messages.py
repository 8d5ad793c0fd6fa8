"""The messages that nearly every Cohere client sends, parsed in one short loop.

Words may be a string or a list of texts, and results have documents besides, as Cohere's own guide hands them in.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.literals import EMPTY, blank
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, TOOL, Message, Role
from dragoman.conversation.parts import Call, Part, Result, Text
from dragoman.conversation.traits import CALLING, CODES, observe_result
from dragoman.dialects.cohere.documents import parse_document
from dragoman.dialects.plain_messages import (
    ALWAYS,
    BACKSLASH,
    BRACE,
    END,
    LIST,
    LISTED,
    QUOTE,
    UNPAIRED,
    PlainMessages,
    check_object,
    finished,
)

_NONE = Raw()
_EMPTY_LIST = b'[{"type":"text","text":""}]'
"""What some clients write beside calls."""
_Word = Annotated[str, Meta(min_length=1)]


class _PlainCohereFunction(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: _Word
    arguments: str


class _PlainCohereCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: _Word
    function: _PlainCohereFunction
    type: Literal["function"]


class _PlainCohereMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Role
    content: Raw = _NONE
    tool_calls: list[_PlainCohereCall] | UnsetType = UNSET
    tool_plan: Raw = _NONE
    tool_call_id: _Word | UnsetType = UNSET


class _PlainCohereDocument(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    data: Raw
    id: str | UnsetType = UNSET


class _PlainDocumentPart(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="document"):
    document: Raw


class _PlainResultText(msgspec.Struct, forbid_unknown_fields=True, gc=False, tag="text"):
    text: Raw


_decode = msgspec.json.Decoder(list[_PlainCohereMessage]).decode
_decode_parts = msgspec.json.Decoder(list[_PlainDocumentPart | _PlainResultText]).decode
_decode_texts = msgspec.json.Decoder(list[_PlainResultText]).decode
_check_document = msgspec.json.Decoder(_PlainCohereDocument).decode


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
    results: list[Part] = []
    for index, message in enumerate(wire):
        role = message.role
        content, plan = bytes(message.content), bytes(message.tool_plan)
        calls, identity = message.tool_calls, message.tool_call_id
        if role is TOOL:
            if not content or identity is UNSET or calls is not UNSET or plan:
                return None
            if content[0] == QUOTE:
                results.append(Result(identity, (Text(content),)))
            else:
                parts_of_result = _parse_result(content) if content[0] == LIST else None
                if parts_of_result is None:
                    return None
                result = Result(identity, parts_of_result, listed=True)
                traits |= observe_result(result)
                results.append(result)
            answered.append(identity)
            continue
        if identity is not UNSET or role is DEVELOPER:
            return None
        if results:
            if answered != asked:
                traits |= UNPAIRED
            done.append(Message(TOOL, tuple(results), index - len(results), len(results)))
            codes.append("t")
            answered, results = [], []
        listed = content[:1] == b"["
        if content == _EMPTY_LIST and calls is not UNSET:
            content, listed = b"", False
        texts = _parse_texts(content) if listed else [content] if content and content != EMPTY else []
        if texts is None:
            return None
        parts: list[Part] = []
        for literal in texts if not plan or plan == EMPTY else [*texts, plan]:
            if literal[0] != QUOTE:
                return None
            second = literal[1]
            if (second <= QUOTE or second == BACKSLASH) and blank(literal):
                return None
            parts.append(Text(literal))
        traits |= LISTED if listed else 0
        if calls is UNSET:
            if not parts or plan:
                return None
            done.append(Message(role, tuple(parts), index, listed=listed))
            codes.append(CODES[role])
            continue
        if not calls or role is not ASSISTANT:
            return None
        asked = []
        for call in calls:
            function = call.function
            arguments = function.arguments.encode()
            if not arguments or arguments[0] != BRACE or arguments[-1] != END:
                return None
            try:
                check_object(arguments)
            except (msgspec.DecodeError, RecursionError):
                return None
            parts.append(Call(call.id, function.name, arguments))
            asked.append(call.id)
            names.add(function.name)
        ids += asked
        done.append(Message(ASSISTANT, tuple(parts), index, listed=listed))
        codes.append(CALLING)
    if results:
        if answered != asked:
            traits |= UNPAIRED
        done.append(Message(TOOL, tuple(results), len(wire) - len(results), len(results)))
        codes.append("t")
    return finished(done, traits, codes, ids, names)


def _parse_texts(content: bytes) -> list[bytes] | None:
    """The texts of a list, or None where it has anything else, or nothing."""
    try:
        return [bytes(wire.text) for wire in _decode_texts(content)] or None
    except msgspec.DecodeError:
        return None


def _parse_result(content: bytes) -> tuple[Part, ...] | None:
    """Texts and documents, or None where there is anything else."""
    parts: list[Part] = []
    try:
        for wire in _decode_parts(content):
            if type(wire) is _PlainResultText:
                literal = bytes(wire.text)
                part: Part | None = Text(literal) if literal[0] == QUOTE else None
            elif type(wire) is _PlainDocumentPart:
                _check_document(wire.document)
                part = parse_document(bytes(wire.document))
            if part is None:
                return None
            parts.append(part)
    except msgspec.DecodeError:
        return None
    return tuple(parts) or None
