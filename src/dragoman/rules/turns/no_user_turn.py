"""A conversation without a turn of the user.

Most providers demand at least one turn after the system messages. Some chat templates look for one of the user's, which
an agent may have cut off with the beginning of its history. A user turn is appended (`texts.no_user_turn`).

If the target wants the assistant between a result and the user, the turn is put first: behind a result it would need
another made-up turn before it, and both would go when the user speaks. In a translation it stays from then on.

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
    looks_for=traits.NO_USER_TURN | traits.LEADING_ASSISTANT,
    loses=Loss.NOTHING,
)
def no_user_turn(conversation: Conversation, context: Context) -> Rewrite:
    messages, opening, facts = conversation.messages, conversation.opening, context.facts
    turns = messages[opening:]
    goes_first = bool(turns) and facts.user_after_tool is Stance.REFUSES
    asking = turns[:1] if goes_first and context.translated else turns
    if (facts.no_user if turns else facts.system_only) is not Stance.REFUSES or any(one.role is USER for one in asking):
        return Rewrite(conversation)
    turn = Message(USER, (Text(quote(context.text("no_user_turn"))),))
    if goes_first:
        note = Note("put a user turn first", turns[0], kind="synthetic", after=turn)
        return Rewrite(replace(conversation, messages=(*messages[:opening], turn, *turns)), (note,))
    note = Note("appended a user turn", messages[-1] if messages else None, kind="synthetic", after=turn)
    return Rewrite(replace(conversation, messages=(*messages, turn)), (note,))
