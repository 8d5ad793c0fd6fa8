"""Calls and results as text, for targets that do not take them as what they are."""

from __future__ import annotations

from collections.abc import Set

from msgspec.structs import replace

from dragoman.conversation.changes import Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import join_texts, prefix_literal, quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.pairs import Spot
from dragoman.conversation.parts import NO_ID, Call, Json, Opaque, Part, Result, Text
from dragoman.rules.part_words import block_words
from dragoman.rules.rewriting import rewrite


def result_text(result: Result, name: str | None = None) -> tuple[Part, ...]:
    """`[tool_result name=… id=…]`, then the content. What is not known is left out of the header."""
    head = ["tool_result"]
    known = name or result.name
    if known:
        head.append(f"name={known}")
    if result.call_id and result.wire_form != NO_ID:
        head.append(f"id={result.call_id}")
    header = f"[{' '.join(head)}]\n"
    texts: list[Json] = []
    others: list[Part] = []
    for part in result.parts:
        words = part.literal if type(part) is Text else _read_whole(part)
        if words is not None:
            texts.append(words)
        else:
            others.append(part)
    return (Text(prefix_literal(header, join_texts("\n", texts))), *others)


def _read_whole(part: Part) -> Json | None:
    """The words of a block, which may have no place outside a result, if they are all that it says."""
    words = block_words(part) if type(part) is Opaque else None
    return words.literal if words is not None and words.whole else None


def call_text(call: Call) -> Text:
    """`[tool_call name=… id=…]`, then the arguments."""
    header = f"[tool_call name={call.name}" + (f" id={call.id}" if call.id and call.wire_form != NO_ID else "") + "]\n"
    arguments = call.arguments if call.arguments[:1] == b'"' else quote(call.arguments.decode())
    return Text(prefix_literal(header, arguments))


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
    return rewrite(conversation, notes, messages=tuple(messages))
