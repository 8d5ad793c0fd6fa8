"""A tool that must be called, on a turn that answers calls.

Agents that force a tool on their first request often leave `tool_choice` in every request that follows. The model then
has to call a tool each time, and never gets to its answer. This rule changes valid requests, so it is `off` unless you
choose `release`. Then the choice becomes `auto` if the conversation ends with results of tools.

Loses authority: the client asked for a call.

For `openai/gpt-4o`, with `forced-loop: release`:

    {"messages": [{"role": "user", "content": "Hi"},
      {"role": "assistant", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "trees"}], "tool_choice": "required", "tools": [
      {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"},
      {"role": "assistant", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "trees"}], "tool_choice": "auto", "tools": [
      {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]}
"""

from __future__ import annotations

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Role
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import rule


@rule(
    "forced-loop",
    when=lambda facts: True,
    looks_for=traits.CALLS,
    loses=Loss.AUTHORITY,
    options=("off", "release"),
    idle=("off",),
)
def forced_loop(conversation: Conversation, context: Context) -> Rewrite:
    choice, messages = conversation.settings.tool_choice, conversation.messages
    if choice is None or not messages or messages[-1].role is not Role.TOOL or not choice.forces:
        return Rewrite(conversation)
    free = choice.soften()
    note = Note("let the model choose: its calls are answered", key="tool_choice", before=choice, after=free)
    return rewrite_settings(conversation, [note], tool_choice=free)
