r"""A system message of several parts, for a target that wants one text.

The parts are joined with a line break. Parts that carry a cache hint which the target takes stay apart.

Loses nothing.

    system: Be brief.
    + Answer in French.
    user: Hi
becomes
    system: Be brief.\nAnswer in French.
    user: Hi
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import SYSTEM_ROLES, Conversation
from dragoman.conversation.literals import joined
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Text
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, edit, plain_text, rewrite_messages
from dragoman.rules.rule import rule


@rule(
    "system-parts",
    when=lambda facts: facts.system_parts is Stance.REFUSES,
    looks_for=Trait.SYSTEM,
    loses=Loss.NOTHING,
)
def system_parts(conversation: Conversation, context: Context) -> Rewrite:
    return rewrite_messages(conversation, _one)


def _one(message: Message) -> Edit | None:
    if message.role not in SYSTEM_ROLES or not plain_text(message.parts) or len(message.parts) < 2:
        return None
    text = Text(joined("\n", [part.literal for part in message.parts if type(part) is Text]))
    return edit(message.but(parts=(text,), listed=False), "joined its parts")
