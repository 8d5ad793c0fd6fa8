"""Words and calls in one turn, for a model that takes them only apart.

Some models behind Bedrock refuse a turn in which the assistant says something and calls a tool. The words become a turn
of their own before the calls. A short user turn stands between (`texts.trailing_user`), since two turns of one role in
a row are not known to be taken either. White space says nothing, so it gets no turn and is left out.

Loses order, if words followed a call; adds a turn.

    user: Hi
    assistant: One moment.
    call look(c1) {}
    result c1: 12 degrees
becomes
    user: Hi
    assistant: One moment.
    user: Please continue.
    call look(c1) {}
    result c1: 12 degrees
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Part, Reasoning, Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite
from dragoman.rules.rule import rule


@rule(
    "text-beside-calls",
    when=lambda facts: facts.text_beside_calls is Stance.REFUSES,
    looks_for=traits.CALLS,
    loses=Loss.ORDER,
)
def text_beside_calls(conversation: Conversation, context: Context) -> Rewrite:
    bridge = Message(Role.USER, (Text(quote(context.text("trailing_user"))),))
    messages: list[Message] = []
    notes: list[Note] = []
    for message in conversation.messages:
        words, calls = _part_words(message)
        if not words or not calls:
            messages.append(message)
            continue
        if all(type(part) is Text and part.blank for part in words):
            messages.append(replace(message, parts=calls))
            notes.append(Note("left out white space beside its calls", message, loses=Loss.NOTHING, before=message))
            continue
        messages += (replace(message, parts=words), bridge, replace(message, parts=calls))
        notes.append(Note("parted its words from its calls", message, kind="synthetic", after=bridge))
    return rewrite(conversation, notes, messages=tuple(messages))


def _part_words(message: Message) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """What an assistant's turn says, and what it calls. Thinking belongs to the calls that follow from it."""
    if message.role is not Role.ASSISTANT or not any(type(part) is Call for part in message.parts):
        return (), ()
    calls = tuple([part for part in message.parts if type(part) in (Call, Reasoning)])
    return tuple([part for part in message.parts if type(part) not in (Call, Reasoning)]), calls
