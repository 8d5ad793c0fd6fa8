"""A message that holds only blank text after other rules took the rest.

An empty text beside thinking is no defect. Once the thinking had to go, the message is empty, and it is treated as
`empty-content` treats an empty message.

Loses nothing, or the thinking beside an empty text as `empty-content` does, which is metadata.

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
from dragoman.rules.emptiness import refuses_emptiness, without_emptiness
from dragoman.rules.rule import rule


@rule("blank-remainder", when=refuses_emptiness, looks_for=traits.BLANK_TEXT, loses=Loss.METADATA)
def blank_remainder(conversation: Conversation, context: Context) -> Rewrite:
    return without_emptiness(conversation, context)
