"""Text after a call in one turn.

A dialect may keep calls apart from texts: then the parts are sorted, thinking first, then text, then calls. Claude
reads all in its order, and misses the result of a call if a text stands between: then the text goes before the first
call of its turn, and all else stays where it is.

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

from operator import is_

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call, Part, Reasoning, Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, Parts, edit, rewrite_messages
from dragoman.rules.rule import rule

_RANKS: dict[type[Part], int] = {Reasoning: 0, Call: 2}


@rule(
    "mixed-parts",
    when=lambda facts: Stance.REFUSES in (facts.mixed_parts, facts.text_after_call),
    looks_for=traits.MIXED_PARTS | traits.REASONING,
    loses=Loss.ORDER,
)
def mixed_parts(conversation: Conversation, context: Context) -> Rewrite:
    sort = _sort_all if context.facts.mixed_parts is Stance.REFUSES else _put_texts_first

    def sort_message(message: Message) -> Edit | None:
        if message.role is not Role.ASSISTANT:
            return None
        ordered = sort(message.parts)
        if all(map(is_, ordered, message.parts)):
            return None
        return edit(replace(message, parts=ordered), "put words before calls")

    return rewrite_messages(conversation, sort_message)


def _sort_all(parts: Parts) -> Parts:
    return tuple(sorted(parts, key=lambda part: _RANKS.get(type(part), 1)))


def _put_texts_first(parts: Parts) -> Parts:
    """The texts behind the first call, before it."""
    first = next((at for at, part in enumerate(parts) if type(part) is Call), len(parts))
    texts = [part for part in parts[first:] if type(part) is Text]
    return (*parts[:first], *texts, *[part for part in parts[first:] if type(part) is not Text])
