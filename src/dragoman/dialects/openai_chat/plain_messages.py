"""The messages that nearly every client sends, parsed in one short loop.

These are texts, calls and results with the fields that they need and no others. A strict decode of just these fields
proves it, so that nothing else has to be looked for. Any other list is left to `message_parse`. This halves the cost of
parsing a long conversation.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dragoman.conversation.literals import EMPTY, blank
from dragoman.conversation.messages import ASSISTANT, TOOL, Message, Role
from dragoman.conversation.parts import Call, Json, Part, Result, Text
from dragoman.conversation.traits import CALLING, CODES, Trait, observe_ids, observe_name, observe_roles

_NULL = Raw(b"null")
_QUOTE, _BACKSLASH, _BRACE, _END = b'"\\{}'
_ALWAYS, _CALLS, _UNPAIRED = int(Trait.ALWAYS), int(Trait.CALLS), int(Trait.UNPAIRED)


class _PlainFunction(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    name: str
    arguments: str


class _PlainCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    id: str
    function: _PlainFunction
    type: Literal["function"] = "function"


class _PlainMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: Role
    content: Raw = _NULL
    tool_calls: list[_PlainCall] | UnsetType = UNSET  # null is no plain value: strict servers refuse it
    tool_call_id: str | UnsetType = UNSET


class _AnyObject(msgspec.Struct, gc=False):
    """Decodes any object and keeps nothing of it."""


_decode = msgspec.json.Decoder(list[_PlainMessage]).decode
_text = msgspec.json.Decoder(str).decode
_check_object = msgspec.json.Decoder(_AnyObject).decode


class PlainMessages(msgspec.Struct, frozen=True, gc=False):
    """The messages, and the traits that `observe_messages` would find in them."""

    messages: tuple[Message, ...]
    traits: int


def parse_plain(raw: bytes | Raw) -> PlainMessages | None:
    """The messages, or None where one of them is not plain.

    It is one loop that calls no functions and compares bytes as numbers: split into functions it costs twice as much.
    """
    try:
        wire = _decode(raw)
    except msgspec.DecodeError:
        return None
    traits = _ALWAYS
    done: list[Message] = []
    codes: list[str] = []
    ids: list[str] = []
    names: set[str] = set()
    called: list[str] = []
    answered: list[str] = []
    results: list[Result] = []
    for index, message in enumerate(wire):
        role = message.role
        content = bytes(message.content)
        has_text = content[0] == _QUOTE
        calls = message.tool_calls
        if has_text:
            second = content[1]
            if (second <= _QUOTE or second == _BACKSLASH) and blank(content):
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
            if answered != called:
                traits |= _UNPAIRED
            done.append(Message(TOOL, tuple(results), index - len(results), len(results)))
            codes.append("t")
            answered, results = [], []
        if calls is UNSET:
            if not has_text or identity is not UNSET:
                return None
            done.append(Message(role, (Text(content),), index))
            codes.append(CODES[role])
            continue
        if not calls or role is not ASSISTANT or not (has_text or content == b"null"):
            return None
        parts: list[Part] = [Text(content)] if has_text else []
        called = []
        for call in calls:
            function = call.function
            arguments = function.arguments.encode()
            if not arguments or arguments[0] != _BRACE or arguments[-1] != _END:
                return None
            try:
                _check_object(arguments)
            except (msgspec.DecodeError, RecursionError):
                return None
            parts.append(Call(call.id, function.name, arguments))
            called.append(call.id)
            names.add(function.name)
        ids += called
        done.append(Message(ASSISTANT, tuple(parts), index))
        codes.append(CALLING)
    if results:
        if answered != called:
            traits |= _UNPAIRED
        done.append(Message(TOOL, tuple(results), len(wire) - len(results), len(results)))
        codes.append("t")
    if ids:
        traits |= _CALLS | observe_ids(ids)
        for name in names:
            traits |= observe_name(name)
    return PlainMessages(tuple(done), traits | observe_roles("".join(codes)))


def parse_arguments(raw: bytes) -> Json:
    """The JSON object in an argument string; the string as it is where it holds none."""
    if raw[:1] != b'"':
        return b"{}" if raw in (b"", b"null") else raw
    text = _text(raw).encode().strip()
    try:
        _check_object(text)
    except (msgspec.DecodeError, RecursionError):
        return raw if text else b"{}"
    return text
