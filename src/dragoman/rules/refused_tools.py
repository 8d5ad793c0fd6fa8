"""Tools, for a model that takes none.

Some small models refuse a request that declares tools. The tools are left out; the history keeps its calls.

Loses content: the model can call nothing.

    @tool look {"type":"object"}
    user: Hi
becomes
    user: Hi
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "refused-tools",
    when=lambda facts: facts.tools is Stance.REFUSES,
    looks_for=Trait.TOOLS | Trait.NATIVE_TOOLS,
    loses=Loss.CONTENT,
)
def refused_tools(conversation: Conversation, context: Context) -> Rewrite:
    settings = conversation.settings.but(tool_choice=None, parallel_tool_calls=None)
    note = Note("left out all tools", key="tools", before=conversation.tools)
    return Rewrite(conversation.but(tools=(), settings=settings), (note,))
