"""Calls and results as text, for targets that do not take them as what they are."""

from __future__ import annotations

from collections.abc import Set

from msgspec.structs import replace

from dragoman.conversation.changes import Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import joined, prefixed, quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.pairs import Spot
from dragoman.conversation.parts import NO_ID, Call, Opaque, Part, Result, Text


def result_text(result: Result, name: str | None = None) -> tuple[Part, ...]:
    """`[tool_result name=… id=…]`, then the content. What is not known is left out of the header."""
    words = ["tool_result"]
    known = name or result.name
    if known:
        words.append(f"name={known}")
    if result.call_id and result.wire_form != NO_ID:
        words.append(f"id={result.call_id}")
    header = f"[{' '.join(words)}]\n"
    texts = [part.literal for part in result.parts if type(part) is Text]
    others = tuple(part for part in result.parts if type(part) is not Text)
    return (Text(prefixed(header, joined("\n", texts))), *others)


def call_text(call: Call) -> Text:
    """`[tool_call name=… id=…]`, then the arguments."""
    header = f"[tool_call name={call.name}" + (f" id={call.id}" if call.id and call.wire_form != NO_ID else "") + "]\n"
    arguments = call.arguments if call.arguments[:1] == b'"' else quote(call.arguments.decode())
    return Text(prefixed(header, arguments))


def results_to_text(conversation: Conversation, chosen: Set[Spot], did: str) -> Rewrite:
    """Some results become a user turn where they stand. The others of their turn keep their place before it, and so do
    blocks that stand for results."""
    if not chosen:
        return Rewrite(conversation)
    messages: list[Message] = []
    notes: list[Note] = []
    for at, message in enumerate(conversation.messages):
        picked = [one for index, one in enumerate(message.parts) if type(one) is Result and (at, index) in chosen]
        if not picked:
            messages.append(message)
            continue
        rest = tuple(
            [one for index, one in enumerate(message.parts) if type(one) is Opaque or (at, index) not in chosen]
        )
        if rest:
            messages.append(replace(message, parts=rest))
        words: list[Part] = []
        for result in picked:
            text = result_text(result)
            words += text
            notes.append(Note(did, message, result, before=result, after=text))
        messages.append(Message(Role.USER, tuple(words), message.at, message.span, listed=len(words) > 1))
    return Rewrite(replace(conversation, messages=tuple(messages)), tuple(notes)) if notes else Rewrite(conversation)
