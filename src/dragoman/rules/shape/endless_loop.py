"""More turns of tool calls in a row than you allow.

A model can call tools for ever, and each turn costs more than the one before. This rule changes valid requests, so it
is `off` unless you choose `stop`: after ten turns of calls since the user last spoke the model may call no more tools
(`tool_choice` is `none`) and has to answer. For another number write `{"stop": "25"}`, or `stop:25` where only text can
stand. The tools stay declared.

Loses authority: the client offered the tools.

For `openai/gpt-4o`, with `endless-loop: {"stop": "1"}`:

    {"messages": [{"role": "user", "content": "Hi"},
      {"role": "assistant", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "trees"}], "tools": [
      {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}]}
becomes
    {"messages": [{"role": "user", "content": "Hi"},
      {"role": "assistant", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
      {"role": "tool", "tool_call_id": "c1", "content": "trees"}], "tools": [
      {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}],
     "tool_choice": "none"}
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Call
from dragoman.conversation.tools import ChoiceMode, ToolChoice
from dragoman.errors import OptionError, near_match
from dragoman.rules.context import Context
from dragoman.rules.rewriting import rewrite_settings
from dragoman.rules.rule import FAIL, KEEP, rule

USUAL = 10
OPTIONS = ("off", "stop")
_KEYWORDS: dict[object, str] = {**{name: name for name in (*OPTIONS, KEEP, FAIL)}, False: "off", "false": "off"}
_NUMBER = re.compile(r"[1-9][0-9]{0,5}")


def parse_choice(choice: Any) -> str | dict[str, str]:
    """One of the options, or `{"stop": NUMBER}`."""
    if isinstance(choice, bool | str) and choice in _KEYWORDS:
        return _KEYWORDS[choice]
    number = choice.get("stop") if isinstance(choice, dict) and len(choice) == 1 else None
    if isinstance(choice, str) and choice.startswith("stop:"):
        number = choice.removeprefix("stop:")
    if _NUMBER.fullmatch(str(number)):
        return {"stop": str(number)}
    raise OptionError(
        f'endless-loop cannot be "{choice}". {near_match(str(choice), (*OPTIONS, KEEP, FAIL))}',
        hint='write {"stop": "25"} for a number of turns',
    )


@rule(
    "endless-loop",
    when=lambda facts: True,
    looks_for=traits.CALLS,
    loses=Loss.AUTHORITY,
    options=OPTIONS,
    idle=("off",),
    free=True,
    parse=parse_choice,
)
def endless_loop(conversation: Conversation, context: Context) -> Rewrite:
    choice, most = conversation.settings.tool_choice, _find_most(context.choice("endless-loop"))
    stopped = choice is not None and choice.mode is ChoiceMode.NONE
    if stopped or not conversation.tools or not _is_looping(conversation.messages, most):
        return Rewrite(conversation)
    none = ToolChoice(ChoiceMode.NONE)
    did = f"let the model call no more tools: it has called some in {most} turns since the user spoke"
    return rewrite_settings(conversation, [Note(did, key="tool_choice", before=choice, after=none)], tool_choice=none)


def _find_most(choice: Any) -> int:
    chosen = parse_choice(choice)
    return int(chosen["stop"]) if isinstance(chosen, dict) else USUAL


def _is_looping(messages: tuple[Message, ...], most: int) -> bool:
    """Does the conversation end with results, after so many turns of calls since the user last spoke?"""
    if not messages or messages[-1].role is not Role.TOOL:
        return False
    turns = 0
    for message in reversed(messages):
        if message.role is Role.USER:
            return False
        turns += message.role is Role.ASSISTANT and any(type(part) is Call for part in message.parts)
        if turns >= most:
            return True
    return False
