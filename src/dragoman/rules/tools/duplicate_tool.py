"""Two tools of one name, for a target that refuses them.

Agents that collect tools from several servers declare one twice, or two different ones under one name, and a vendor's
own tool may have the name of a function. The first stays: an answer that
calls the name could not say which of the two it means.

Loses nothing if both are the same, else content.

For `anthropic/claude-sonnet-4-6`:

    {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}],
     "tools": [{"name": "look", "input_schema": {"type": "object"}},
               {"name": "look", "input_schema": {"type": "object"}}]}
becomes
    {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}],
     "tools": [{"name": "look", "input_schema": {"type": "object"}}]}
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite
from dragoman.rules.rule import rule


@rule(
    "duplicate-tool",
    when=lambda facts: facts.duplicate_tools is Stance.REFUSES,
    looks_for=traits.TOOLS | traits.NATIVE_TOOLS,
    loses=Loss.CONTENT,
    top_level=True,
)
def duplicate_tool(conversation: Conversation, context: Context) -> Rewrite:
    first: dict[str, Tool | NativeTool] = {}
    kept: list[Tool | NativeTool] = []
    notes: list[Note] = []
    for tool in conversation.tools:
        name = _name(tool)
        if not name or first.setdefault(name, tool) is tool:
            kept.append(tool)
        else:
            notes.append(_note(tool, name, first[name]))
    return rewrite(conversation, notes, tools=tuple(kept))


def _name(tool: Tool | NativeTool) -> str:
    return tool.name if isinstance(tool, Tool) else str(msgspec.json.decode(tool.json).get("name", ""))


def _note(tool: Tool | NativeTool, name: str, first: Tool | NativeTool) -> Note:
    loses = Loss.NOTHING if replace(tool, at=first.at) == first else Loss.CONTENT
    return Note(f"left out another tool of the name {name}", key=tool.place, loses=loses, before=tool)
