"""More tools than the target takes.

Agents that collect tools from several servers declare hundreds, and a provider that counts them refuses the request.
Tools that were called or are chosen stay, then the first ones of the list, in their order.

Loses content: the model does not know the tools that are left out.

For a target with `tools_max = 1`:

    @tool look {"type": "object"}
    @tool wait {"type": "object"}
    user: Hi
becomes
    @tool look {"type": "object"}
    user: Hi
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Call
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule("many-tools", when=lambda facts: facts.tools_max > 0, looks_for=traits.TOOLS, loses=Loss.CONTENT)
def many_tools(conversation: Conversation, context: Context) -> Rewrite:
    tools, most = conversation.tools, context.facts.tools_max
    if len(tools) <= most:
        return Rewrite(conversation)
    needed = _find_needed(conversation)
    ranked = sorted(range(len(tools)), key=lambda at: (_name(tools[at]) not in needed, at))
    left_out = {*ranked[most:]}
    notes = tuple(
        Note(f"left out the tool {_name(tool)}: more than the target takes", key=tool.place, before=tool)
        for at, tool in enumerate(tools)
        if at in left_out
    )
    kept = tuple(tool for at, tool in enumerate(tools) if at not in left_out)
    return Rewrite(replace(conversation, tools=kept), notes)


def _find_needed(conversation: Conversation) -> set[str]:
    """The tools that the conversation speaks of."""
    names = {part.name for message in conversation.messages for part in message.parts if type(part) is Call}
    choice = conversation.settings.tool_choice
    return names.union(choice.names) if choice is not None else names


def _name(tool: Tool | NativeTool) -> str:
    return tool.kind if isinstance(tool, NativeTool) else tool.name
