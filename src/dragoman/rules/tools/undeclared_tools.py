"""Calls in the history while no tools are declared, for a target that wants them declared.

Each tool that was called is declared, with a schema that takes anything.

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
from dragoman.conversation.tools import Tool
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
    note = Note(f"declared {', '.join(called)}", key="tools", kind="synthetic", after=tools)
    return Rewrite(replace(conversation, tools=tools, empty_tools=False), (note,))
