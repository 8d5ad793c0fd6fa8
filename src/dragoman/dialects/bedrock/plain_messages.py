"""The messages that nearly every Converse client sends, parsed in one short loop: texts, calls and their results."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.literals import blank, quote
from dragoman.conversation.messages import ASSISTANT, TOOL, USER, Message
from dragoman.conversation.parts import Call, Part, Result, Text
from dragoman.conversation.traits import CALLING
from dragoman.dialects.bedrock.message_parse import parse_system
from dragoman.dialects.plain_messages import (
    ALWAYS,
    BACKSLASH,
    BRACE,
    LISTED,
    MIXED_PARTS,
    QUOTE,
    RESULT_ERROR,
    RESULT_PARTS,
    UNPAIRED,
    Opening,
    PlainMessages,
    finished,
    opening_of,
)

_NONE = Raw()
_Word = Annotated[str, Meta(min_length=1)]


class _PlainConverseOutput(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: Raw = _NONE
    json: Raw = _NONE


class _PlainConverseCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    toolUseId: _Word  # noqa: N815
    name: _Word
    input: Raw


class _PlainConverseResult(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    toolUseId: _Word  # noqa: N815
    content: list[_PlainConverseOutput]
    status: Literal["success", "error"] = "success"


class _PlainConverseBlock(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: Raw = _NONE
    toolUse: _PlainConverseCall | UnsetType = UNSET  # noqa: N815
    toolResult: _PlainConverseResult | UnsetType = UNSET  # noqa: N815


class _PlainConverseMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Literal["user", "assistant"]
    content: list[_PlainConverseBlock]


_decode = msgspec.json.Decoder(list[_PlainConverseMessage]).decode


@remembered
def parse_opening(raw: bytes) -> Opening:
    return opening_of(tuple(parse_system(raw)))


def parse_plain(raw: bytes | Raw, opening: Opening) -> PlainMessages | None:
    """The messages with their opening, or None where one of them is not plain."""
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
    for index, message in enumerate(wire):
        if not message.content:
            return None
        is_model = message.role == "assistant"
        traits |= LISTED
        parts: list[Part] = []
        calls: list[str] = []
        results: list[Part] = []
        answered: list[str] = []
        for block in message.content:
            call, answer = block.toolUse, block.toolResult
            if call is not UNSET:
                arguments = bytes(call.input)
                if arguments[0] != BRACE or not is_model or answer is not UNSET or block.text is not _NONE:
                    return None
                calls.append(call.toolUseId)
                names.add(call.name)
                parts.append(Call(call.toolUseId, call.name, arguments))
            elif answer is not UNSET:
                if is_model or parts or block.text is not _NONE:
                    return None
                inside: list[Part] = []
                for output in answer.content:
                    literal, value = bytes(output.text), bytes(output.json)
                    if value and not literal:
                        literal = quote(value.decode())
                    elif value or not literal or literal[0] != QUOTE:
                        return None
                    inside.append(Text(literal))
                is_error = answer.status == "error"
                if is_error:
                    traits |= RESULT_ERROR
                if len(inside) != 1:
                    traits |= RESULT_PARTS
                answered.append(answer.toolUseId)
                results.append(Result(answer.toolUseId, tuple(inside), is_error, listed=True))
            else:
                literal = bytes(block.text)
                if not literal or literal[0] != QUOTE:
                    return None
                second = literal[1]
                if (second <= QUOTE or second == BACKSLASH) and blank(literal):
                    return None
                if calls:
                    traits |= MIXED_PARTS
                parts.append(Text(literal))
        if results:
            if answered != asked:
                traits |= UNPAIRED
            done.append(Message(TOOL, tuple(results), index, listed=True))
            codes.append("t")
        if parts:
            done.append(Message(ASSISTANT if is_model else USER, tuple(parts), index, listed=True))
            if calls:
                asked = calls
                ids += calls
                codes.append(CALLING)
            else:
                codes.append("a" if is_model else "u")
    return finished(done, traits, codes, ids, names)
