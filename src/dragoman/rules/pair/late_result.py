"""A result that does not stand right after its call, or not in the order of the calls.

Many providers look for the results of a turn in the message after it. The results move there, in call order. What stood
between follows them. A result in the model's own turn moves for every target of another dialect.

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

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.pairs import Spot, pair
from dragoman.conversation.parts import Call, Part, Result, Text
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "late-result",
    when=lambda facts: True,
    looks_for=traits.UNPAIRED,
    loses=Loss.ORDER,
)
def late_result(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    if Stance.REFUSES not in (facts.late_result, facts.result_order) and not context.translated:
        return Rewrite(conversation)
    messages = conversation.messages
    found = pair(messages).answers
    answers = {call: spot for call, spot in found.items() if type(messages[spot[0]].parts[spot[1]]) is Result}
    ends = _find_ends(messages, facts)
    order = _find_order(answers, ends)
    moved = {
        call
        for call, spot in answers.items()
        if messages[spot[0]].role is not Role.TOOL or _is_misplaced(call, spot, ends, order, facts)
    }
    turns = {ends[call[0]] for call in moved}
    if not turns:
        return Rewrite(conversation)
    taken = {spot for call, spot in answers.items() if ends[call[0]] in turns}
    calls: dict[int, list[Spot]] = {}
    for call in order:
        calls.setdefault(ends[call[0]], []).append(call)
    notes: list[Note] = []
    out: list[Message] = []
    for at, message in enumerate(messages):
        rest = tuple(part for index, part in enumerate(message.parts) if (at, index) not in taken)
        if len(rest) == len(message.parts):
            out.append(message)
        elif rest:
            out.append(replace(message, parts=rest))
        if at in turns:
            out.append(_gather_results(calls[at], messages, answers, moved, notes))
    return Rewrite(replace(conversation, messages=tuple(out)), tuple(notes))


def _find_ends(messages: tuple[Message, ...], facts: Facts) -> list[int]:
    """For each message the one that ends its turn: the last of the model's in a row if they count as one.

    Calls that words follow end a turn of their own, for a target that takes no words after a call.
    """
    ends = list(range(len(messages)))
    if facts.calls_apart is not Stance.ACCEPTS:
        return ends
    has_words = False
    for at in range(len(messages) - 2, -1, -1):
        if not messages[at].role is messages[at + 1].role is Role.ASSISTANT:
            has_words = False
            continue
        has_words = has_words or _has(messages[at + 1], Text)
        if has_words and facts.text_after_call is Stance.REFUSES and _has(messages[at], Call):
            has_words = False
        else:
            ends[at] = ends[at + 1]
    return ends


def _has(message: Message, kind: type[Part]) -> bool:
    return any(type(part) is kind for part in message.parts)


def _find_order(answers: dict[Spot, Spot], ends: list[int]) -> dict[Spot, int]:
    """The answered calls, in order, and each one's place among those of its turn."""
    counts: dict[int, int] = {}
    order: dict[Spot, int] = {}
    for call in sorted(answers):
        end = ends[call[0]]
        order[call] = counts.get(end, 0)
        counts[end] = order[call] + 1
    return order


def _is_misplaced(call: Spot, result: Spot, ends: list[int], order: dict[Spot, int], facts: Facts) -> bool:
    if facts.late_result is Stance.REFUSES and result[0] != ends[call[0]] + 1:
        return True
    return facts.result_order is Stance.REFUSES and order[call] != result[1]


def _gather_results(
    calls: list[Spot], messages: tuple[Message, ...], answers: dict[Spot, Spot], moved: set[Spot], notes: list[Note]
) -> Message:
    """All results of a turn's calls, in call order."""
    results: list[Part] = []
    for call in calls:
        holder = messages[answers[call][0]]
        result = holder.parts[answers[call][1]]
        results.append(result)
        if call in moved:
            notes.append(Note("moved a result to its call", holder, result, before=result, after=result))
    return replace(messages[answers[calls[0]][0]], role=Role.TOOL, parts=tuple(results))
