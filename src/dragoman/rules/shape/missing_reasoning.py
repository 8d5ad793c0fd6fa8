"""Thinking that the target demands back and that is not in the conversation.

Some models refuse a tool turn without its thinking, or also the words that follow the tools' results. The calls were
made by another model, so a filler of one space stands in. Others refuse a last tool turn that does not begin with
thinking, if thinking has a budget: for them thinking is turned off in this request.

Loses nothing if a filler stands in. Turning thinking off loses authority: the client asked for it.

For `moonshot/kimi-k2-thinking`:

    {"messages": [{"role": "user", "content": "Hi"},
      {"role": "assistant", "content": "One moment.", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "12 degrees"}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"},
      {"role": "assistant", "content": "One moment.", "reasoning_content": " ", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "12 degrees"}]}
"""

from __future__ import annotations

from itertools import takewhile

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Reasoning, Text
from dragoman.conversation.settings import Thinking
from dragoman.profiles.facts import NEEDS_FILLED, Facts, Need, ThinkingForm
from dragoman.rules.context import Context
from dragoman.rules.reasoning import find_demanding, thinks
from dragoman.rules.rewriting import Edit, rewrite_indexed, rewrite_settings
from dragoman.rules.rule import rule

_FILLER = Text(quote(" "))


@rule(
    "missing-reasoning",
    when=lambda facts: facts.reasoning_required is not Need.NEVER,
    looks_for=traits.CALLS,
    narrows=lambda facts: None if facts.reasoning_default else traits.THINKING,
    loses=Loss.AUTHORITY,
)
def missing_reasoning(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    if not thinks(conversation.settings, facts, context.translated):
        return Rewrite(conversation)
    if facts.reasoning_required in NEEDS_FILLED:
        return _fill(conversation, facts)
    return _turn_off(conversation, facts)


def _fill(conversation: Conversation, facts: Facts) -> Rewrite:
    filler = Reasoning(text=_FILLER, field=facts.reasoning_field)
    demanding = find_demanding(conversation.messages, facts.reasoning_required)

    def fill(index: int, message: Message) -> Edit | None:
        if index not in demanding or any(type(part) is Reasoning and part.text is not None for part in message.parts):
            return None
        rest = [part for part in message.parts if type(part) is not Reasoning or part.state is not None]
        filled = replace(message, parts=(filler, *rest))
        return Edit((filled,), "put a filler where the target demands thinking", loses=Loss.NOTHING, kind="synthetic")

    return rewrite_indexed(conversation, fill)


def _turn_off(conversation: Conversation, facts: Facts) -> Rewrite:
    before = conversation.settings.thinking
    by_budget = facts.thinking_form in _BUDGETED or (before is not None and before.budget is not None)
    if not by_budget or not _loop_without_thinking(conversation.messages, facts):
        return Rewrite(conversation)
    did = "turned thinking off: the last tool turn has none"
    note = Note(did, key="thinking", loses=Loss.AUTHORITY, before=before, after=False)
    return rewrite_settings(conversation, [note], thinking=Thinking(on=False))


_BUDGETED = (ThinkingForm.BUDGET, ThinkingForm.OPEN)
"""Forms in which thinking has a budget, also if a router makes it of an effort."""


def _loop_without_thinking(messages: tuple[Message, ...], facts: Facts) -> bool:
    """Is the last turn the answer to calls, and does the turn that made them begin with anything but thinking? Where
    entries hold its proof, words alone are none."""
    at = len(messages) - 1
    answered = False
    while at >= 0 and messages[at].role is not Role.ASSISTANT:
        answered = answered or messages[at].role is Role.TOOL
        at -= 1
    while at > 0 and messages[at - 1].role is Role.ASSISTANT:
        at -= 1
    if not answered or at < 0:
        return False
    leading = takewhile(lambda part: type(part) is Reasoning, messages[at].parts)
    return not any(not facts.state_format or getattr(part, "state", None) is not None for part in leading)
