"""A tool name that the target's form does not allow: dots, spaces, or too long.

Every character that is not allowed becomes an underscore. A name that is then taken, or too long, ends in a short hash.
Tools, calls, results and the tool choice are renamed together, and the names in the answer are mapped back.

Loses nothing.

For `openai/gpt-4o`:

    @tool files.read {"type":"object","properties":{}}
    user: Hi
    call files.read(c1) {}
    result c1: 12 degrees
becomes
    @tool files_read {"type":"object","properties":{}}
    user: Hi
    call files_read(c1) {}
    result c1: 12 degrees
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite, Undo
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Part, Result
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.rules.context import Context
from dragoman.rules.naming import new_names, takes_common_names
from dragoman.rules.rewriting import reuse_unchanged
from dragoman.rules.rule import rule


@rule(
    "tool-name-form",
    when=lambda facts: bool(facts.tool_name_pattern),
    looks_for=traits.CALLS | traits.TOOLS,
    narrows=lambda facts: traits.ODD_NAMES if takes_common_names(facts) else None,
    loses=Loss.NOTHING,
)
def tool_name_form(conversation: Conversation, context: Context) -> Rewrite:
    names = new_names(conversation, context.facts)
    if not names:
        return Rewrite(conversation)
    notes: list[Note] = []
    tools = reuse_unchanged(conversation.tools, [_rename_tool(tool, names, notes) for tool in conversation.tools])
    messages = reuse_unchanged(
        conversation.messages, [_rename(message, names, notes) for message in conversation.messages]
    )
    choice = conversation.settings.tool_choice
    settings = conversation.settings
    if choice is not None and any(name in names for name in choice.names):
        settings = replace(
            settings, tool_choice=replace(choice, names=tuple(names.get(name, name) for name in choice.names))
        )
        notes.append(Note("wrote the tool's name in the target's form", key="tool_choice", before=choice))
    undo = Undo(names={made: old for old, made in names.items()})
    return Rewrite(replace(conversation, messages=messages, tools=tools, settings=settings), tuple(notes), undo)


def _rename_tool(tool: Tool | NativeTool, names: dict[str, str], notes: list[Note]) -> Tool | NativeTool:
    if isinstance(tool, NativeTool) or tool.name not in names:
        return tool
    made = replace(tool, name=names[tool.name])
    notes.append(Note("wrote its name in the target's form", key=tool.place, before=tool.name, after=made.name))
    return made


def _rename(message: Message, names: dict[str, str], notes: list[Note]) -> Message:
    parts: list[Part] = []
    touched = False
    for part in message.parts:
        if type(part) is Call and part.name in names:
            made: Part = replace(part, name=names[part.name])
            notes.append(Note("wrote its name in the target's form", message, part, before=part, after=made))
            touched = True
        elif type(part) is Result and part.name in names:
            made = replace(part, name=names[part.name])
            touched = True
        else:
            made = part
        parts.append(made)
    return replace(message, parts=tuple(parts)) if touched else message
