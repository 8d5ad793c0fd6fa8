"""A conversation that ends with the assistant, for a target that does not continue it.

Newer models refuse a prefill: the last turn must be the user's. A user turn is appended (`texts.trailing_user`). A turn
that ends with a block of the provider's own, such as a search, is one that the provider has paused: it goes on with it,
and takes no turn after it.

Loses nothing; adds a turn.

    user: Tell me a story.
    assistant: Once upon a time
becomes
    user: Tell me a story.
    assistant: Once upon a time
    user: Please continue.
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Opaque, Text
from dragoman.profiles.facts import Turn
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "trailing-assistant",
    when=lambda facts: facts.last_turn is Turn.USER,
    looks_for=traits.TRAILING_ASSISTANT,
    loses=Loss.NOTHING,
)
def trailing_assistant(conversation: Conversation, context: Context) -> Rewrite:
    last = conversation.messages[-1]
    if last.prefill or _is_paused(last, context):
        return Rewrite(conversation)
    turn = Message(Role.USER, (Text(quote(context.text("trailing_user"))),))
    note = Note("appended a user turn", last, kind="synthetic", after=turn)
    return Rewrite(replace(conversation, messages=(*conversation.messages, turn)), (note,))


def _is_paused(last: Message, context: Context) -> bool:
    """Whether the provider itself ended the turn before the model had, while it ran a tool."""
    final = last.parts[-1] if last.parts else None
    return type(final) is Opaque and final.meant is None and final.origin.dialect == context.facts.dialect
