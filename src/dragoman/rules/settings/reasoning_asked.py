"""Thinking that the client expects, and that the target gives only when it is asked.

Clients of most dialects are shown the thinking when they ask a model to think. Some providers need one wish more:
Gemini shows thoughts with `includeThoughts`, newer Claude models with `display`, OpenAI's Responses API with
`reasoning.summary`. That API also gives the encrypted state of the thinking only if `include` names it, and without
that state the next turn begins from nothing. A client of another dialect cannot know this, so the target is asked: for
thoughts if the client expects them, for the state wherever the model may think. MiniMax writes the thinking into the
text, between tags, unless `reasoning_split` asks for it apart. A client that speaks the target's
own dialect asks for itself, and its request is left alone.

Loses nothing; adds the question.

For `gemini/gemini-2.5-flash`, from `anthropic`:

    {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 9000,
     "thinking": {"type": "enabled", "budget_tokens": 2000}}
becomes
    {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
     "generationConfig": {"maxOutputTokens": 9000, "thinkingConfig": {"thinkingBudget": 2000, "includeThoughts": true}}}

For `openai-responses/gpt-5`, from `openai-chat`:

    {"messages": [{"role": "user", "content": "Hi"}], "reasoning_effort": "low"}
becomes
    {"input": [{"type": "message", "role": "user", "content": "Hi"}],
     "reasoning": {"effort": "low", "summary": "auto"}, "include": ["reasoning.encrypted_content"], "store": false}
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.parts import Extras
from dragoman.conversation.settings import SUMMARY, Settings, Thinking
from dragoman.profiles.facts import Facts, ThinkingForm, ThoughtRequest
from dragoman.rules.context import Context
from dragoman.rules.reasoning import can_be_asked, thinks
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import rule


@rule(
    "reasoning-asked",
    when=lambda facts: (
        facts.state_on_request or facts.thinking_apart != "" or facts.thoughts_on_request is not ThoughtRequest.NONE
    ),
    looks_for=traits.ALWAYS,
    loses=Loss.NOTHING,
    top_level=True,
    translated=True,
)
def reasoning_asked(conversation: Conversation, context: Context) -> Rewrite:
    facts, settings = context.facts, conversation.settings
    notes: list[Note] = []
    changes: dict[str, Any] = {}
    if facts.state_on_request and settings.reasoning_state is None and _may_think(settings, facts):
        changes["reasoning_state"] = True
        notes.append(Note("asked for the encrypted state of the thinking", key="include", kind="added", after=True))
    if context.expects_reasoning and can_be_asked(facts) and thinks(settings, facts):
        shown = SHOWN[facts.thoughts_on_request](settings.thinking or Thinking(), facts)
        if shown is not None:
            changes["thinking"] = shown
            did = "asked for the thoughts, which the client expects"
            notes.append(Note(did, key="thinking", kind="added", before=settings.thinking, after=shown))
    if facts.thinking_apart:
        conversation = _ask_apart(conversation, facts, notes)
    return rewrite_settings(conversation, notes, **changes)


def _ask_apart(conversation: Conversation, facts: Facts, notes: list[Note]) -> Conversation:
    """With the field that keeps the thinking out of the text."""
    extras = conversation.extras or Extras(facts.dialect, {})
    if extras.dialect != facts.dialect or facts.thinking_apart in extras.fields:
        return conversation
    notes.append(Note("asked for the thinking apart from the text", key=facts.thinking_apart, kind="added", after=True))
    return replace(conversation, extras=Extras(extras.dialect, {**extras.fields, facts.thinking_apart: b"true"}))


def _may_think(settings: Settings, facts: Facts) -> bool:
    """Can it think, and does the request not forbid it?"""
    return can_be_asked(facts) and (settings.thinking is None or thinks(settings, facts))


def _not_asked(thinking: Thinking, facts: Facts) -> Thinking | None:
    """They come unasked, or never."""
    return None


def _visible(thinking: Thinking, facts: Facts) -> Thinking | None:
    if thinking.visible is not None:
        return None
    if facts.thinking_form is ThinkingForm.ADAPTIVE and thinking.on is None:
        thinking = replace(thinking, on=True, adaptive=True)  # it thinks by default, and this says so
    return replace(thinking, visible=True)


def _summary(thinking: Thinking, facts: Facts) -> Thinking | None:
    return replace(thinking, summary=SUMMARY) if thinking.summary is None else None


SHOWN = {ThoughtRequest.NONE: _not_asked, ThoughtRequest.VISIBLE: _visible, ThoughtRequest.SUMMARY: _summary}
