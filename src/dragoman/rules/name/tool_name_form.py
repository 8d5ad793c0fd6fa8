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

from dragoman.conversation.canonical import base62
from dragoman.conversation.changes import Loss, Note, Rewrite, Undo
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import ASSISTANT, Message
from dragoman.conversation.parts import Call, Part, Result
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts
from dragoman.rules.context import Context
from dragoman.rules.naming import form, replace_odd_letters, takes_common_names
from dragoman.rules.rewriting import kept
from dragoman.rules.rule import rule


@rule(
    "tool-name-form",
    when=lambda facts: bool(facts.tool_name_pattern),
    looks_for=Trait.CALLS | Trait.TOOLS,
    narrows=lambda facts: Trait.ODD_NAMES if takes_common_names(facts) else None,
    loses=Loss.NOTHING,
)
def tool_name_form(conversation: Conversation, context: Context) -> Rewrite:
    names = new_names(conversation, context.facts)
    if not names:
        return Rewrite(conversation)
    notes: list[Note] = []
    tools = kept(conversation.tools, [_renamed_tool(tool, names, notes) for tool in conversation.tools])
    messages = kept(conversation.messages, [_renamed(message, names, notes) for message in conversation.messages])
    choice = conversation.settings.tool_choice
    settings = conversation.settings
    if choice is not None and any(name in names for name in choice.names):
        settings = replace(
            settings, tool_choice=replace(choice, names=tuple(names.get(name, name) for name in choice.names))
        )
        notes.append(Note("wrote the tool's name in the target's form", key="tool_choice", before=choice))
    undo = Undo(names={made: old for old, made in names.items()})
    return Rewrite(replace(conversation, messages=messages, tools=tools, settings=settings), tuple(notes), undo)


def new_names(conversation: Conversation, facts: Facts) -> dict[str, str]:
    """The names that do not have the target's form, and what they become."""
    fits = form(facts.tool_name_pattern).fullmatch
    used: set[str] = set()
    odd: dict[str, None] = {}
    for name in _names(conversation):
        if fits(name) is not None and len(name) <= facts.tool_name_length:
            used.add(name)
        else:
            odd[name] = None
    return {name: _made(name, used, facts) for name in odd}


def _names(conversation: Conversation) -> dict[str, None]:
    """Every name once, in the order of its first mention."""
    named = dict.fromkeys([tool.name for tool in conversation.tools if isinstance(tool, Tool)])
    named |= dict.fromkeys(
        [
            part.name
            for message in conversation.messages
            if message.role is ASSISTANT
            for part in message.parts
            if type(part) is Call
        ]
    )
    return named


def _made(name: str, used: set[str], facts: Facts) -> str:
    plain = replace_odd_letters(name) or "tool"
    if form(facts.tool_name_pattern).fullmatch("a-a") is None:
        plain = plain.replace("-", "_")
    if not (plain[0].isalpha() or plain[0] == "_"):
        plain = "_" + plain
    if len(plain) > facts.tool_name_length or plain in used:
        plain = f"{plain[: facts.tool_name_length - 9]}_{base62(name, length=8)}"
    used.add(plain)
    return plain


def _renamed_tool(tool: Tool | NativeTool, names: dict[str, str], notes: list[Note]) -> Tool | NativeTool:
    if isinstance(tool, NativeTool) or tool.name not in names:
        return tool
    made = replace(tool, name=names[tool.name])
    notes.append(Note("wrote its name in the target's form", key=tool.place, before=tool.name, after=made.name))
    return made


def _renamed(message: Message, names: dict[str, str], notes: list[Note]) -> Message:
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
