"""The contents that nearly every Gemini client sends, parsed in one short loop.

Calls and responses may come without ids. Then a response answers the first waiting call of its name, as in the general
parser.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Annotated, Literal, final

import msgspec
from msgspec import Meta, Raw

from dragoman.conversation import reasoning_states
from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.literals import blank
from dragoman.conversation.messages import ASSISTANT, TOOL, USER, Message
from dragoman.conversation.parts import NO_ID, Call, Inline, Media, Part, Reasoning, Result, Text
from dragoman.conversation.traits import CALLING, observe_message
from dragoman.dialects.gemini import ORIGIN
from dragoman.dialects.gemini.message_parse import (
    joined_thoughts,
    kind_of,
    parse_response,
    parse_system,
    parse_text,
    standard_base64,
)
from dragoman.dialects.parsing import made_id, parse_state
from dragoman.dialects.plain_messages import (
    ALWAYS,
    BACKSLASH,
    BLANK_TEXT,
    BRACE,
    LEGACY,
    MIXED_PARTS,
    QUOTE,
    RESULT_ERROR,
    RESULT_PARTS,
    SIGNED,
    UNPAIRED,
    Opening,
    PlainMessages,
    finished,
    opening_of,
)

_NONE = Raw()
_NO_ARGUMENTS = Raw(b"{}")


class _PlainFunctionCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    id: str = ""
    args: Raw = _NO_ARGUMENTS


@final
class _PlainResponse(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    output: Raw


class _PlainFunctionResponse(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: Annotated[str, Meta(min_length=1)]
    response: _PlainResponse
    id: str = ""


class _AnyFunctionResponse(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: Annotated[str, Meta(min_length=1)]
    response: Raw
    id: str = ""


class _PlainInlineData(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    mimeType: str  # noqa: N815
    data: Raw


class _KnownPart(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    text: Raw = _NONE
    thought: bool = False
    thoughtSignature: Raw = _NONE  # noqa: N815
    functionCall: _PlainFunctionCall | None = None  # noqa: N815
    inlineData: _PlainInlineData | None = None  # noqa: N815


class _PlainPart(_KnownPart, forbid_unknown_fields=True, gc=False):
    functionResponse: _PlainFunctionResponse | None = None  # noqa: N815


class _AnyPart(_KnownPart, forbid_unknown_fields=True, gc=False):
    functionResponse: _AnyFunctionResponse | None = None  # noqa: N815


class _PlainContent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Literal["user", "model"]
    parts: list[_PlainPart]


class _AnyContent(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Literal["user", "model"]
    parts: list[_AnyPart]


_END = _PlainContent("model", [])
"""Closes the last tool turn. It is no content itself."""
_decode_plain = msgspec.json.Decoder(list[_PlainContent]).decode
_decode_any = msgspec.json.Decoder(list[_AnyContent]).decode


@remembered
def parse_opening(raw: bytes) -> Opening:
    return opening_of(tuple(parse_system(raw)))


def parse_plain(raw: bytes | Raw, opening: Opening) -> PlainMessages | None:
    """The messages with their opening, or None where a content is not plain."""
    wire = _decode(raw)
    if wire is None:
        return None
    traits = ALWAYS | opening.traits
    done = list(opening.messages)
    codes = [opening.codes]
    ids: list[str] = []
    names: set[str] = set()
    asked: list[str] = []
    answered: list[str] = []
    results: list[Part] = []  # the tool turn that is being parsed, and what the user writes after it
    afterwards: list[Part] = []
    since = count = 0
    waiting: dict[str, deque[str]] = {}  # calls without an id, by name
    has_ids = has_no_ids = False
    for index, content in enumerate((*wire, _END)):
        is_model = content.role == "model"
        if not content.parts and content is not _END:
            return None
        if results and (is_model or afterwards or content.parts[0].functionResponse is None):
            if answered != asked:
                traits |= UNPAIRED
            done.append(Message(TOOL, tuple(results), since, index - since))
            codes.append("t")
            if afterwards:
                done.append(Message(USER, tuple(afterwards), since, index - since))
                codes.append("u")
            results, afterwards, answered = [], [], []
        if content is _END:
            break
        if is_model and waiting and done[-1].role is not ASSISTANT:
            waiting.clear()
        parts: list[Part] = []
        calls: list[str] = []
        has_rare = False
        for part in content.parts:
            call, answer = part.functionCall, part.functionResponse
            if call is not None:
                arguments = bytes(call.args)
                if arguments[0] != BRACE or not is_model or answer is not None or _holds_more(part):
                    return None
                name = call.name
                names.add(name)
                count += 1
                held = None
                if part.thoughtSignature is not _NONE:
                    signature = bytes(part.thoughtSignature)
                    if signature[0] != QUOTE:
                        return None
                    held = parse_state(reasoning_states.THOUGHT, signature, ORIGIN)
                    traits |= SIGNED
                if call.id:
                    has_ids = True
                    calls.append(call.id)
                    parts.append(Call(call.id, name, arguments, held))
                else:
                    has_no_ids = True
                    identity = made_id(count, name)
                    waiting.setdefault(name, deque()).append(identity)
                    calls.append(identity)
                    parts.append(Call(identity, name, arguments, held, False, NO_ID))
            elif answer is not None:
                if is_model or parts or part.thoughtSignature is not _NONE or _holds_more(part):
                    return None
                spelled = ""
                identity, name = answer.id, answer.name
                if identity:
                    has_ids = True
                elif waiting.get(name):
                    has_no_ids = True
                    identity, spelled = waiting[name].popleft(), NO_ID
                else:
                    return None
                response = answer.response
                outcome: tuple[Part, ...]
                is_error = False
                if type(response) is _PlainResponse:
                    literal = bytes(response.output)
                    if literal[0] != QUOTE:
                        return None
                    outcome = (Text(literal),)
                else:
                    text = bytes(response)
                    if text[0] != BRACE:
                        return None
                    outcome, is_error = parse_response(text)
                    traits |= RESULT_ERROR if is_error else 0
                    traits |= RESULT_PARTS if len(outcome) != 1 else 0
                if not results:
                    since = index
                answered.append(identity)
                results.append(Result(identity, outcome, is_error, name, False, False, spelled))
            elif part.thought or part.thoughtSignature is not _NONE or part.inlineData is not None:
                rare = _parse_rare(part)
                if rare is None or (type(rare) is Reasoning and not is_model):
                    return None
                has_rare = True
                parts.append(rare)
            else:
                literal = bytes(part.text)
                if not literal or literal[0] != QUOTE:
                    return None
                second = literal[1]
                if (second <= QUOTE or second == BACKSLASH) and blank(literal):
                    traits |= BLANK_TEXT
                if calls:
                    traits |= MIXED_PARTS
                parts.append(Text(literal))
        if has_rare:
            parts = list(joined_thoughts(parts))
            traits |= observe_message(Message(USER, tuple(parts)))
        if is_model:
            done.append(Message(ASSISTANT, tuple(parts), index))
            if calls:
                asked = calls
                ids += calls
                codes.append(CALLING)
            else:
                codes.append("a")
        elif results:
            afterwards = parts
        else:
            done.append(Message(USER, tuple(parts), index))
            codes.append("u")
    if has_no_ids:
        if has_ids:
            return None
        traits |= LEGACY
    return finished(done, traits, codes, ids, names)


def _decode(raw: bytes | Raw) -> Sequence[_PlainContent | _AnyContent] | None:
    try:
        return _decode_plain(raw)
    except msgspec.DecodeError:
        pass
    try:
        return _decode_any(raw)
    except msgspec.DecodeError:
        return None


def _holds_more(part: _KnownPart) -> bool:
    """Whether something stands beside the call or the response of a part."""
    return part.text is not _NONE or part.thought or part.inlineData is not None


def _parse_rare(part: _KnownPart) -> Part | None:
    """A thought, a signed text or inline data."""
    literal, signature = bytes(part.text), bytes(part.thoughtSignature)
    inline = part.inlineData
    if inline is None:
        if literal[:1] not in (b"", b'"') or signature[:1] not in (b"", b'"') or not (literal or signature):
            return None
        return parse_text(literal, part.thought or not literal, signature, None)
    content = bytes(inline.data)
    if literal or signature or part.thought or content[0] != QUOTE or content.startswith(b'"data:'):
        return None
    return Media(kind_of(inline.mimeType), Inline(inline.mimeType, standard_base64(content)))
