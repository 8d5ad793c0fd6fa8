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

from msgspec.structs import replace

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.settings import Settings, Thinking
from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.conversation.traits import Trait
from dragoman.profiles.facts import Facts, Stance, ThinkingForm
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import rule
from dragoman.rules.shape.missing_reasoning import can_be_asked, thinks

_FORCED = (ChoiceMode.REQUIRED, ChoiceMode.NAMED)


@rule(
    "forced-tool",
    when=lambda facts: Stance.REFUSES in (facts.forced_choice_thinking, facts.forced_choice_budget),
    looks_for=Trait.CHOICE,
    loses=Loss.AUTHORITY,
    top_level=True,
)
def forced_tool(conversation: Conversation, context: Context) -> Rewrite:
    facts, settings = context.facts, conversation.settings
    choice = settings.tool_choice
    if choice is None or not conversation.tools or not is_forced(choice) or not forbids_forced_tool(settings, facts):
        return Rewrite(conversation)
    if can_be_asked(facts) and facts.thinking_off is not Stance.REFUSES:
        did = "turned thinking off: the target takes no forced tool beside it"
        note = Note(did, key="thinking", before=settings.thinking, after=False)
        return rewrite_settings(conversation, [note], thinking=Thinking(on=False))
    free = softened(choice)
    did = "let the model choose: the target takes no forced tool while it thinks"
    note = Note(did, key="tool_choice", before=choice, after=free)
    return rewrite_settings(conversation, [note], tool_choice=free)


def is_forced(choice: ToolChoice) -> bool:
    """Must the model call a tool?"""
    return choice.mode in _FORCED or (choice.mode is ChoiceMode.ALLOWED and choice.must)


def forbids_forced_tool(settings: Settings, facts: Facts) -> bool:
    """Will the target think in a way that forbids a forced tool?"""
    if not thinks(settings, facts):
        return False
    if facts.forced_choice_thinking is Stance.REFUSES:
        return True
    return facts.forced_choice_budget is Stance.REFUSES and _by_budget(settings, facts)


def _by_budget(settings: Settings, facts: Facts) -> bool:
    if facts.thinking_form is not ThinkingForm.ANY:
        return facts.thinking_form is ThinkingForm.BUDGET
    return settings.thinking is not None and (settings.thinking.budget or 0) > 0


def softened(choice: ToolChoice) -> ToolChoice:
    """The same choice, and the model may also call none."""
    return replace(choice, must=False) if choice.mode is ChoiceMode.ALLOWED else ToolChoice(ChoiceMode.AUTO)
