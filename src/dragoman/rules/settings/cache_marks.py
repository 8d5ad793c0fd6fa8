"""No cache hint, although one would save money.

This rule changes valid requests, so it is `off` unless you choose `add`. A hint is put on the last part of the opening
system messages, or on the first user turn if there are none.

The gateway sets hints in its own way (`cache: auto`): on a prompt that it has sent before, after the tools, the system
texts, the turn before and the last one. For a target that takes breakpoints there is one after the system texts, and on
the last results of tools: it marks the end of the prompt unasked.

Loses nothing; adds a hint.

For `anthropic/claude-sonnet-4-6`, with `cache-marks: add`:

    {"system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
becomes
    {"system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
     "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 100}
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec.structs import replace

from dragoman.conversation import traits
from dragoman.conversation.bounded_cache import IdentityCache
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import ASSISTANT, FIELD, TOOL, USER, Message
from dragoman.conversation.parts import BREAKPOINT_FIELD, CacheHint, Call, Media, Result, Text
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.conversation.traits import observe
from dragoman.profiles.facts import CacheForm, CachePlace, Facts, HintPlace, Stance
from dragoman.rules.cache_hints import BREAKPOINT, have_hints, with_breakpoint
from dragoman.rules.context import Context
from dragoman.rules.fitted_hints import is_unhinted
from dragoman.rules.native_kinds import is_deferred
from dragoman.rules.rewriting import rewrite
from dragoman.rules.rule import rule


@rule(
    "cache-marks",
    when=lambda facts: facts.cache_hints is Stance.ACCEPTS and facts.cache_place is not CachePlace.NONE,
    looks_for=traits.ALWAYS,
    loses=Loss.NOTHING,
    options=("off", "add"),
    idle=("off",),
)
def cache_marks(conversation: Conversation, context: Context) -> Rewrite:
    if observe(conversation) & traits.HINTS:
        return Rewrite(conversation)
    at = _place(conversation, context.facts.cache_place)
    if at is None:
        return Rewrite(conversation)
    message = conversation.messages[at]
    hint = BREAKPOINT if context.facts.cache_form is CacheForm.BREAKPOINT else _HINT
    marked = _place_mark(message, hint, context.facts.unhinted_places)
    messages = (*conversation.messages[:at], marked, *conversation.messages[at + 1 :])
    note = Note(_DID, message, kind="added", before=message, after=marked)
    return Rewrite(replace(conversation, messages=messages), (note,))


def mark_prompt(conversation: Conversation, facts: Facts, turns: bool) -> Rewrite:
    """Hints for a prompt of which the provider has seen the opening, and with `turns` also what the turn before sent.

    They stand after the tools and after the opening; with `turns`, at the end of the turn before, where its own hint
    stood, and at the end of the last one, for the next. The client has set none in its messages; if it has set one
    on its tools or on the whole request, the conversation stays as it is.
    """
    if conversation.hint is not None or have_hints(conversation.tools):
        return Rewrite(conversation)
    notes: list[Note] = []
    tools, messages = conversation.tools, list(conversation.messages)
    loaded = _count_loaded(tools)
    if loaded and facts.cache_hints_on_tools and isinstance(last := tools[loaded - 1], Tool):
        tools = _mark_last(tools)
        notes.append(Note(_DID, key=last.place, kind="added", after=_HINT))
    opening = conversation.opening
    places = [opening - 1] if opening else []
    places += _ends_of_turns(conversation) if turns else []
    room = (facts.cache_hint_max or MOST_HINTS) - len(notes)
    _mark(messages, places[-room:], _HINT, notes, facts.unhinted_places)
    return Rewrite(replace(conversation, tools=tools, messages=tuple(messages)), tuple(notes))


def mark_turns(conversation: Conversation, facts: Facts, room: int) -> Rewrite:
    """Hints at the ends of turns, beside those of a client that expects the end of every prompt to be marked."""
    notes: list[Note] = []
    messages = list(conversation.messages)
    unmarked = [at for at in _ends_of_turns(conversation) if not any(part.hint for part in messages[at].parts)]
    _mark(messages, unmarked[-room:] if room > 0 else [], _HINT, notes, facts.unhinted_places)
    return rewrite(conversation, notes, messages=tuple(messages))


def mark_breakpoints(conversation: Conversation, same: bool, opening: bool, turns: bool) -> Rewrite:
    """Set breakpoints where the target would set none.

    One stands after the system texts, if the `opening` is known, for other conversations that have it. With `turns`,
    one stands on the last result of a tool, if a text follows it that may be gone on the next turn. Another stands on
    the last result before the model's answer, if that was done on the turn before.
    """
    last = conversation.opening - 1
    messages, notes = list((conversation if same else in_input(conversation)).messages), list[Note]()
    if opening and last >= 0 and not (same and (messages[last].at == FIELD or _has_breakpoint(messages[last]))):
        _mark(messages, [last], BREAKPOINT, notes)
    if turns:
        _mark(messages, [at for at in _find_last_results(messages) if _is_listed(messages[at])], BREAKPOINT, notes)
    if same and not notes:
        return Rewrite(conversation)
    return Rewrite(replace(conversation, messages=tuple(messages)), tuple(notes))


def in_input(conversation: Conversation) -> Conversation:
    """The conversation of a client of another dialect, in the form in which all of it takes breakpoints: system texts
    among the input, since a field for them takes none, and results as lists of parts. It is so from the first request
    on that is long enough to be cached, since nothing may be written otherwise than before."""
    opening = conversation.opening
    messages = [
        replace(one, inline=True) if at < opening else _with_lists(one) if one.role is TOOL else one
        for at, one in enumerate(conversation.messages)
    ]
    return replace(conversation, messages=tuple(messages))


def _list_results(message: Message) -> Message:
    parts = [replace(one, listed=True) if type(one) is Result and one.parts else one for one in message.parts]
    return replace(message, parts=tuple(parts))


_with_lists: Callable[[Message], Message] = IdentityCache(_list_results)


def _is_listed(message: Message) -> bool:
    last = message.parts[-1] if message.parts else None
    return type(last) is Result and last.listed


def _has_breakpoint(message: Message) -> bool:
    return any(part.extras is not None and BREAKPOINT_FIELD in part.extras.fields for part in message.parts)


def _mark(
    messages: list[Message], places: list[int], hint: CacheHint, notes: list[Note], bare: tuple[HintPlace, ...] = ()
) -> None:
    for at in places:
        message = messages[at]
        messages[at] = marked = _place_mark(message, hint, bare)
        if marked is not message:
            notes.append(Note(_DID, message, kind="added", after=hint))


def _count_loaded(tools: tuple[Tool | NativeTool, ...]) -> int:
    """The tools without the deferred ones at their end, which are not in the prompt."""
    count = len(tools)
    while count and isinstance(tool := tools[count - 1], Tool) and is_deferred(tool):
        count -= 1
    return count


def _with_last_marked(tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
    last = _count_loaded(tools) - 1
    return (*tools[:last], replace(tools[last], hint=_HINT), *tools[last + 1 :])


_mark_last: Callable[[Any], Any] = IdentityCache(_with_last_marked)
"""The same tools every time for the same ones of the client's: they are rendered once."""

_DID = "put a cache hint on it"
_HINT = CacheHint()
_TAKE_HINTS = (Text, Media, Result, Call)
MOST_HINTS = 4
"""Hints that a target takes if its profile names no number."""


def _find_last_results(messages: Sequence[Message]) -> list[int]:
    """The last result before the model's last answer, and the one after it, if something stands behind that."""
    last = _find_result_before_text(messages)
    at = len(messages) - 1 if last < 0 else last
    while at >= 0 and messages[at].role is not ASSISTANT:
        at -= 1
    while at >= 0 and messages[at].role is not TOOL:
        at -= 1
    return [one for one in (at, last) if one >= 0]


def _find_result_before_text(messages: Sequence[Message]) -> int:
    """The last result of the last turn, if something stands behind it; -1 if not."""
    at = len(messages) - 1
    while at >= 0 and messages[at].role is not TOOL and messages[at].role is not ASSISTANT:
        at -= 1
    return at if 0 <= at < len(messages) - 1 and messages[at].role is TOOL else -1


def _ends_of_turns(conversation: Conversation) -> list[int]:
    """The last message of the user's or of tools, and the last one before the model's last answer. If a text stands
    behind the last result, that result instead of the latter: the text may be gone on the next turn, and what the turn
    before marked is found from there."""
    if (result := _find_result_before_text(conversation.messages)) >= 0:
        return [result, len(conversation.messages) - 1]
    ends: list[int] = []
    seeks = True
    messages = conversation.messages
    for at in range(len(messages) - 1, conversation.opening - 1, -1):
        role = messages[at].role
        if role is ASSISTANT:
            seeks = True
        elif seeks and (role is USER or role is TOOL):
            ends.append(at)
            if len(ends) == 2:
                break
            seeks = False
    return ends[::-1]


def _place_mark(message: Message, hint: CacheHint, bare: tuple[HintPlace, ...]) -> Message:
    """The message with a hint on its last part that takes one. A breakpoint stands inside a result. `bare`: where the
    target takes no hint."""
    for at in range(len(message.parts) - 1, -1, -1):
        part = message.parts[at]
        if type(part) is Result and hint.is_breakpoint:
            marked = with_breakpoint(part)
            return (
                message
                if marked is part
                else replace(message, parts=(*message.parts[:at], marked, *message.parts[at + 1 :]))
            )
        if bare and is_unhinted(part, at, bare):
            continue
        if isinstance(part, _TAKE_HINTS) and not (type(part) is Text and part.blank):
            parts = (*message.parts[:at], replace(part, hint=hint), *message.parts[at + 1 :])
            return replace(message, parts=parts, listed=True)
    return message


def _place(conversation: Conversation, place: CachePlace) -> int | None:
    opening = conversation.opening
    if place is CachePlace.OPENING and opening and conversation.messages[opening - 1].parts:
        return opening - 1
    users = (at for at, message in enumerate(conversation.messages) if message.role is USER and message.parts)
    return next(users, None)
