"""A conversation of nothing but system messages.

Most providers demand at least one turn. A user turn is appended (`texts.no_user_turn`).

Loses nothing; adds a turn.

    system: Be brief.
becomes
    system: Be brief.
    user: Please continue.
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "no-user-turn",
    when=lambda facts: facts.system_only is Stance.REFUSES,
    looks_for=traits.NO_USER_TURN,
    loses=Loss.NOTHING,
)
def no_user_turn(conversation: Conversation, context: Context) -> Rewrite:
    last = conversation.messages[-1] if conversation.messages else None
    turn = Message(Role.USER, (Text(quote(context.text("no_user_turn"))),))
    note = Note("appended a user turn", last, kind="synthetic", after=turn)
    return Rewrite(replace(conversation, messages=(*conversation.messages, turn)), (note,))
