"""A tool that must be called, while the model thinks.

DeepSeek refuses a forced tool choice while it thinks, which it does by default. Claude refuses one beside a thinking
budget. A client that forces a tool needs the call more than the thoughts, so thinking is turned off for this request.
If it cannot be turned off, the choice becomes `auto`, and the model may answer without the call.

Loses authority: the client asked for both.

For `deepseek/deepseek-v4-flash`:

    {"messages": [{"role": "user", "content": "Hi"}], "tool_choice": "required", "tools": [
      {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "tool_choice": "required", "tools": [
      {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}],
     "thinking": {"type": "disabled"}}
"""

from __future__ import annotations

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.settings import Thinking
from dragoman.profiles.facts import Stance
from dragoman.rules.context import Context
from dragoman.rules.reasoning import can_be_asked, forbids_forced_tool
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import rule


@rule(
    "forced-tool",
    when=lambda facts: Stance.REFUSES in (facts.forced_choice_thinking, facts.forced_choice_budget),
    looks_for=traits.CHOICE,
    loses=Loss.AUTHORITY,
    top_level=True,
)
def forced_tool(conversation: Conversation, context: Context) -> Rewrite:
    facts, settings = context.facts, conversation.settings
    choice = settings.tool_choice
    if choice is None or not conversation.tools or not choice.forces:
        return Rewrite(conversation)
    if not forbids_forced_tool(settings, facts, context.translated):
        return Rewrite(conversation)
    if can_be_asked(facts) and facts.thinking_off is not Stance.REFUSES:
        did = "turned thinking off: the target takes no forced tool beside it"
        note = Note(did, key="thinking", before=settings.thinking, after=False)
        return rewrite_settings(conversation, [note], thinking=Thinking(on=False))
    free = choice.soften()
    did = "let the model choose: the target takes no forced tool while it thinks"
    note = Note(did, key="tool_choice", before=choice, after=free)
    return rewrite_settings(conversation, [note], tool_choice=free)
