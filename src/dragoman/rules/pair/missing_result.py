"""A call that has no result.

The run was interrupted, or the result was trimmed away. Providers demand a result for every call. One is made up right
after the call, with words that say so (`texts.missing_tool_result`). A target that takes Chat's old `function_call`
demands none for it, since it has no id.

Loses nothing; adds a result that no tool gave.

    user: Hi
    call look(c1) {}
    user: Never mind
becomes
    user: Hi
    call look(c1) {}
    result c1: [no result was recorded for this call]
    user: Never mind
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import MADE, Message, Role
from dragoman.conversation.pairs import Spot, pair
from dragoman.conversation.parts import LEGACY, Call, Part, Result, Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "missing-result",
    when=lambda facts: facts.missing_result is Stance.REFUSES,
    looks_for=traits.UNPAIRED,
    loses=Loss.NOTHING,
)
def missing_result(conversation: Conversation, context: Context) -> Rewrite:
    unanswered = frozenset(
        (at, index)
        for at, index in pair(conversation.messages).unanswered
        if context.translated or not _is_legacy(conversation.messages[at].parts[index])
    )
    if not unanswered:
        return Rewrite(conversation)
    words = Text(quote(context.text("missing_tool_result")))
    notes: list[Note] = []
    messages: list[Message] = []
    waiting: list[Part] = []
    for at, message in enumerate(conversation.messages):
        if waiting and message.role is Role.TOOL:
            message = replace(message, parts=message.parts + tuple(waiting))
            waiting = []
        elif waiting:
            messages.append(_turn(waiting))
            waiting = []
        messages.append(message)
        waiting = _make_up_results(message, at, unanswered, words, notes)
    if waiting:
        messages.append(_turn(waiting))
    return Rewrite(replace(conversation, messages=tuple(messages)), tuple(notes))


def _is_legacy(part: Part) -> bool:
    """Whether it is a call that has no id to answer. A target that takes this form demands no result."""
    return isinstance(part, Call) and part.wire_form == LEGACY


def _turn(results: list[Part]) -> Message:
    return Message(Role.TOOL, tuple(results), MADE, len(results))


def _make_up_results(
    message: Message, at: int, unanswered: frozenset[Spot], words: Text, notes: list[Note]
) -> list[Part]:
    made: list[Part] = []
    for index, part in enumerate(message.parts):
        if type(part) is Call and (at, index) in unanswered:
            result = Result(part.id, (words,), name=None, custom=part.custom, wire_form=part.wire_form)
            made.append(result)
            notes.append(
                Note(f"made up a result for the call of {part.name}", message, part, kind="synthetic", after=result)
            )
    return made
