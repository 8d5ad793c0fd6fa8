"""Cache hints outside of results: for targets that take hints on a tool's result, and none on the parts of it."""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation.changes import Note
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Part, Result
from dragoman.rules.rewriting import kept


def outside_results(conversation: Conversation, notes: list[Note]) -> Conversation:
    """The conversation whose results have no hints inside. The same one where none has."""
    messages = kept(conversation.messages, [_message(message, notes) for message in conversation.messages])
    return conversation if messages is conversation.messages else replace(conversation, messages=messages)


def _message(message: Message, notes: list[Note]) -> Message:
    parts = kept(message.parts, [_part(message, part, notes) for part in message.parts])
    return message if parts is message.parts else replace(message, parts=parts)


def _part(message: Message, part: Part, notes: list[Note]) -> Part:
    """The last hint inside covers the longest prefix. It goes to the result, unless that has one."""
    if type(part) is not Result:
        return part
    hints = [inner.hint for inner in part.parts if inner.hint is not None]
    if not hints:
        return part
    notes.append(Note("moved a cache hint from inside a result to the result", message, part, before=hints[-1]))
    bare = tuple([inner if inner.hint is None else replace(inner, hint=None) for inner in part.parts])
    return replace(part, parts=bare, hint=part.hint or hints[-1])
