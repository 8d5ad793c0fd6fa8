"""Thinking that you want on, or off, whatever the client asks for.

This rule changes valid requests, so it is `off` unless you choose `enable` or `disable`. `enable` asks a model to think
if the client does not; how much the client asks for stays. `disable` tells it not to think. Each model is told in
its own form: a budget, an effort, a switch. A model that cannot be asked is left alone.

Loses authority: the client asked for something else, or left it to the model.

For `openai/gpt-5`, with `thinking-switch: enable`:

    {"messages": [{"role": "user", "content": "Hi"}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": "medium"}

For `gemini/gemini-2.5-flash`, with `thinking-switch: disable`:

    {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}
becomes
    {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
     "generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}
"""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.settings import EFFORT_ALONE, Effort, Thinking
from dragoman.rules.asked_thinking import drop_thinking_fields, form_thinking
from dragoman.rules.context import Context
from dragoman.rules.reasoning import can_be_asked
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import rule


@rule(
    "thinking-switch",
    when=can_be_asked,
    looks_for=traits.ALWAYS,
    loses=Loss.AUTHORITY,
    options=("off", "enable", "disable"),
    idle=("off",),
    top_level=True,
)
def thinking_switch(conversation: Conversation, context: Context) -> Rewrite:
    wanted = context.choice("thinking-switch") == "enable"
    thinking = conversation.settings.thinking
    if _asks(thinking) if wanted else _declines(thinking):
        return Rewrite(conversation)
    switched = form_thinking(Thinking(on=wanted), conversation.settings, context.facts, bool(conversation.tools))
    extras = drop_thinking_fields(conversation.extras)
    if switched == thinking and extras is conversation.extras:
        return Rewrite(conversation)  # as far as this model can be asked
    did = "asked for thinking" if wanted else "asked for no thinking"
    note = Note(f"{did}, as configured", key="thinking", before=thinking, after=switched)
    return rewrite_settings(replace(conversation, extras=extras), [note], thinking=switched)


def _asks(thinking: Thinking | None) -> bool:
    """Does the client ask for thinking? An effort of the whole answer says nothing about it."""
    return thinking is not None and thinking.wire_form != EFFORT_ALONE and not _declines(thinking)


def _declines(thinking: Thinking | None) -> bool:
    return thinking is not None and (thinking.on is False or thinking.effort is Effort.NONE or thinking.budget == 0)
