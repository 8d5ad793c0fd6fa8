"""Where in the client's body the value stands that a dialect cannot express.

A codec says which setting or message it means, or nothing at all. What it does not say is found by asking it again
about each message, part and tool alone. That takes as long as rendering once more, and only for a request that ends
here.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from dragoman.conversation.changes import Note
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Text
from dragoman.dialects.dialect import RenderOptions, RenderRequest
from dragoman.engine.compile.report import ReportBuilder
from dragoman.errors import Unrepresentable

_WORDS = Message(Role.USER, (Text(b'"Hello"'),))


def with_place(fault: Unrepresentable, ask: Ask, found: Note | None = None) -> Unrepresentable:
    """The error with a pointer into the client's body, and the client's own name for a setting that it speaks of."""
    note = found or _note(fault, ask.conversation)
    at = fault.at if note is None else ReportBuilder(ask).pointer(note)
    message, key = fault.message, fault.key
    if key and at and message.startswith(f"{key} "):
        message = at[at.rindex("/") + 1 :] + message.removeprefix(key)
    return Unrepresentable(message, at=at, hint=fault.hint, key=key, item=fault.item)


def _note(fault: Unrepresentable, conversation: Conversation) -> Note | None:
    if fault.key:
        return Note("", key=fault.key)
    found = [message for message in conversation.messages if message.at == fault.item]
    return Note("", message=found[0]) if found else None


def find_in(
    fault: Unrepresentable, conversation: Conversation, render: RenderRequest, options: RenderOptions
) -> Note | None:
    """What a codec refuses with the same words when it stands alone. None if the fault itself says what it means."""
    if fault.key or fault.item is not None:
        return None
    for alone, note in _pieces(conversation):
        if _refusal(alone, render, options) == fault.message:
            return _narrow(fault, note, render, options)
    return None


def _pieces(conversation: Conversation) -> Iterator[tuple[Conversation, Note]]:
    """Conversations of one message, one tool or the fields of the client's dialect, each with what it is about."""
    for index, message in enumerate(conversation.messages):
        begin = index - (message.role is Role.TOOL and index > 0)  # the calls before results name their tools
        yield Conversation(conversation.messages[begin : index + 1]), Note("", message=message)
    for tool in conversation.tools:
        yield Conversation((_WORDS,), (tool,)), Note("", key=tool.place)
    if conversation.extras is not None:
        field = next(iter(conversation.extras.fields), "")
        yield Conversation((_WORDS,), extras=conversation.extras), Note("", key=field.replace(".", "/"))


def _narrow(fault: Unrepresentable, note: Note, render: RenderRequest, options: RenderOptions) -> Note:
    """The part of the message that is refused alone, else the message."""
    message = note.message
    for part in message.parts if message is not None else ():
        alone = Conversation((replace(message, parts=(part,)),)) if message is not None else Conversation(())
        if _refusal(alone, render, options) == fault.message:
            return replace(note, part=part)
    return note


def _refusal(conversation: Conversation, render: RenderRequest, options: RenderOptions) -> str | None:
    try:
        render(conversation, options)
    except Unrepresentable as fault:
        return fault.message
    return None
