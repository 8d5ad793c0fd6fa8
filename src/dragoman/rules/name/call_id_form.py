"""A call id that the target's form does not allow.

Providers limit the length of an id or its characters; Mistral wants exactly nine letters and digits. The call and its
result get an id made from the old one, so that the same id is made on every turn. The ids in the answer are mapped
back. If a target has no ids at all, calls and results are left without: their names and their order pair them.

Loses nothing.

For `mistral/mistral-large-latest`:

    user: Hi
    call look(toolu_01A) {}
    result toolu_01A: 12 degrees
becomes
    user: Hi
    call look(CL1ohiBbh) {}
    result CL1ohiBbh: 12 degrees
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.canonical import base62
from dragoman.conversation.changes import Loss, Note, Rewrite, Undo
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import ASSISTANT, TOOL, Message
from dragoman.conversation.parts import LEGACY, NO_ID, Call, Part, Result
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.naming import form, takes_common_ids
from dragoman.rules.rewriting import Swap, rewrite_parts
from dragoman.rules.rule import rule


@rule(
    "call-id-form",
    when=lambda facts: (
        (bool(facts.call_id_pattern) and facts.odd_call_id is Stance.REFUSES) or facts.call_ids is Stance.REFUSES
    ),
    looks_for=traits.CALLS | traits.UNPAIRED,
    narrows=lambda facts: (
        traits.ODD_IDS | traits.UNPAIRED
        if takes_common_ids(facts.call_id_pattern) and facts.call_ids is not Stance.REFUSES
        else None
    ),
    loses=Loss.NOTHING,
)
def call_id_form(conversation: Conversation, context: Context) -> Rewrite:
    if context.facts.call_ids is Stance.REFUSES:
        return rewrite_parts(conversation, _without_id)
    names = _make_ids(conversation, context)
    if not names:
        return Rewrite(conversation)
    notes: list[Note] = []
    called = {part.id for message in conversation.messages for part in message.parts if type(part) is Call}
    messages = tuple([_rename(message, names, called, notes) for message in conversation.messages])
    undo = Undo(ids={made: old for old, made in names.items()})
    return Rewrite(replace(conversation, messages=messages), tuple(notes), undo)


def _without_id(message: Message, part: Part) -> Swap | None:
    if not isinstance(part, (Call, Result)) or part.wire_form:
        return None
    return Swap((replace(part, wire_form=NO_ID),), "left out its id")


def _make_ids(conversation: Conversation, context: Context) -> dict[str, str]:
    facts = context.facts
    fits = form(facts.call_id_pattern).fullmatch
    known = _list_ids(conversation, context.translated)
    odd = [identity for identity in known if fits(identity) is None]
    if not odd:
        return {}
    used = known.keys() - odd
    return {identity: _make_id(identity, used, facts) for identity in odd}


def _list_ids(conversation: Conversation, translated: bool) -> dict[str, None]:
    """Every id once, in the order of its first mention. A legacy call has none on the wire, and keeps none."""
    turns = [message.parts for message in conversation.messages if message.role is ASSISTANT or message.role is TOOL]
    calls = [part for parts in turns for part in parts if type(part) is Call]
    results = [part for parts in turns for part in parts if type(part) is Result]
    named = [part.id for part in calls if translated or part.wire_form != LEGACY]
    answered = [part.call_id for part in results if translated or part.wire_form != LEGACY]
    return dict.fromkeys(named + answered)


def _make_id(identity: str, used: set[str], facts: Facts) -> str:
    """A new id, hashed again until no other call has it."""
    made = base62(identity, length=facts.call_id_length)
    while made in used:
        made = base62(made + identity, length=facts.call_id_length)
    used.add(made)
    return made


def _rename(message: Message, names: dict[str, str], called: set[str], notes: list[Note]) -> Message:
    """The message with its ids in the target's form. What is said of a call holds for its result too."""
    if message.role is not ASSISTANT and message.role is not TOOL:
        return message
    parts: list[Part] = []
    touched = False
    for part in message.parts:
        if type(part) is Call and part.id in names:
            made: Part = replace(part, id=names[part.id])
            notes.append(Note("wrote its id in the target's form", message, part, before=part, after=made))
            touched = True
        elif type(part) is Result and part.call_id in names:
            made = replace(part, call_id=names[part.call_id])
            if part.call_id not in called:
                notes.append(Note("wrote its id in the target's form", message, part, before=part, after=made))
            touched = True
        else:
            made = part
        parts.append(made)
    return replace(message, parts=tuple(parts)) if touched else message
