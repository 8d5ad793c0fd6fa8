"""A cache hint that the target refuses, or more of them than it takes.

A hint that the target refuses is taken off. If there are too many, the last ones stay: they cover the longest prefix.
If the target takes hints, but not one that says for whom the prompt is cached, its `scope` is left out. If it takes no
long lifetime after a short one, in the order of tools, system text and turns, the later hint gets the usual lifetime.
If it takes none inside a tool's result, the result itself gets the hint. If it takes none on tools, theirs are taken
off. If it takes none on tools that a search has to find, the last other tool before gets it. If it takes none for the
whole request, the last part gets that one. If it takes breakpoints instead (`prompt_cache_breakpoint`), hints on input
parts and results become those, and all others are taken off.

Loses metadata; nothing if a hint is moved.

For `openai/gpt-4o`:

    {"messages": [{"role": "user",
      "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]}]}
becomes
    {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Opaque, Part, Result
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.profiles.facts import CacheForm, Stance
from dragoman.rules.cache_hints import have_hints, hints_of, is_long
from dragoman.rules.context import Context
from dragoman.rules.fitted_hints import (
    as_breakpoints,
    off_deferred,
    on_last_part,
    outside_results,
    without_late_hours,
    without_scope,
)
from dragoman.rules.part_words import MARKS
from dragoman.rules.rewriting import kept
from dragoman.rules.rule import rule

Tools = tuple[Tool | NativeTool, ...]


@rule(
    "refused-hint",
    when=lambda facts: (
        Stance.REFUSES in (facts.cache_hints, facts.cache_scope, facts.late_long_hint, facts.deferred_hint)
        or facts.cache_hint_max > 0
        or not (facts.cache_hints_in_results and facts.cache_hints_on_tools and facts.cache_hint_whole)
    ),
    looks_for=traits.HINTS,
    loses=Loss.METADATA,
    sparse=True,
)
def refused_hint(conversation: Conversation, context: Context) -> Rewrite:
    facts = context.facts
    notes: list[Note] = []
    if facts.cache_hints is not Stance.REFUSES and facts.cache_form is CacheForm.BREAKPOINT:
        conversation = as_breakpoints(conversation, notes)
    elif facts.cache_hints is not Stance.REFUSES and not facts.cache_hints_in_results:
        conversation = outside_results(conversation, notes)
    if facts.cache_hints is not Stance.REFUSES and not facts.cache_hint_whole:
        conversation = on_last_part(conversation, notes)
    if not facts.cache_hints_on_tools:
        everywhere = len(conversation.tools) + len(notes)
        conversation = replace(conversation, tools=_bare_tools(conversation.tools, everywhere, notes))
    if facts.deferred_hint is Stance.REFUSES and facts.cache_hints is not Stance.REFUSES:
        conversation = off_deferred(conversation, notes)
    hints = hints_of(conversation)
    count = len(hints)
    surplus = count if facts.cache_hints is Stance.REFUSES else count - (facts.cache_hint_max or count)
    if surplus > 0:
        conversation = _without_surplus(conversation, surplus, notes)
    if facts.cache_scope is Stance.REFUSES:
        conversation = without_scope(conversation, notes)
    if facts.late_long_hint is Stance.REFUSES and len({is_long(hint) for hint in hints}) > 1:
        conversation = without_late_hours(conversation, notes)
    return Rewrite(conversation, tuple(notes))


def _without_surplus(conversation: Conversation, surplus: int, report: list[Note]) -> Conversation:
    notes: list[Note] = []
    tools = _bare_tools(conversation.tools, surplus, notes)
    messages = kept(conversation.messages, [_bare(message, surplus, notes) for message in conversation.messages])
    hint = conversation.hint
    if hint is not None and len(notes) < surplus:
        notes.append(Note("took off a cache hint", key="cache_control", before=hint))
        hint = None
    report += notes
    return replace(conversation, messages=messages, tools=tools, hint=hint)


def _bare_tools(tools: Tools, surplus: int, notes: list[Note]) -> Tools:
    if not have_hints(tools):
        return tools
    bare: list[Tool | NativeTool] = []
    for tool in tools:
        if tool.hint is None or len(notes) >= surplus:
            bare.append(tool)
            continue
        notes.append(Note("took off a cache hint", key=tool.place, before=tool.hint))
        if isinstance(tool, Tool) or tool.kind not in MARKS:
            bare.append(replace(tool, hint=None))
    return kept(tools, bare)


def _have_hints(parts: tuple[Part, ...]) -> bool:
    """Whether one of them has a cache hint. Few have, so all are asked first."""
    for part in parts:  # noqa: SIM110  a generator costs twice as much
        if part.hint is not None or (type(part) is Result and _have_hints(part.parts)):
            return True
    return False


def _bare(message: Message, surplus: int, notes: list[Note]) -> Message:
    if message.hint is None and not _have_hints(message.parts):
        return message
    parts = _bare_parts(message, message.parts, surplus, notes)
    changes: dict[str, Any] = {} if parts is message.parts else {"parts": parts}
    if message.hint is not None and len(notes) < surplus:
        notes.append(Note("took off a cache hint", message, before=message.hint))
        changes["hint"] = None
    return replace(message, **changes) if changes else message


def _bare_parts(message: Message, parts: tuple[Part, ...], surplus: int, notes: list[Note]) -> tuple[Part, ...]:
    changed: list[Part] = []
    before = len(notes)
    for part in parts:
        changes: dict[str, Any] = {}
        if isinstance(part, Result):
            inner = _bare_parts(message, part.parts, surplus, notes)
            if inner is not part.parts:
                changes["parts"] = inner
        if part.hint is not None and len(notes) < surplus:
            notes.append(Note("took off a cache hint", message, part, before=part.hint))
            if isinstance(part, Opaque) and part.kind in MARKS:
                continue
            changes["hint"] = None
        changed.append(replace(part, **changes) if changes else part)
    return tuple(changed) if len(notes) > before else parts
