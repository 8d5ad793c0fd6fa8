"""A tool declared in another shape than the target reads.

Clients mix shapes: OpenAI's, a bare function, `function_declarations`, `functionDeclarations`. The tool is written in
the shape that the target takes (fact `tool_wrapper`).

Loses nothing.

For `openai/gpt-4o`:

    {"messages": [{"role": "user", "content": "Hi"}],
     "tools": [{"function_declarations": [{"name": "look", "parameters": {"type": "object", "properties": {}}}]}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"}],
     "tools": [{"type": "function",
       "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.profiles.facts import Facts
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite
from dragoman.rules.rule import rule

LEGACY = "functions"


@rule(
    "tool-wrapper", spelling=True, when=lambda facts: True, looks_for=traits.TOOLS, loses=Loss.NOTHING, top_level=True
)
def tool_wrapper(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    notes: list[Note] = []
    tools = tuple([_wrap(tool, facts, notes) for tool in conversation.tools])
    return rewrite(conversation, notes, tools=tools)


def _wrap(tool: Tool | NativeTool, facts: Facts, notes: list[Note]) -> Tool | NativeTool:
    if isinstance(tool, NativeTool):
        return tool
    wrapper = tool.wrapper if tool.wrapper in (facts.tool_wrapper, *facts.tool_wrappers, LEGACY) else facts.tool_wrapper
    schema_as = facts.schema_as or tool.schema_as
    if tool.wrapper == wrapper and tool.schema_as == schema_as:
        return tool
    shape = wrapper or "the target's own shape"
    notes.append(Note(f"wrote the tool {tool.name} in {shape}", key=tool.place, before=tool, after=tool))
    return replace(tool, wrapper=wrapper, schema_as=schema_as)
