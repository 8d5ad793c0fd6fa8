"""No cache hint, where one would save money.

This rule changes valid requests, so it is `off` unless you choose `add`. A hint is put on the last part of the opening
system messages, or on the first user turn if there are none.

The gateway sets hints in its own way (`cache: auto`): on a prompt that it has sent before, after the tools, the system
texts, the turn before and the last one.

Loses nothing; adds a hint.

For `anthropic/claude-sonnet-4-6`, with `cache-marks: add`:

    {"system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
becomes
    {"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
     "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.identity_cache import IdentityCache
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import CacheHint, Call, Media, Result, Text
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.conversation.traits import Trait, observe
from dragoman.profiles.facts import CachePlace, Facts, Stance
from dragoman.rules.context import Context
from dragoman.rules.rule import rule


@rule(
    "cache-marks",
    when=lambda facts: facts.cache_hints is Stance.ACCEPTS and facts.cache_place is not CachePlace.NONE,
    looks_for=Trait.ALWAYS,
    loses=Loss.NOTHING,
    options=("off", "add"),
    idle=("off",),
)
def cache_marks(conversation: Conversation, context: Context) -> Rewrite:
    if observe(conversation) & Trait.HINTS:
        return Rewrite(conversation)
    at = _place(conversation, context.facts.cache_place)
    if at is None:
        return Rewrite(conversation)
    message = conversation.messages[at]
    marked = replace(message, parts=(*message.parts[:-1], replace(message.parts[-1], hint=_HINT)), listed=True)
    messages = (*conversation.messages[:at], marked, *conversation.messages[at + 1 :])
    note = Note(_DID, message, kind="added", before=message, after=marked)
    return Rewrite(replace(conversation, messages=messages), (note,))


def mark_prompt(conversation: Conversation, facts: Facts, turns: bool) -> Rewrite:
    """Hints for a prompt of which the provider has seen the opening, and with `turns` also what the turn before sent.

    They stand after the tools and after the opening; with `turns`, at the end of the turn before, where its own hint
    stood, and at the end of the last one, for the next. The client has set none in its messages; if it has set one
    on its tools or on the whole request, the conversation stays as it is.
    """
    if conversation.hint is not None or _have_hints(conversation.tools):
        return Rewrite(conversation)
    notes: list[Note] = []
    tools, messages = conversation.tools, list(conversation.messages)
    if tools and facts.cache_hints_on_tools and isinstance(tools[-1], Tool):
        last, tools = tools[-1], _mark_last(tools)
        notes.append(Note(_DID, key=last.place, kind="added", after=_HINT))
    places = [conversation.opening - 1] if conversation.opening else []
    places += _ends_of_turns(conversation) if turns else []
    room = (facts.cache_hint_max or _MOST) - len(notes)
    for at in places[-room:]:
        message = messages[at]
        messages[at] = marked = _marked(message)
        if marked is not message:
            notes.append(Note(_DID, message, kind="added", after=_HINT))
    return Rewrite(replace(conversation, tools=tools, messages=tuple(messages)), tuple(notes))


def _have_hints(tools: tuple[Tool | NativeTool, ...]) -> bool:
    for tool in tools:  # noqa: SIM110  a generator costs twice as much
        if type(tool) is Tool and tool.hint is not None:
            return True
    return False


def _with_last_marked(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    return (*tools[:-1], replace(tools[-1], hint=_HINT))


_mark_last: Callable[[Any], Any] = IdentityCache(_with_last_marked)
"""The same tools every time for the same ones of the client's: they are rendered once."""

_DID = "put a cache hint on it"
_HINT = CacheHint()
_MOST = 4
"""Hints that a target takes if its profile names no number."""


def _ends_of_turns(conversation: Conversation) -> list[int]:
    """The last message of the user's or of tools, and the last one before the model's last answer."""
    ends: list[int] = []
    seeks = True
    for at in range(len(conversation.messages) - 1, conversation.opening - 1, -1):
        role = conversation.messages[at].role
        if role is Role.ASSISTANT:
            seeks = True
        elif seeks and role in (Role.USER, Role.TOOL):
            ends.append(at)
            if len(ends) == 2:
                break
            seeks = False
    return ends[::-1]


def _marked(message: Message) -> Message:
    """The message with a hint on its last part that takes one."""
    for at in range(len(message.parts) - 1, -1, -1):
        part = message.parts[at]
        if isinstance(part, Text | Media | Result | Call) and not (isinstance(part, Text) and part.blank):
            parts = (*message.parts[:at], replace(part, hint=_HINT), *message.parts[at + 1 :])
            return replace(message, parts=parts, listed=True)
    return message


def _place(conversation: Conversation, place: CachePlace) -> int | None:
    opening = conversation.opening
    if place is CachePlace.OPENING and opening and conversation.messages[opening - 1].parts:
        return opening - 1
    users = (at for at, message in enumerate(conversation.messages) if _is_user(message))
    return next(users, None)


def _is_user(message: Message) -> bool:
    return message.role is Role.USER and bool(message.parts)
