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

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import EMPTY
from dragoman.conversation.tools import Tool
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite_tools
from dragoman.rules.rule import rule


@rule(
    "missing-description",
    when=lambda facts: facts.tools_without_description is Stance.REFUSES,
    looks_for=traits.TOOLS,
    loses=Loss.NOTHING,
    top_level=True,
)
def missing_description(conversation: Conversation, context: Context) -> Rewrite:
    return rewrite_tools(conversation, _describe)


def _describe(tool: Tool) -> tuple[Tool, Note] | None:
    if tool.description is not None:
        return None
    return replace(tool, description=EMPTY), Note(f"gave {tool.name} an empty description", key=tool.place, after=EMPTY)
