"""A message that holds only blank text, or only thinking, after other rules took the rest.

An empty text beside thinking is no defect. Once the thinking had to go, the message is empty, and it is treated as
`empty-content` treats an empty message. Once a block that only its provider knows had to go, thinking may be all that
is left, and the message is treated as `null-content` treats one without content.

Loses nothing, or the thinking as these two do, which is metadata.

    user: Hi
    assistant:
    user: Are you there?
becomes
    user: Hi
    user: Are you there?
"""

from __future__ import annotations

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.rules.context import Context
from dragoman.rules.emptiness import refuses_emptiness, refuses_nothing, without_emptiness, without_nothing
from dragoman.rules.rule import rule


@rule(
    "blank-remainder",
    when=lambda facts: refuses_emptiness(facts) or refuses_nothing(facts),
    looks_for=traits.BLANK_TEXT | traits.NO_PARTS,
    loses=Loss.METADATA,
)
def blank_remainder(conversation: Conversation, context: Context) -> Rewrite:
    done = without_emptiness(conversation, context)
    if not refuses_nothing(context.facts):
        return done
    rest = without_nothing(done.conversation, context)
    return Rewrite(rest.conversation, done.notes + rest.notes)
