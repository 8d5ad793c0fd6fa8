"""A message without any content: null, or an empty list.

A message of the assistant or the system is taken out. A user turn is needed where it stands, so it gets a short
placeholder (`texts.empty_content`).

Loses nothing if the message held nothing. An assistant turn that held only thinking loses it, which is metadata.

    user: Hi
    assistant: []
    user: []
becomes
    user: Hi
    user: (empty)
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import SYSTEM_ROLES, Conversation
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Reasoning, Text
from dragoman.profiles.facts import Facts, Stance, SystemPlace
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Edit, rewrite_indexed
from dragoman.rules.rule import rule


@rule(
    "null-content",
    when=lambda facts: Stance.REFUSES in (facts.no_parts, facts.no_user_parts),
    looks_for=traits.NO_PARTS,
    loses=Loss.METADATA,
)
def null_content(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts

    def filled(index: int, message: Message) -> Edit | None:
        if _has_content(message, facts) or (message.extras is not None and message.role is Role.SYSTEM):
            return None
        if message.role not in _ASKING and facts.no_parts is not Stance.REFUSES:
            return None
        if message.role in SYSTEM_ROLES and index >= conversation.opening and _becomes_a_turn(context):
            return Edit((replace(message, parts=(Text(EMPTY),), listed=False),), "wrote no content as an empty text")
        if message.role is not Role.USER:
            return Edit(
                (), "took out a message without content", loses=Loss.METADATA if message.parts else Loss.NOTHING
            )
        text = Text(quote(context.text("empty_content")))
        return Edit(
            (replace(message, parts=(text,), listed=False),),
            "put a placeholder into an empty turn",
            loses=Loss.NOTHING,
            kind="synthetic",
        )

    return rewrite_indexed(conversation, filled)


def _becomes_a_turn(context: Context) -> bool:
    """Is a late system message turned into one of the user's? Then its tag stands, even if it says nothing."""
    return context.facts.system_place in _TURNED and context.choice("late-system") in (None, "user")


_TURNED = (SystemPlace.OPENING, SystemPlace.TOP_LEVEL)
_ASKING = (Role.USER, Role.SYSTEM, Role.DEVELOPER)
"""Whose messages must have content if `no_user_parts` is refused."""


def _has_content(message: Message, facts: Facts) -> bool:
    """Thinking that goes into a field of its own is no content, nor is thinking that the model never reads."""
    if not facts.reasoning_field and "reasoning" not in facts.drops:
        return bool(message.parts)
    return any(type(part) is not Reasoning for part in message.parts)
