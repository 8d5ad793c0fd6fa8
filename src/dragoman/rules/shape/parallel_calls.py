"""More calls in one turn than the target takes.

Some chat templates write one call of a turn and refuse more. Each call becomes a turn of its own, with its result right
after it: what was said and thought stays with the first. Other targets count the calls of a turn (fact `calls_max`): a
turn with more becomes several, each with as many calls as it may have and with their results.

Loses order: the calls were made at once.

    user: Hi
    assistant: One moment.
    call look(c1) {}
    call look(c2) {}
    result c1: 12 degrees
    result c2: rain
becomes
    user: Hi
    assistant: One moment.
    call look(c1) {}
    result c1: 12 degrees
    call look(c2) {}
    result c2: rain
"""

from __future__ import annotations

from operator import attrgetter

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Part, Result
from dragoman.profiles.facts import Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite
from dragoman.rules.rule import rule


@rule(
    "parallel-calls",
    when=lambda facts: _find_most(facts) > 0,
    looks_for=traits.SEVERAL_CALLS,
    loses=Loss.ORDER,
    turnwise=lambda context: context.facts.parallel_calls is Stance.REFUSES,  # else it is quick to see
)
def parallel_calls(conversation: Conversation, context: Context) -> Rewrite:
    most = _find_most(context.facts)
    largest = max(map(len, map(_parts_of, conversation.messages)), default=0)
    return _part_turns(conversation, most) if 0 < most < largest else Rewrite(conversation)


_parts_of = attrgetter("parts")


def _find_most(facts: Facts) -> int:
    """How many calls a turn may have; 0 if any number."""
    return 1 if facts.parallel_calls is Stance.REFUSES else facts.calls_max


def _part_turns(conversation: Conversation, most: int) -> Rewrite:
    messages: list[Message] = []
    notes: list[Note] = []
    split: list[Message] = []
    for message in conversation.messages:
        if split and message.role is Role.TOOL:
            messages += _interleave(split, message)
            split = []
            continue
        messages += split
        split = _split_calls(message, most)
        if len(split) < 2:
            messages.append(message)
            split = []
            continue
        did = f"made {len(split)} turns of its calls" if most > 1 else "made each of its calls a turn of its own"
        notes.append(Note(did, message, before=message, after=tuple(split)))
    messages += split
    return rewrite(conversation, notes, messages=tuple(messages))


def _split_calls(message: Message, most: int) -> list[Message]:
    """A turn for each call, or for as many as there may be. All else stays with the first one."""
    calls = [part for part in message.parts if type(part) is Call]
    if len(calls) <= most:
        return []
    later = {id(call) for call in calls[most:]}
    first = replace(message, parts=tuple([part for part in message.parts if id(part) not in later]))
    rest = [tuple(calls[at : at + most]) for at in range(most, len(calls), most)]
    return [first, *(Message(Role.ASSISTANT, few, message.at, message.span) for few in rest)]


def _interleave(calling: list[Message], answers: Message) -> list[Message]:
    """Each call with its results after it. Results of other calls come last."""
    results: dict[str, list[Part]] = {}
    for part in answers.parts:
        results.setdefault(part.call_id if type(part) is Result else "", []).append(part)
    messages: list[Message] = []
    for message in calling:
        messages.append(message)
        called = [part.id for part in message.parts if type(part) is Call]
        messages += _turn(answers, [part for name in called for part in results.pop(name, [])])
    return messages + _turn(answers, [part for parts in results.values() for part in parts])


def _turn(answers: Message, parts: list[Part]) -> list[Message]:
    return [replace(answers, parts=tuple(parts), span=len(parts))] if parts else []
