"""A tool that takes plain text, for a target that only knows functions.

The tool becomes a function with one string argument, `input`. The description of the argument shows the model the
grammar that the text must follow. Calls in the history get the same form. A call in the answer comes back as one of a
tool that takes plain text.

Loses metadata: nobody holds the model to the grammar. Calls lose nothing.

    user: List the files.
    call run(c1) !custom "ls"
    result c1: a.txt
becomes
    user: List the files.
    call run(c1) {"input": "ls"}
    result c1: a.txt
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite, Undo
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Call, Json, Part, Result
from dragoman.conversation.tools import CallForm, NativeTool, Tool
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Swap, reuse_unchanged, rewrite_parts
from dragoman.rules.rule import rule


@rule(
    "custom-tool",
    when=lambda facts: facts.custom_tools is Stance.REFUSES,
    looks_for=traits.CUSTOM_CALLS | traits.CUSTOM_TOOLS,
    loses=Loss.METADATA,
)
def custom_tool(conversation: Conversation, context: Context) -> Rewrite:
    done = rewrite_parts(conversation, _as_function)
    notes = list(done.notes)
    tools = reuse_unchanged(conversation.tools, [_turn_into_function(tool, notes) for tool in conversation.tools])
    if not notes:
        return Rewrite(conversation)
    custom = [tool.name for tool in conversation.tools if isinstance(tool, Tool) and tool.custom]
    undo = Undo(calls={name: CallForm(name, custom=True) for name in custom})
    return Rewrite(replace(done.conversation, tools=tools), tuple(notes), undo)


def _as_function(message: Message, part: Part) -> Swap | None:
    if type(part) is Call and part.custom:
        made = replace(part, custom=False, arguments=b'{"input":' + part.arguments + b"}")
        return Swap((made,), f"wrote the input of {part.name} as an argument", Loss.NOTHING)
    if type(part) is Result and part.custom:
        return Swap((replace(part, custom=False),), "wrote a custom tool's result as a function's", Loss.NOTHING)
    return None


def _turn_into_function(tool: Tool | NativeTool, notes: list[Note]) -> Tool | NativeTool:
    if isinstance(tool, NativeTool) or not tool.custom:
        return tool
    made = replace(tool, custom=False, schema=_make_schema(tool.schema))
    notes.append(Note(f"turned the tool {tool.name} into a function", key=tool.place, before=tool, after=made))
    return made


def _make_schema(form: Json | None) -> Json:
    """One argument, for a text of the form that the client gave."""
    wire = msgspec.json.decode(form) if form is not None else None
    argument = {"type": "string"}
    if isinstance(wire, dict) and isinstance(wire.get("definition"), str):
        argument["description"] = f"A text by this grammar ({wire.get('syntax', 'lark')}):\n{wire['definition']}"
    return msgspec.json.encode({"type": "object", "properties": {"input": argument}, "required": ["input"]})
