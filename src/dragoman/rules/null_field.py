"""A field of a message or a part that holds nothing, for a target that takes no fields it does not know.

SDKs write what an answer did not have (`refusal: null`, `parsed: null`) back into the history.

Loses nothing: null means absent.
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Extras, Part, Result
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.rewriting import but
from dragoman.rules.rule import rule

_NOTHING = (b"null", b"[]")


@rule(
    "null-field",
    spelling=True,
    when=lambda facts: True,
    looks_for=Trait.MESSAGE_EXTRAS | Trait.PART_EXTRAS,
    loses=Loss.NOTHING,
)
def null_field(conversation: Conversation, facts: Facts) -> Rewrite:
    notes: list[Note] = []
    messages = tuple([_message(message, facts, notes) for message in conversation.messages])
    return Rewrite(conversation.but(messages=messages), tuple(notes)) if notes else Rewrite(conversation)


def _message(message: Message, facts: Facts, notes: list[Note]) -> Message:
    parts = tuple([_part(message, part, facts, notes) for part in message.parts])
    extras = _filled(message.extras, message, facts)
    if extras is not message.extras:
        notes.append(_note(message.extras, extras, message, None))
    elif all(one is other for one, other in zip(parts, message.parts, strict=True)):
        return message
    return message.but(parts=parts, extras=extras)


def _part(message: Message, part: Part, facts: Facts, notes: list[Note]) -> Part:
    if type(part) is Result:
        inner = tuple([_part(message, one, facts, notes) for one in part.parts])
        if any(one is not other for one, other in zip(inner, part.parts, strict=True)):
            part = but(part, parts=inner)
    extras = _filled(part.extras, message, facts)
    if extras is part.extras:
        return part
    notes.append(_note(part.extras, extras, message, part))
    return but(part, extras=extras)  # type: ignore[no-any-return]


def _filled(extras: Extras | None, message: Message, facts: Facts) -> Extras | None:
    """The fields without the empty ones that may not stay: the same object if all may."""
    if extras is None:
        return None
    allowed: set[str] = set()
    if extras.dialect == facts.dialect:
        if facts.unknown_fields is not Stance.REFUSES:
            return extras
        allowed = {*facts.message_fields.get(message.role.value, ()), *facts.message_fields.get("*", ())}
    fields = {name: value for name, value in extras.fields.items() if value not in _NOTHING or name in allowed}
    if len(fields) == len(extras.fields):
        return extras
    return Extras(extras.dialect, fields) if fields else None


def _note(before: Extras | None, after: Extras | None, message: Message, part: Part | None) -> Note:
    gone = sorted((before.fields.keys() if before else set()) - (after.fields.keys() if after else set()))
    return Note(f"left out {', '.join(f'`{name}`' for name in gone)}, which held nothing", message, part)
