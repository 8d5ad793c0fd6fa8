"""A tool without a description, for a target that reads it of every tool.

Some chat templates fail on a tool without one. It gets an empty description.

Loses nothing.

For a target with `tools_without_description = "refuses"`:

    {"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function", "function":
      {"name": "look", "parameters": {"type": "object", "properties": {}}}}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function", "function":
      {"name": "look", "description": "", "parameters": {"type": "object", "properties": {}}}}]}
"""

from __future__ import annotations

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import EMPTY
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import but
from dragoman.rules.rule import rule


@rule(
    "missing-description",
    when=lambda facts: facts.tools_without_description is Stance.REFUSES,
    looks_for=Trait.TOOLS,
    loses=Loss.NOTHING,
    top_level=True,
)
def missing_description(conversation: Conversation, context: Context) -> Rewrite:
    notes: list[Note] = []
    tools: list[Tool | NativeTool] = []
    for tool in conversation.tools:
        if isinstance(tool, Tool) and tool.description is None:
            notes.append(Note(f"gave {tool.name} an empty description", key=tool.place, after=EMPTY))
            tool = but(tool, description=EMPTY)
        tools.append(tool)
    return Rewrite(conversation.but(tools=tuple(tools)), tuple(notes)) if notes else Rewrite(conversation)
