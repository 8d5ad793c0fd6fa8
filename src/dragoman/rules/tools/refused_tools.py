"""Tools, for a model that takes none.

Some small models refuse a request that declares tools. The tools are left out; the history keeps its calls. As a last
resort for a proxy that refuses every shape of a tool, the tool choice becomes `none` too.

Loses content: the model can call nothing.

    @tool look {"type":"object"}
    user: Hi
becomes
    user: Hi
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule

NO_PARALLEL = Note("left out parallel_tool_calls without tools", key="parallel_tool_calls", loses=Loss.NOTHING)


@rule(
    "refused-tools",
    when=lambda facts: facts.tools is Stance.REFUSES,
    looks_for=traits.TOOLS | traits.NATIVE_TOOLS,
    loses=Loss.CONTENT,
)
def refused_tools(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    none = facts.tools_last_resort and facts.choice_without_tools is Stance.ACCEPTS
    choice = ToolChoice(ChoiceMode.NONE) if none else None
    settings = replace(conversation.settings, tool_choice=choice, parallel_tool_calls=None)
    notes = [Note("left out all tools", key="tools", before=conversation.tools)]
    chosen = conversation.settings.tool_choice
    if chosen is not None and chosen != choice:
        did = "left out the choice among them"
        notes.append(Note(did, key="tool_choice", loses=Loss.METADATA, before=chosen, after=choice))
    if conversation.settings.parallel_tool_calls is not None:
        notes.append(NO_PARALLEL)
    return Rewrite(replace(conversation, tools=(), settings=settings), tuple(notes))
