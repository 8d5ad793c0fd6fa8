"""Calls and tools in the old Chat form: `functions`, `function_call`, the role `function`.

OpenAI replaced this form with tools, and many providers never took it. Functions become tools, calls become tool calls,
and the role `function` becomes `tool`. The old form has no call ids, so each call gets an id made from its place. A
call that a turn holds in both forms stays once.

Loses nothing.

For `deepseek/deepseek-chat`:

    {"messages": [{"role": "user", "content": "Hi"}],
     "functions": [{"name": "look", "parameters": {"type": "object"}}],
     "function_call": "auto"}
becomes
    {"messages": [{"role": "user", "content": "Hi"}],
     "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
     "tool_choice": "auto"}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import LEGACY, Call, Part, Result
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rewriting import Swap, reuse_unchanged, rewrite, rewrite_parts
from dragoman.rules.rule import rule


@rule(
    "legacy-function-call",
    spelling=True,
    when=lambda facts: Stance.REFUSES in (facts.legacy_calls, facts.call_signature),
    looks_for=traits.LEGACY,
    loses=Loss.NOTHING,
    turnwise=lambda context: True,
)
def legacy_function_call(conversation: Conversation, context: Context) -> Rewrite:
    done = rewrite_parts(conversation, _modernise)
    notes = list(done.notes)
    tools = reuse_unchanged(conversation.tools, [_modernise_tool(tool, notes) for tool in conversation.tools])
    choice = conversation.settings.tool_choice
    settings = conversation.settings
    if choice is not None and choice.wire_form == LEGACY:
        settings = replace(settings, tool_choice=replace(choice, wire_form=""))
        notes.append(Note("wrote `function_call` as `tool_choice`", key="function_call"))
    return rewrite(done.conversation, notes, tools=tools, settings=settings)


def _modernise(message: Message, part: Part) -> Swap | None:
    if isinstance(part, Call) and part.wire_form == LEGACY and any(_is_copy(part, one) for one in message.parts):
        return Swap((), "left out a function call that its turn holds as a tool call too")
    if isinstance(part, (Call, Result)) and part.wire_form == LEGACY:
        return Swap((replace(part, wire_form=""),), "wrote a function call the new way")
    return None


def _is_copy(legacy: Call, part: Part) -> bool:
    if not isinstance(part, Call) or part.wire_form == LEGACY:
        return False
    return (part.name, part.arguments) == (legacy.name, legacy.arguments)


def _modernise_tool(tool: Tool | NativeTool, notes: list[Note]) -> Tool | NativeTool:
    if isinstance(tool, NativeTool) or tool.wrapper != "functions":
        return tool
    notes.append(Note(f"wrote the function {tool.name} as a tool", key=f"functions/{tool.at}"))
    return replace(tool, wrapper="")
