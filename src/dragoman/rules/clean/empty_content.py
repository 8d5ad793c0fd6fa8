"""Text that is empty or only white space.

An empty text beside other parts, or in a result, is taken out. A message that holds nothing else is taken out too if it
is the system's or the assistant's. A user turn is needed where it stands, so it gets a short placeholder
(`texts.empty_content`). In a translation an empty text of the system is taken out for every target, and in Anthropic's
own dialect if there are system messages that move to the field: if none of them says anything, no field is left.

Loses nothing if the message held nothing. An assistant turn of empty text and thinking loses the thinking, which is
metadata, if the target has a field of its own for thinking.

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
from dragoman.rules.emptiness import moves_or_refuses_emptiness, without_emptiness
from dragoman.rules.rule import rule


@rule("empty-content", when=moves_or_refuses_emptiness, looks_for=traits.BLANK_TEXT, loses=Loss.METADATA, reading=True)
def empty_content(conversation: Conversation, context: Context) -> Rewrite:
    return without_emptiness(conversation, context)
