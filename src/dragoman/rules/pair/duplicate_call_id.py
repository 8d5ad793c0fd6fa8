"""A call id that two calls share.

Providers match results to calls by id, so many refuse an id that is used twice: in one turn, or in the whole
conversation. The later call and the result that answers it get a new id, made from the old one and the number of times
it was used before. The same conversation with more turns gets the same ids. The ids in the answer are mapped back.

Loses nothing.

    user: Hi
    call look(c1) {}
    result c1: 12 degrees
    call look(c1) {}
    result c1: 13 degrees
becomes
    user: Hi
    call look(c1) {}
    result c1: 12 degrees
    call look(VjGzKEIJxZ8nNuBGYYZR7jQY) {}
    result VjGzKEIJxZ8nNuBGYYZR7jQY: 13 degrees
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite, Undo
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import ASSISTANT, Message
from dragoman.conversation.pairs import Spot, pair
from dragoman.conversation.parts import Call, Opaque
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.naming import make_fresh_id
from dragoman.rules.rule import FAIL, rule


@rule(
    "duplicate-call-id",
    when=lambda facts: Stance.REFUSES in (facts.duplicate_ids, facts.duplicate_ids_in_turn),
    looks_for=traits.DUPLICATE_ID,
    loses=Loss.NOTHING,
    demands=lambda choice: choice == FAIL,
)
def duplicate_call_id(conversation: Conversation, context: Context) -> Rewrite:
    fails = context.choice("duplicate-call-id") == FAIL
    renamed, undo = _make_ids(conversation, context.facts, fails)
    if not renamed:
        return Rewrite(conversation)
    notes: list[Note] = []
    messages = tuple([_rename(message, at, renamed, notes) for at, message in enumerate(conversation.messages)])
    return Rewrite(replace(conversation, messages=messages), tuple(notes), Undo(ids=undo))


def _make_ids(conversation: Conversation, facts: Facts, everywhere: bool) -> tuple[dict[Spot, str], dict[str, str]]:
    """Each call to be renamed, and its answer, with the new id. `everywhere`: whatever the target takes."""
    answers = pair(conversation.messages).answers
    seen: dict[str, int] = {}
    renamed: dict[Spot, str] = {}
    undo: dict[str, str] = {}
    in_turn: set[str] = set()
    for at, message in enumerate(conversation.messages):
        if message.role is not ASSISTANT:
            in_turn = set()  # messages of the model that follow each other are one turn
        for index, part in enumerate(message.parts):
            if type(part) is not Call:
                continue
            count = seen.get(part.id, 0)
            seen[part.id] = count + 1
            refused = everywhere or facts.duplicate_ids is Stance.REFUSES or part.id in in_turn
            in_turn.add(part.id)
            if not count or not refused:
                continue
            made = make_fresh_id(part.id, count, facts)
            undo[made] = part.id
            renamed[(at, index)] = made
            if (at, index) in answers:
                renamed[answers[(at, index)]] = made
    return renamed, undo


def _rename(message: Message, at: int, renamed: dict[Spot, str], notes: list[Note]) -> Message:
    parts = list(message.parts)
    touched = False
    for index, part in enumerate(parts):
        made = renamed.get((at, index))
        if made is None or type(part) is Opaque:
            continue
        touched = True
        is_call = type(part) is Call
        parts[index] = replace(part, id=made) if is_call else replace(part, call_id=made)
        if is_call:
            notes.append(Note("gave a repeated call id a new one", message, part, before=part, after=parts[index]))
    return replace(message, parts=tuple(parts)) if touched else message
