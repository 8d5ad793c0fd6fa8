"""Cache hints at places that a target has: on a tool's result and not inside it, on a part and not on the request."""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation.changes import Loss, Note
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Media, Part, Result, Text
from dragoman.rules.rewriting import kept

_BEARERS = (Text, Media, Call, Result)


def on_last_part(conversation: Conversation, notes: list[Note]) -> Conversation:
    """The conversation whose hint for the whole request stands on its last part, which means the same."""
    hint = conversation.hint
    for index in reversed(range(len(conversation.messages)) if hint is not None else range(0)):
        message = conversation.messages[index]
        place = next(
            (at for at in reversed(range(len(message.parts))) if isinstance(message.parts[at], _BEARERS)), None
        )
        if place is None:
            continue
        part = message.parts[place]
        notes.append(
            Note("moved the cache hint to the last part", key="cache_control", loses=Loss.NOTHING, before=hint)
        )
        hinted = replace(part, hint=part.hint or hint)
        changed = replace(message, parts=(*message.parts[:place], hinted, *message.parts[place + 1 :]))
        messages = (*conversation.messages[:index], changed, *conversation.messages[index + 1 :])
        return replace(conversation, messages=messages, hint=None)
    return conversation


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
