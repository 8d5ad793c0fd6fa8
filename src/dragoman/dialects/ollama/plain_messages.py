"""The messages that nearly every Ollama client sends, parsed in one short loop.

Calls and results may come without ids. Then a result answers the first waiting call of its name, as in the general
parser.
"""

from __future__ import annotations

from collections import deque
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, UnsetType

from dragoman.conversation.literals import EMPTY, blank
from dragoman.conversation.messages import ASSISTANT, TOOL, Message, Role
from dragoman.conversation.parts import NO_ID, Call, Part, Reasoning, Result, Text
from dragoman.conversation.traits import CALLING, CODES
from dragoman.dialects.ollama import THINKING
from dragoman.dialects.parsing import made_id
from dragoman.dialects.plain_messages import (
    ALWAYS,
    BACKSLASH,
    BRACE,
    LEGACY,
    QUOTE,
    REASONING,
    UNPAIRED,
    PlainMessages,
    finished,
)

_NONE = Raw()
_NO_ARGUMENTS = Raw(b"{}")
_Word = Annotated[str, Meta(min_length=1)]


class _PlainOllamaFunction(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: _Word
    arguments: Raw = _NO_ARGUMENTS
    index: int | UnsetType = UNSET


class _PlainOllamaCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    function: _PlainOllamaFunction
    id: _Word | UnsetType = UNSET
    type: Literal["function"] = "function"


class _PlainOllamaMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Role
    content: Raw = _NONE
    thinking: Raw = _NONE
    tool_calls: list[_PlainOllamaCall] | UnsetType = UNSET
    tool_name: _Word | UnsetType = UNSET
    tool_call_id: _Word | UnsetType = UNSET


_decode = msgspec.json.Decoder(list[_PlainOllamaMessage]).decode


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
    count = 0
    waiting: dict[str, deque[str]] = {}  # calls without an id, by name
    is_answered = has_ids = has_no_ids = False
    for index, message in enumerate(wire):
        role = message.role
        content = bytes(message.content)
        calls, thinking = message.tool_calls, bytes(message.thinking)
        if not content or content[0] != QUOTE:
            return None
        if role is TOOL:
            if calls is not UNSET or thinking:
                return None
            name = message.tool_name
            if message.tool_call_id is not UNSET:
                has_ids = True
                identity = message.tool_call_id
                results.append(Result(identity, (Text(content),), name=None if name is UNSET else name))
            elif name is not UNSET and waiting.get(name):
                has_no_ids = is_answered = True
                identity = waiting[name].popleft()
                results.append(Result(identity, (Text(content),), False, name, spelled=NO_ID))
            else:
                return None
            answered.append(identity)
            continue
        if message.tool_name is not UNSET or message.tool_call_id is not UNSET:
            return None
        if results:
            if answered != asked:
                traits |= UNPAIRED
            done.append(Message(TOOL, tuple(results), index - len(results), len(results)))
            codes.append("t")
            answered, results = [], []
        second = content[1]
        is_blank = (second <= QUOTE or second == BACKSLASH) and blank(content)
        parts: list[Part] = []
        if thinking:
            if role is not ASSISTANT or thinking[0] != QUOTE or thinking == EMPTY:
                return None
            traits |= REASONING
            parts.append(Reasoning(text=Text(thinking), field=THINKING))
        if calls is UNSET:
            if is_blank:
                return None
            parts.append(Text(content))
            done.append(Message(role, tuple(parts), index))
            codes.append(CODES[role])
            continue
        if not calls or role is not ASSISTANT or (is_blank and content != EMPTY):
            return None
        if not is_blank:
            parts.append(Text(content))
        if is_answered:
            waiting.clear()
            is_answered = False
        asked = []
        for call in calls:
            function = call.function
            arguments = bytes(function.arguments)
            if arguments[0] != BRACE:
                return None
            count += 1
            name = function.name
            names.add(name)
            if call.id is not UNSET:
                has_ids = True
                asked.append(call.id)
                parts.append(Call(call.id, name, arguments))
            else:
                has_no_ids = True
                identity = made_id(count, name)
                waiting.setdefault(name, deque()).append(identity)
                asked.append(identity)
                parts.append(Call(identity, name, arguments, None, False, NO_ID))
        ids += asked
        done.append(Message(ASSISTANT, tuple(parts), index))
        codes.append(CALLING)
    if results:
        if answered != asked:
            traits |= UNPAIRED
        done.append(Message(TOOL, tuple(results), len(wire) - len(results), len(results)))
        codes.append("t")
    if has_no_ids:
        if has_ids:
            return None
        traits |= LEGACY
    return finished(done, traits, codes, ids, names)
