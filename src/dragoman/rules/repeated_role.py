"""Two turns of one role in a row, for a target that demands alternation.

They become one: plain texts are joined with a blank line, anything else as parts of one turn.

Loses nothing.

    user: Hi
    user: Are you there?
becomes
    user: Hi\\n\\nAre you there?
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import SYSTEM_ROLES, Conversation
from dragoman.conversation.literals import joined
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Text
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.rewriting import plain_text
from dragoman.rules.rule import rule


@rule(
    "repeated-role",
    when=lambda facts: facts.repeated_roles is Stance.REFUSES,
    looks_for=Trait.REPEATED_ROLE,
    loses=Loss.METADATA,
)
def repeated_role(conversation: Conversation, facts: Facts) -> Rewrite:
    messages: list[Message] = []
    notes: list[Note] = []
    run: list[Message] = []
    for message in conversation.messages:
        if run and run[0].role is message.role and message.role not in SYSTEM_ROLES:
            run.append(message)
            continue
        _close(run, messages, notes)
        run = [message]
    _close(run, messages, notes)
    return Rewrite(conversation.but(messages=tuple(messages)), tuple(notes)) if notes else Rewrite(conversation)


def _close(run: list[Message], messages: list[Message], notes: list[Note]) -> None:
    if len(run) < 2:
        messages.extend(run)
        return
    one = merged(run)
    messages.append(one)
    loses = Loss.NOTHING if one.name == run[0].name else Loss.METADATA
    notes += [
        Note("merged with the turn before it", message, loses=loses, before=message, after=one) for message in run[1:]
    ]


def merged(run: list[Message]) -> Message:
    """One turn of several. A name that not all of them bear goes."""
    first = run[0]
    if any(message.name != first.name for message in run):
        first = first.but(name=None)
    parts = tuple(part for message in run for part in message.parts)
    if first.role is Role.TOOL:
        return first.but(parts=parts, span=len(parts))
    if all(len(message.parts) == 1 for message in run) and plain_text(parts):
        return first.but(
            parts=(Text(joined("\n\n", [part.literal for part in parts if type(part) is Text])),), listed=False
        )
    return first.but(parts=parts, listed=len(parts) > 1)
