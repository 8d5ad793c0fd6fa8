"""A message without any content: null, or an empty list.

A message of the assistant or the system is taken out. A user turn is needed where it stands, so it gets a short
placeholder (`texts.empty_content`). In a translation a system message without content is taken out for every target.

Loses nothing if the message held nothing. An assistant turn that held only thinking loses it, which is metadata.

    user: Hi
    assistant: []
    user: []
becomes
    user: Hi
    user: (empty)
"""

from __future__ import annotations

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.rules.context import Context
from dragoman.rules.emptiness import refuses_nothing, without_nothing
from dragoman.rules.rule import rule


@rule(
    "null-content",
    when=refuses_nothing,
    looks_for=traits.NO_PARTS,
    loses=Loss.METADATA,
    reading=True,
)
def null_content(conversation: Conversation, context: Context) -> Rewrite:
    return without_nothing(conversation, context)
