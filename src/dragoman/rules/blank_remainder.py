"""A message of which only blank text is left, since rules before this one took what stood beside it.

An empty text beside thinking is nobody's defect; once the thinking had to go it is a message that says nothing, and
is treated as one (see `empty-content`).

Loses nothing: there was nothing.
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.traits import Trait
from dragoman.rules.context import Context
from dragoman.rules.empty_content import refuses_emptiness, without_emptiness
from dragoman.rules.rule import rule


@rule("blank-remainder", when=refuses_emptiness, looks_for=Trait.BLANK_TEXT, loses=Loss.NOTHING)
def blank_remainder(conversation: Conversation, context: Context) -> Rewrite:
    return without_emptiness(conversation, context)
