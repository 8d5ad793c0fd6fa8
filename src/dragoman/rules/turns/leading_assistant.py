"""A conversation that does not open with the user.

An agent that acts on its own begins with the assistant. If the target demands a user turn first, one is put after
the opening system messages (`texts.leading_user`).

Loses nothing; adds a turn.

    system: You are an agent.
    assistant: I will check the mail.
becomes
    system: You are an agent.
    user: [autonomous processing]
    assistant: I will check the mail.
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Text
from dragoman.profiles.facts import Turn
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "leading-assistant",
    when=lambda facts: facts.first_turn is Turn.USER,
    looks_for=traits.LEADING_ASSISTANT,
    loses=Loss.NOTHING,
)
def leading_assistant(conversation: Conversation, context: Context) -> Rewrite:
    opening = conversation.opening
    messages = conversation.messages
    turn = Message(Role.USER, (Text(quote(context.text("leading_user"))),))
    note = Note("put a user turn before it", messages[opening], kind="synthetic", after=turn)
    return Rewrite(replace(conversation, messages=(*messages[:opening], turn, *messages[opening:])), (note,))
