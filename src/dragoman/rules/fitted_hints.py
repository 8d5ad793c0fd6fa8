"""Cache hints as a target takes them.

They stand at places that it has: on a tool's result and not inside it, on a part and not on the request, on a tool that
is in the prompt. Or they are breakpoints, which stand on input parts alone. And they hold nothing that it does not
take: no `scope`, and no long lifetime after a short one.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from dragoman.conversation.changes import Loss, Note
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import ASSISTANT, Message
from dragoman.conversation.parts import CacheHint, Call, Media, MediaKind, Opaque, Part, Plain, Reasoning, Result, Text
from dragoman.conversation.tools import NativeTool
from dragoman.profiles.facts import HintPlace
from dragoman.rules.cache_hints import BREAKPOINT, SCOPE, is_long, names_scope, with_breakpoint
from dragoman.rules.hint_walk import ChangeHint, HintWalk
from dragoman.rules.native_kinds import is_deferred
from dragoman.rules.part_words import MARKS
from dragoman.rules.rewriting import reuse_unchanged
from dragoman.wire.json_reader import render_object, split_members

_BEARERS = (Text, Media, Call, Result)
_MOVED = "moved the cache hint to the last part"


def on_last_part(conversation: Conversation, notes: list[Note]) -> Conversation:
    """The conversation whose hint for the whole request stands on its last part, which means the same."""
    hint = conversation.hint
    for index in reversed(range(len(conversation.messages)) if hint is not None else range(0)):
        changed = hint_last_part(conversation.messages[index], hint)
        if changed is None:
            continue
        notes.append(Note(_MOVED, key="cache_control", loses=Loss.NOTHING, before=hint))
        messages = (*conversation.messages[:index], changed, *conversation.messages[index + 1 :])
        return replace(conversation, messages=messages, hint=None)
    return conversation


def inside_messages(conversation: Conversation, notes: list[Note]) -> Conversation:
    """The conversation whose messages have their hints on their last parts, which means the same. The same one if none
    has a hint beside its content."""

    def move_hint(message: Message) -> Message:
        if message.hint is None:
            return message
        changed = hint_last_part(message, message.hint)
        if changed is None:
            notes.append(_note_gone(message, None, message.hint))
        else:
            notes.append(Note(_MOVED, message, loses=Loss.NOTHING, before=message.hint))
        return replace(changed or message, hint=None)

    messages = reuse_unchanged(conversation.messages, [move_hint(message) for message in conversation.messages])
    return conversation if messages is conversation.messages else replace(conversation, messages=messages)


def hint_last_part(message: Message, hint: CacheHint | None) -> Message | None:
    """The message with the hint on its last part that takes one, unless that has its own; None if no part does."""
    for at in reversed(range(len(message.parts))):
        part = message.parts[at]
        if isinstance(part, _BEARERS):
            hinted = replace(part, hint=part.hint or hint)
            return replace(message, parts=(*message.parts[:at], hinted, *message.parts[at + 1 :]))
    return None


def before_unhinted(conversation: Conversation, places: tuple[HintPlace, ...], notes: list[Note]) -> Conversation:
    """The conversation whose turns have no hints at places that take none. The part before such a place gets the hint,
    and one with nothing before it is taken off. The same conversation if there is none."""
    opening = conversation.opening
    turns = [_before_unhinted(message, places, notes) for message in conversation.messages[opening:]]
    messages = reuse_unchanged(conversation.messages, [*conversation.messages[:opening], *turns])
    return conversation if messages is conversation.messages else replace(conversation, messages=messages)


def _before_unhinted(message: Message, places: tuple[HintPlace, ...], notes: list[Note]) -> Message:
    odd = [at for at, part in enumerate(message.parts) if part.hint is not None and is_unhinted(part, at, places)]
    parts = list(message.parts)
    for at in reversed(odd):
        part = parts[at]
        home = next((near for near in reversed(range(at)) if not is_unhinted(parts[near], near, places)), None)
        did, lost = "took off a cache hint", Loss.METADATA
        if home is not None:
            parts[home] = replace(parts[home], hint=parts[home].hint or part.hint)
            did, lost = "moved the cache hint to a part before, which takes one", Loss.NOTHING
        parts[at] = replace(part, hint=None)
        notes.append(Note(did, message, part, loses=lost, before=part.hint))
    kept = [part for part in parts if part.hint is not None or not _is_mark(part)]
    return replace(message, parts=tuple(kept)) if odd else message


def is_unhinted(part: Part, at: int, places: tuple[HintPlace, ...]) -> bool:
    """Whether the target takes no hint there. A mark is nothing but a hint."""
    if type(part) is Media:
        return HintPlace.DOCUMENT in places and part.kind is MediaKind.DOCUMENT and not _is_pdf(part)
    if type(part) is Reasoning:
        return HintPlace.THINKING in places
    return HintPlace.FIRST in places and at == 0 and _is_mark(part)


def _is_pdf(document: Media) -> bool:
    source = document.source
    if isinstance(source, Plain):
        return False
    named = getattr(source, "media_type", "") or getattr(source, "url", "")
    return named.endswith("pdf") or not named


def _is_mark(part: Part) -> bool:
    return isinstance(part, Opaque) and part.kind in MARKS


def off_deferred(conversation: Conversation, notes: list[Note]) -> Conversation:
    """The conversation without hints on tools that a search has to find: they are not in the prompt. Such a hint goes
    to the last tool before it that is. The same conversation if there is none."""
    tools, known, loaded = list(conversation.tools), len(notes), -1
    for at, tool in enumerate(conversation.tools):
        if isinstance(tool, NativeTool) or not is_deferred(tool):
            loaded = at
        elif tool.hint is not None:
            tools[at] = replace(tool, hint=None)
            did, lost = "took off a cache hint", Loss.METADATA
            if loaded >= 0:
                home = tools[loaded]
                tools[loaded] = replace(home, hint=home.hint or tool.hint)
                did, lost = "moved the cache hint to a tool that is loaded at once", Loss.NOTHING
            notes.append(Note(did, key=tool.place, loses=lost, before=tool.hint))
    return conversation if len(notes) == known else replace(conversation, tools=tuple(tools))


def outside_results(conversation: Conversation, notes: list[Note]) -> Conversation:
    """The conversation whose results have no hints inside. The same one if none has."""
    messages = reuse_unchanged(conversation.messages, [_fit(message, notes) for message in conversation.messages])
    return conversation if messages is conversation.messages else replace(conversation, messages=messages)


def _fit(message: Message, notes: list[Note]) -> Message:
    parts = reuse_unchanged(message.parts, [_fit_part(message, part, notes) for part in message.parts])
    return message if parts is message.parts else replace(message, parts=parts)


def _fit_part(message: Message, part: Part, notes: list[Note]) -> Part:
    """The last hint inside covers the longest prefix. It goes to the result, unless that has one."""
    if type(part) is not Result:
        return part
    hints = [inner.hint for inner in part.parts if inner.hint is not None]
    if not hints:
        return part
    notes.append(Note("moved a cache hint from inside a result to the result", message, part, before=hints[-1]))
    bare = tuple([inner if inner.hint is None else replace(inner, hint=None) for inner in part.parts])
    return replace(part, parts=bare, hint=part.hint or hints[-1])


def as_breakpoints(conversation: Conversation, notes: list[Note]) -> Conversation:
    """The conversation whose hints are breakpoints. Those that stand elsewhere than on input are taken off, and nothing
    is lost with one for the whole request: the target marks the end of the prompt unasked."""
    if conversation.hint is not None:
        did = "left out the cache hint for the whole request"
        notes.append(Note(did, key="cache_control", loses=Loss.NOTHING, before=conversation.hint))
    messages = reuse_unchanged(
        conversation.messages, [_with_breakpoints(message, notes) for message in conversation.messages]
    )
    if messages is conversation.messages and conversation.hint is None:
        return conversation
    return replace(conversation, messages=messages, hint=None)


def _with_breakpoints(message: Message, notes: list[Note]) -> Message:
    parts = reuse_unchanged(message.parts, [_respell(message, part, notes) for part in message.parts])
    return message if parts is message.parts else replace(message, parts=parts)


def _respell(message: Message, part: Part, notes: list[Note]) -> Part:
    changes: dict[str, Any] = {}
    if type(part) is Result:
        inner = reuse_unchanged(part.parts, [_respell(message, one, notes) for one in part.parts])
        if inner is not part.parts:
            changes["parts"] = inner
    hint = part.hint
    if hint is not None and type(part) is Result and (marked := with_breakpoint(part)) is not part:
        notes.append(_note_breakpoint(message, part, hint))
        return marked
    if hint is not None and not hint.is_breakpoint:
        takes = isinstance(part, (Text, Media)) and message.role is not ASSISTANT
        changes["hint"] = BREAKPOINT if takes else None
        notes.append(_note_breakpoint(message, part, hint) if takes else _note_gone(message, part, hint))
    return replace(part, **changes) if changes else part


def _note_breakpoint(message: Message, part: Part, hint: CacheHint) -> Note:
    lost = Loss.METADATA if b'"ttl"' in hint.json and b'"5m"' not in hint.json else Loss.NOTHING
    did = "made a breakpoint of a cache hint" + (", without its lifetime" if lost is Loss.METADATA else "")
    return Note(did, message, part, loses=lost, before=hint, after=BREAKPOINT)


def _note_gone(message: Message, part: Part | None, hint: CacheHint) -> Note:
    return Note("took off a cache hint", message, part, before=hint)


def without_scope(conversation: Conversation, notes: list[Note]) -> Conversation:
    """The conversation whose hints name no scope. The same one if none does."""
    narrow: ChangeHint = lambda hint: _without(hint, SCOPE) if names_scope(hint) else hint  # noqa: E731
    return HintWalk(narrow, f"left out the `{SCOPE}` of a cache hint", notes).conversation(conversation)


def without_late_hours(conversation: Conversation, notes: list[Note]) -> Conversation:
    """The conversation in which no long hint stands after a short one, in the order of the prompt. The same one if
    none does."""
    short = False

    def narrow(hint: CacheHint) -> CacheHint:
        nonlocal short
        if not is_long(hint):
            short = True
        return _without(hint, "ttl") if short and is_long(hint) else hint

    return HintWalk(narrow, "made a cache hint short, as one before it is", notes).conversation(conversation)


def _without(hint: CacheHint, member: str) -> CacheHint:
    members = split_members(hint.json)
    return CacheHint(render_object({name: bytes(value) for name, value in members.items() if name != member}))
