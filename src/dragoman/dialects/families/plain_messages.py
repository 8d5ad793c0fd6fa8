"""Messages of one plain part, as most of an agent's are: a text, a call with an object, a result of one text.

Dialects differ only in the words around the values, so a table says them, and one loop renders all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dragoman.conversation.literals import quote
from dragoman.conversation.messages import ASSISTANT, TOOL, USER, Message, Role
from dragoman.conversation.parts import LEGACY, Call, Result, Text
from dragoman.dialects.shared.parsed_messages import BRACE
from dragoman.dialects.shared.rendering import Pieces


class PlainForms(msgspec.Struct, frozen=True):
    """The words around the values of a plain message. Each message begins with a comma."""

    texts: Mapping[Role, bytes]
    """Before a text, by role; a brace ends its message. A role that is not named has no plain form."""
    lists: Mapping[Role, bytes]
    """The same for a text in a list."""
    call: bytes
    """Before the id of a call."""
    call_name: bytes
    call_arguments: bytes
    call_end: bytes
    result: bytes
    """Before the id that a result answers."""
    result_text: bytes
    result_end: bytes
    quotes_arguments: bool = True
    """Whether the arguments of a call are a text."""
    blank_calls: Mapping[bytes, bytes] = {}
    """Before the id of a call in a message with something in place of its content."""
    names_results: bool = False
    """Whether a result says the name of its tool."""
    joins_user: bool = False
    """Whether the user's text after results belongs to their message."""


def render_plain(messages: Sequence[Message], start: int, stop: int, forms: PlainForms, out: Pieces) -> int:
    """Render messages[start:stop] up to the first that is not plain. Where that one stands, or `stop`.

    One long loop on purpose: a function call for each message would double its cost. Each line reads attributes of one
    class only, which the interpreter caches.
    """
    for index in range(start, stop):
        message = messages[index]
        role, parts = message.role, message.parts
        if len(parts) != 1 or message.extras is not None or message.hint is not None or message.name is not None:
            return index
        only = parts[0]
        kind = type(only)
        if kind is Text:
            text: Any = only
            if message.role_text or message.prefill:
                return index
            if text.hint is not None or text.extras is not None or text.signature is not None:
                return index
            if message.listed and role in forms.lists:
                out += (forms.lists[role], text.literal, b"}]}")
            elif role in forms.texts:
                out += (forms.texts[role], text.literal, b"}")
            else:
                return index
        elif kind is Call and role is ASSISTANT:
            call: Any = only
            if call.hint is not None or call.extras is not None or call.signature is not None or call.custom:
                return index
            arguments = call.arguments
            if arguments[0] != BRACE or call.wire_form == LEGACY or message.prefill:
                return index
            head = forms.blank_calls[message.blank] if forms.blank_calls and message.blank else forms.call
            if forms.quotes_arguments:
                arguments = quote(arguments.decode())
            out += (head, quote(call.id), forms.call_name, quote(call.name), forms.call_arguments, arguments)
            out.append(forms.call_end)
        elif kind is Result and role is TOOL:
            result: Any = only
            is_joined = forms.joins_user and index + 1 < stop and messages[index + 1].role is USER
            if is_joined or (forms.names_results and result.name is not None) or not _is_plain_result(result):
                return index
            out += (forms.result, quote(result.call_id), forms.result_text, result.parts[0].literal, forms.result_end)
        else:
            return index
    return stop


def _is_plain_result(result: Result) -> bool:
    if len(result.parts) != 1 or result.listed or result.is_error or result.custom or result.wire_form == LEGACY:
        return False
    if result.hint is not None or result.extras is not None:
        return False
    only = result.parts[0]
    return type(only) is Text and only.hint is None and only.extras is None and only.signature is None
