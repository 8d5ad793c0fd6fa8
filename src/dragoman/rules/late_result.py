"""A result that does not stand right after its call, or not in the order of the calls.

It moves to its call; what stood between follows.

Loses order.

    call look(c1) {}
    user: Still there?
    result c1: 12 degrees
becomes
    call look(c1) {}
    result c1: 12 degrees
    user: Still there?
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.pairs import Spot, pair
from dragoman.conversation.parts import Call, Part
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.rule import rule


@rule(
    "late-result",
    when=lambda facts: Stance.REFUSES in (facts.late_result, facts.result_order),
    looks_for=Trait.UNPAIRED,
    loses=Loss.ORDER,
)
def late_result(conversation: Conversation, facts: Facts) -> Rewrite:
    messages = conversation.messages
    answers = pair(messages).answers
    moved = {call: spot for call, spot in answers.items() if _misplaced(call, spot, messages, facts)}
    turns = {call[0] for call in moved}
    if not turns:
        return Rewrite(conversation)
    taken = {spot for call, spot in answers.items() if call[0] in turns}
    notes: list[Note] = []
    out: list[Message] = []
    for at, message in enumerate(messages):
        rest = tuple(part for index, part in enumerate(message.parts) if (at, index) not in taken)
        if len(rest) == len(message.parts):
            out.append(message)
        elif rest:
            out.append(message.but(parts=rest))
        if at in turns:
            out.append(_turn(at, messages, answers, set(moved), notes))
    return Rewrite(conversation.but(messages=tuple(out)), tuple(notes))


def _misplaced(call: Spot, result: Spot, messages: tuple[Message, ...], facts: Facts) -> bool:
    if facts.late_result is Stance.REFUSES and not _next_turn(call[0], result[0], messages, facts):
        return True
    if facts.result_order is not Stance.REFUSES:
        return False
    before = sum(1 for part in messages[call[0]].parts[: call[1]] if type(part) is Call)
    return before != result[1]


def _next_turn(call: int, result: int, messages: tuple[Message, ...], facts: Facts) -> bool:
    """Right after its call, or after further messages of the same turn where the target takes them for one."""
    if result == call + 1:
        return True
    if facts.calls_apart is not Stance.ACCEPTS:
        return False
    return result > call and all(message.role is Role.ASSISTANT for message in messages[call:result])


def _turn(
    at: int, messages: tuple[Message, ...], answers: dict[Spot, Spot], moved: set[Spot], notes: list[Note]
) -> Message:
    """All results of a turn's calls, in call order."""
    results: list[Part] = []
    first: Message | None = None
    for index, part in enumerate(messages[at].parts):
        spot = answers.get((at, index)) if type(part) is Call else None
        if spot is None:
            continue
        holder = messages[spot[0]]
        first = first or holder
        result = holder.parts[spot[1]]
        results.append(result)
        if (at, index) in moved:
            notes.append(Note("moved a result to its call", holder, result, before=result, after=result))
    assert first is not None
    return first.but(role=Role.TOOL, parts=tuple(results))
