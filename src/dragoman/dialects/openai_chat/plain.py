"""The messages that nearly every client sends, read in one short loop.

Text, calls and results with no field besides those that they need: a strict decode of just these fields proves that
nothing else is there, so that nothing else has to be looked for. Anything more is left to the full reader. Half the cost
of reading a long conversation is saved here.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw

from dragoman.conversation.messages import ASSISTANT, DEVELOPER, SYSTEM, TOOL, USER, Message
from dragoman.conversation.parts import Call, Json, Part, Result, Text

_NONE = Raw()
_ROLES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM, "developer": DEVELOPER}
_SILENT = (b"", b"null", b'""')


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


def read_plain(raw: bytes | Raw) -> tuple[Message, ...] | None:
    """The messages, or None where one of them is not plain."""
    try:
        wire = _decode(raw)
    except msgspec.DecodeError:
        return None
    done: list[Message] = []
    results: list[Part] = []
    for index, message in enumerate(wire):
        role = message.role
        content = bytes(message.content)
        if role == "tool":
            if content[:1] != b'"' or not message.tool_call_id or message.tool_calls is not None:
                return None
            results.append(Result(message.tool_call_id, (Text(content),)))
            continue
        if results:
            done.append(Message(TOOL, tuple(results), index - len(results), len(results)))
            results = []
        if message.tool_calls:
            if role != "assistant" or not (content in _SILENT or content[:1] == b'"'):
                return None
            done.append(Message(ASSISTANT, _parts(content, message.tool_calls), index))
        elif content[:1] == b'"' and role in _ROLES and message.tool_calls is None and message.tool_call_id is None:
            done.append(Message(_ROLES[role], (Text(content),), index))
        else:
            return None
    if results:
        done.append(Message(TOOL, tuple(results), len(wire) - len(results), len(results)))
    return tuple(done)


def _parts(content: bytes, calls: list[_Call]) -> tuple[Part, ...]:
    called = [Call(call.id, call.function.name, read_arguments(bytes(call.function.arguments))) for call in calls]
    return tuple(called) if content in _SILENT else (Text(content), *called)


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
