"""Text after a call in one turn, for a dialect that keeps calls apart from text.

The parts are sorted: thinking first, then text, then calls.

Loses order.

    user: Hi
    call look(c1) {}
    + One moment.
    result c1: 12 degrees
becomes
    user: Hi
    assistant: One moment.
    call look(c1) {}
    result c1: 12 degrees
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Part, Reasoning
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, edit, rewrite_messages
from dragoman.rules.rule import rule

_RANKS: dict[type[Part], int] = {Reasoning: 0, Call: 2}


@rule(
    "mixed-parts",
    when=lambda facts: facts.mixed_parts is Stance.REFUSES,
    looks_for=traits.MIXED_PARTS | traits.REASONING,
    loses=Loss.ORDER,
)
def mixed_parts(conversation: Conversation, context: Context) -> Rewrite:
    return rewrite_messages(conversation, _sorted)


def _sorted(message: Message) -> Edit | None:
    if message.role is not Role.ASSISTANT:
        return None
    ordered = tuple(sorted(message.parts, key=lambda part: _RANKS.get(type(part), 1)))
    if all(one is other for one, other in zip(ordered, message.parts, strict=True)):
        return None
    return edit(replace(message, parts=ordered), "put words before calls")
