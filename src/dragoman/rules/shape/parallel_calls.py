"""Several calls in one turn, for a model that makes one at a time.

Some chat templates write one call of a turn and refuse more. Each call becomes a turn of its own, with its result right
after it: what was said and thought stays with the first.

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

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Part, Result
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite
from dragoman.rules.rule import rule


@rule(
    "parallel-calls",
    when=lambda facts: facts.parallel_calls is Stance.REFUSES,
    looks_for=traits.CALLS,
    loses=Loss.ORDER,
)
def parallel_calls(conversation: Conversation, context: Context) -> Rewrite:
    messages: list[Message] = []
    notes: list[Note] = []
    split: list[Message] = []
    for message in conversation.messages:
        if split and message.role is Role.TOOL:
            messages += _interleave(split, message)
            split = []
            continue
        messages += split
        split = _split_calls(message)
        if len(split) < 2:
            messages.append(message)
            split = []
            continue
        notes.append(Note("made each of its calls a turn of its own", message, before=message, after=tuple(split)))
    messages += split
    return rewrite(conversation, notes, messages=tuple(messages))


def _split_calls(message: Message) -> list[Message]:
    """A turn for each call. All else stays with the first one."""
    calls = [part for part in message.parts if type(part) is Call]
    if len(calls) < 2:
        return []
    later = {id(call) for call in calls[1:]}
    first = replace(message, parts=tuple([part for part in message.parts if id(part) not in later]))
    return [first, *(Message(Role.ASSISTANT, (call,), message.at, message.span) for call in calls[1:])]


def _interleave(calling: list[Message], answers: Message) -> list[Message]:
    """Each call with its results after it. Results of other calls come last."""
    results: dict[str, list[Part]] = {}
    for part in answers.parts:
        results.setdefault(part.call_id if type(part) is Result else "", []).append(part)
    messages: list[Message] = []
    for message in calling:
        messages.append(message)
        called = next(part.id for part in message.parts if type(part) is Call)
        messages += _turn(answers, results.pop(called, []))
    return messages + _turn(answers, [part for parts in results.values() for part in parts])


def _turn(answers: Message, parts: list[Part]) -> list[Message]:
    return [replace(answers, parts=tuple(parts), span=len(parts))] if parts else []
