"""An empty list of tools, for a target that refuses one.

The list is left out.

Loses nothing.

For `openai/gpt-4o`:

    {"messages": [{"role": "user", "content": "Hi"}], "tools": []}
becomes
    {"messages": [{"role": "user", "content": "Hi"}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "empty-tools",
    spelling=True,
    when=lambda facts: facts.empty_tools is Stance.REFUSES,
    looks_for=traits.EMPTY_TOOLS,
    loses=Loss.NOTHING,
)
def empty_tools(conversation: Conversation, context: Context) -> Rewrite:
    if conversation.tools:
        return Rewrite(replace(conversation, empty_tools=False))
    return Rewrite(replace(conversation, empty_tools=False), (Note("left out an empty list of tools", key="tools"),))
