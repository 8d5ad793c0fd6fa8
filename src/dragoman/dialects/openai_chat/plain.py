"""The messages that nearly every client sends, read in one short loop.

Text, calls and results with no field besides those that they need: a strict decode of just these fields proves that
nothing else is there, so that nothing else has to be looked for. Anything more is left to the full reader. Half the
cost of reading a long conversation is saved here.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw

from dragoman.conversation.literals import EMPTY, blank
from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Message
from dragoman.conversation.parts import Call, Json, Part, Result, Text
from dragoman.conversation.traits import CALLING, Trait, observe_ids, observe_name, observe_roles

_NONE = Raw()
_ROLES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM, "developer": DEVELOPER}
_SILENT = (b"", b"null")
_BLANK_HEADS = b' "\\'
_ALWAYS, _CALLS = int(Trait.ALWAYS), int(Trait.CALLS)
_UNPAIRED, _BAD_ARGUMENTS = int(Trait.UNPAIRED), int(Trait.BAD_ARGUMENTS)
_BRACE = ord("{")


class _Function(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    arguments: Raw


class _Call(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: str
    function: _Function
    type: Literal["function"] = "function"


class _Message(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: Raw = _NONE
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _AnyObject(msgspec.Struct, gc=False):
    """Reads any object and keeps nothing of it."""


_decode = msgspec.json.Decoder(list[_Message]).decode
_text = msgspec.json.Decoder(str).decode
_check_object = msgspec.json.Decoder(_AnyObject).decode


class Plain(msgspec.Struct, frozen=True, gc=False):
    """The messages, and the traits that `observe_messages` would find in them: the loop has seen them all."""

    messages: tuple[Message, ...]
    traits: int


def read_plain(raw: bytes | Raw) -> Plain | None:
    """The messages, or None where one of them is not plain."""
    try:
        wire = _decode(raw)
    except msgspec.DecodeError:
        return None
    traits = _ALWAYS
    done: list[Message] = []
    codes: list[str] = []
    every: list[Call] = []
    called: list[Call] = []
    results: list[Part] = []
    for index, message in enumerate(wire):
        role = message.role
        content = bytes(message.content)
        spoken = content[:1] == b'"'
        if spoken and content[1] in _BLANK_HEADS and blank(content):
            if content != EMPTY or not message.tool_calls:
                return None
            spoken, content = False, b""
        if role == "tool":
            identity = message.tool_call_id
            if not spoken or not identity or message.tool_calls is not None:
                return None
            if len(results) >= len(called) or called[len(results)].id != identity:
                traits |= _UNPAIRED
            results.append(Result(identity, (Text(content),)))
            continue
        if results:
            if len(results) != len(called):
                traits |= _UNPAIRED
            done.append(Message(TOOL, tuple(results), index - len(results), len(results)))
            codes.append("t")
            results = []
        calls = message.tool_calls
        if calls:
            if role != "assistant" or not (spoken or content in _SILENT):
                return None
            called = [_call(call) for call in calls]
            every += called
            done.append(Message(ASSISTANT, (Text(content), *called) if spoken else tuple(called), index))
            codes.append(CALLING)
        elif spoken and role in _ROLES and calls is None and message.tool_call_id is None:
            done.append(Message(_ROLES[role], (Text(content),), index))
            codes.append(role[0])
        else:
            return None
    if results:
        if len(results) != len(called):
            traits |= _UNPAIRED
        done.append(Message(TOOL, tuple(results), len(wire) - len(results), len(results)))
        codes.append("t")
    if every:
        traits |= _call_traits(every) | observe_ids([call.id for call in every])
    return Plain(tuple(done), traits | observe_roles("".join(codes)))


def _call(wire: _Call) -> Call:
    function = wire.function
    return Call(wire.id, function.name, read_arguments(bytes(function.arguments)))


def _call_traits(calls: list[Call]) -> int:
    traits = _CALLS
    for name in {call.name for call in calls}:
        traits |= observe_name(name)
    return traits | _BAD_ARGUMENTS if any(call.arguments[0] != _BRACE for call in calls) else traits


def read_arguments(raw: bytes) -> Json:
    """An argument string decoded and checked: a JSON object, or the string as it was where it holds none."""
    if raw[:1] != b'"':
        return b"{}" if raw in (b"", b"null") else raw
    text = _text(raw).encode().strip()
    try:
        _check_object(text)
    except (msgspec.DecodeError, RecursionError):
        return raw if text else b"{}"
    return text
