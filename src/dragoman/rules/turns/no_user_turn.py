"""A conversation without a turn of the user.

Most providers demand at least one turn after the system messages. Some chat templates look for one of the user's, which
an agent may have cut off with the beginning of its history. A user turn is appended (`texts.no_user_turn`).

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
from dragoman.conversation.messages import USER, Message
from dragoman.conversation.parts import Text
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "no-user-turn",
    when=lambda facts: Stance.REFUSES in (facts.system_only, facts.no_user),
    looks_for=traits.NO_USER_TURN,
    loses=Loss.NOTHING,
)
def no_user_turn(conversation: Conversation, context: Context) -> Rewrite:
    turns, facts = conversation.messages[conversation.opening :], context.facts
    if (facts.no_user if turns else facts.system_only) is not Stance.REFUSES or any(one.role is USER for one in turns):
        return Rewrite(conversation)
    last = conversation.messages[-1] if conversation.messages else None
    turn = Message(USER, (Text(quote(context.text("no_user_turn"))),))
    note = Note("appended a user turn", last, kind="synthetic", after=turn)
    return Rewrite(replace(conversation, messages=(*conversation.messages, turn)), (note,))
