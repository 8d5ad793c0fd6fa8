"""A tool whose description is empty, for a target that wants one with words or none.

The description is left out.

Loses nothing.

For `bedrock/us.amazon.nova-lite-v1:0`, from `openai-chat`:

    {"messages": [{"role": "user", "content": "Hi"}], "tools": [{"type": "function", "function":
      {"name": "look", "description": "", "parameters": {"type": "object", "properties": {}}}}]}
becomes
    {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], "toolConfig": {"tools": [{"toolSpec":
      {"name": "look", "inputSchema": {"json": {"type": "object", "properties": {}}}}}]}}
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
    "empty-description",
    when=lambda facts: facts.empty_description is Stance.REFUSES,
    looks_for=traits.TOOLS,
    loses=Loss.NOTHING,
    top_level=True,
)
def empty_description(conversation: Conversation, context: Context) -> Rewrite:
    return rewrite_tools(conversation, _describe)


def _describe(tool: Tool) -> tuple[Tool, Note] | None:
    if tool.description != EMPTY:
        return None
    return replace(tool, description=None), Note(f"left out the empty description of {tool.name}", key=tool.place)
