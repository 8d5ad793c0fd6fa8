"""A tool name that the target's form does not allow: dots, spaces, or too long.

Every character that is not allowed becomes an underscore. A name that is then taken, or too long, ends in a short hash.
Tools, calls, results, blocks that name a tool and the tool choice are renamed together, and the names in the answer are
mapped back.

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

import msgspec
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite, Undo
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Opaque, Part, Result
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.profiles.facts import Facts
from dragoman.rules.context import Context
from dragoman.rules.naming import new_names, takes_common_names
from dragoman.rules.rewriting import reuse_unchanged
from dragoman.rules.rule import rule
from dragoman.rules.schema.references import values


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
        conversation.messages, [_rename(message, names, context.facts, notes) for message in conversation.messages]
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


def _rename(message: Message, names: dict[str, str], facts: Facts, notes: list[Note]) -> Message:
    parts: list[Part] = []
    for part in message.parts:
        made = part
        if type(part) is Call and part.name in names:
            made = replace(part, name=names[part.name])
        elif type(part) is Opaque:
            made = _rename_inside(part, names, facts)
        elif type(part) is Result:
            inner = reuse_unchanged(part.parts, [_rename_inside(one, names, facts) for one in part.parts])
            if inner is not part.parts:
                made = replace(part, parts=inner)
        if made is not part:
            notes.append(Note("wrote its name in the target's form", message, part, before=part, after=made))
        if type(made) is Result and made.name in names:
            made = replace(made, name=names[made.name])
        parts.append(made)
    renamed = reuse_unchanged(message.parts, parts)
    return message if renamed is message.parts else replace(message, parts=renamed)


def _rename_inside(part: Part, names: dict[str, str], facts: Facts) -> Part:
    """A block of the target's own with the tools that it names by their new names."""
    if type(part) is not Opaque or part.origin.dialect != facts.dialect or not facts.tool_references:
        return part
    wire = msgspec.json.decode(part.json)
    found = False
    for block in values(wire):
        member = facts.tool_references.get(str(block.get("type")))
        name = block.get(member) if member is not None else None
        if member is not None and isinstance(name, str) and name in names:
            block[member], found = names[name], True
    return replace(part, json=msgspec.json.encode(wire)) if found else part
