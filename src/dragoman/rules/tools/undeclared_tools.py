"""Calls in the history while no tools are declared, for a target that wants them declared.

Each tool that was called is declared, with a schema that takes anything. A choice that makes the model call a tool is
left out: the client has none that could be called.

Loses nothing; adds declarations.

    user: Hi
    call look(c1) {}
    result c1: 12 degrees
becomes
    @tool look {"type":"object","properties":{}}
    user: Hi
    call look(c1) {}
    result c1: 12 degrees
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Call
from dragoman.conversation.tools import ChoiceMode, Tool
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "undeclared-tools",
    when=lambda facts: facts.undeclared_tools is Stance.REFUSES,
    looks_for=traits.CALLS,
    loses=Loss.NOTHING,
)
def undeclared_tools(conversation: Conversation, context: Context) -> Rewrite:
    if conversation.tools:
        return Rewrite(conversation)
    called = {part.name: None for message in conversation.messages for part in message.parts if type(part) is Call}
    if not called:
        return Rewrite(conversation)
    tools = tuple(Tool(name, schema=b'{"type":"object","properties":{}}') for name in called)
    notes = [Note(f"declared {', '.join(called)}", key="tools", kind="synthetic", after=tools)]
    settings, choice = conversation.settings, conversation.settings.tool_choice
    if choice is not None and (choice.names or choice.mode not in (ChoiceMode.AUTO, ChoiceMode.NONE)):
        settings = replace(settings, tool_choice=None)
        notes.append(Note("left out a tool choice without tools", key="tool_choice", before=choice))
    return Rewrite(replace(conversation, tools=tools, settings=settings, empty_tools=False), tuple(notes))
