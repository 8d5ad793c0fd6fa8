"""Walks over messages, parts, results and tools that rules share. What does not change stays the same object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, wraps
from itertools import count, repeat
from operator import is_
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from dragoman.conversation.changes import ChangeKind, Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.literals import EMPTY, StringLiteral, join_texts
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Part, Result, Text
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.rules.context import Context
from dragoman.rules.rule import Repair

Parts = tuple[Part, ...]
Value = TypeVar("Value")
Struct = TypeVar("Struct", bound=msgspec.Struct)


def rewrite(conversation: Conversation, notes: list[Note], **changes: Any) -> Rewrite:
    """The conversation with these members in place of its own, if any note was made."""
    return Rewrite(replace(conversation, **changes), tuple(notes)) if notes else Rewrite(conversation)


class Edit(msgspec.Struct, frozen=True):
    """What becomes of a message."""

    messages: tuple[Message, ...]
    """The messages in its place. None: it is taken out."""
    did: str
    """The words of the report."""
    part: Part | None = None
    """The part that the report points to; None: the message."""
    loses: Loss | None = None
    """What that loses; None: what the rule says."""
    kind: ChangeKind = "repair"
    spelling_only: bool = False
    """Whether it means what it meant."""


def edit(message: Message, did: str, part: Part | None = None, loses: Loss | None = None) -> Edit:
    """One message in place of another."""
    return Edit((message,), did, part, loses)


def respell(message: Message, did: str) -> Edit:
    """The same message, spelled otherwise."""
    return Edit((message,), did, spelling_only=True)


def each_message(change: Callable[[Message, Context], Edit | None]) -> Repair:
    """The repair that changes every message by itself; None leaves it as it is. In a translation a mere change of
    spelling is no news."""

    @wraps(change)
    def repair(conversation: Conversation, context: Context) -> Rewrite:
        edits = map(change, conversation.messages, repeat(context))
        return _rewrite(conversation, edits, context.translated)

    return repair


def rewrite_messages(conversation: Conversation, change: Callable[[Message], Edit | None]) -> Rewrite:
    """Every message through `change`; None leaves it as it is."""
    return _rewrite(conversation, map(change, conversation.messages))


def rewrite_indexed(conversation: Conversation, change: Callable[[int, Message], Edit | None]) -> Rewrite:
    """Every message through a `change` that looks at its neighbours; None leaves it as it is."""
    return _rewrite(conversation, map(change, count(), conversation.messages))


def _rewrite(conversation: Conversation, edits: Iterable[Edit | None], translated: bool = False) -> Rewrite:
    found = list(edits)
    if not any(found):
        return Rewrite(conversation)
    messages: list[Message] = []
    notes: list[Note] = []
    for message, done in zip(conversation.messages, found, strict=False):
        if done is None:
            messages.append(message)
            continue
        messages += done.messages
        if not translated or not done.spelling_only:
            notes.append(_note(message, done))
    return Rewrite(replace(conversation, messages=tuple(messages)), tuple(notes))


def _note(message: Message, done: Edit) -> Note:
    return Note(
        done.did,
        message,
        done.part,
        loses=done.loses,
        kind=done.kind,
        before=message,
        after=done.messages or None,
        spelling_only=done.spelling_only,
    )


class Swap(msgspec.Struct, frozen=True):
    """What becomes of a part."""

    parts: Parts
    """The parts in its place."""
    did: str
    """The words of the report. Empty: only its spelling changed."""
    loses: Loss | None = None
    """What that loses; None: what the rule says."""
    kind: ChangeKind = "repair"


class _PartChange(Protocol):
    def __call__(self, message: Message, part: Part, context: Context) -> Swap | None: ...


def each_part(change: _PartChange, inside_results: bool = False) -> Repair:
    """The repair that changes every part by itself, with `inside_results` also the parts of results. None leaves a part
    as it is."""

    @wraps(change)
    def repair(conversation: Conversation, context: Context) -> Rewrite:
        return rewrite_parts(conversation, partial(change, context=context), inside_results)

    return repair


each_part_inside = partial(each_part, inside_results=True)


def rewrite_parts(
    conversation: Conversation, change: Callable[[Message, Part], Swap | None], inside_results: bool = False
) -> Rewrite:
    """Every part through `change`, with `inside_results` also the parts of results. A message without parts goes."""
    messages: list[Message] = []
    notes: list[Note] = []
    touched = False
    for message in conversation.messages:
        parts = _change_parts(message, message.parts, change, inside_results, notes)
        if parts is message.parts:
            messages.append(message)
            continue
        touched = True
        if parts:
            messages.append(with_parts(message, parts))
    if not touched:
        return Rewrite(conversation)
    return Rewrite(replace(conversation, messages=tuple(messages)), tuple(notes))


def with_parts(message: Message, parts: Parts) -> Message:
    """The message of other parts. Several texts are a list, whoever wrote them."""
    listed = message.listed or len([part for part in parts if type(part) is Text]) > 1
    return replace(message, parts=parts, listed=listed)


def _without_fields(part: Part, instead: Parts) -> str:
    """The words about fields of a part that its dialect does not know, and that go with it."""
    extras = part.extras
    if extras is None or any(one.extras is not None for one in instead):
        return ""
    return f", without {', '.join(extras.fields)}"


def _change_parts(
    message: Message,
    parts: Parts,
    change: Callable[[Message, Part], Swap | None],
    inside: bool,
    notes: list[Note],
) -> Parts:
    changed: list[Part] = []
    touched = False
    for part in parts:
        if inside and type(part) is Result:
            inner = _change_parts(message, part.parts, change, False, notes)
            if inner is not part.parts:
                touched = True
                part = replace(part, parts=inner)
        swap = change(message, part)
        if swap is None:
            changed.append(part)
            continue
        touched = True
        changed += swap.parts
        if swap.did:
            after = swap.parts or None
            did = swap.did + _without_fields(part, swap.parts)
            notes.append(Note(did, message, part, loses=swap.loses, kind=swap.kind, before=part, after=after))
    return tuple(changed) if touched else parts


def reuse_unchanged(before: tuple[Value, ...], after: list[Value]) -> tuple[Value, ...]:
    """`after` as a tuple, the same one as `before` if nothing changed: caches know tools by identity."""
    same = len(before) == len(after) and all(map(is_, before, after))
    return before if same else tuple(after)


def plain_text(parts: Iterable[Part]) -> bool:
    """Nothing but texts without cache hints, signatures or extras."""
    return all(
        type(part) is Text and part.hint is None and part.extras is None and part.signature is None for part in parts
    )


def without_empty(parts: Iterable[Part]) -> list[Text]:
    """The texts that hold something, or one that is empty if none does."""
    texts = [part for part in parts if type(part) is Text]
    return [part for part in texts if part.literal != EMPTY] or texts[:1]


def join_lines(parts: Iterable[Part]) -> StringLiteral:
    """The texts of one message as one text, each on a line of its own. An empty text has no line."""
    return join_texts("\n", [part.literal for part in without_empty(parts)])


_NOTHING = (b"null", b"[]", b"{}", b'""')


def with_members(run: Sequence[Message]) -> Message:
    """The first of messages that become one, with what the others have beside their parts. A name that not all of them
    have goes. Of two values of a field the first is taken, of two cache hints the last."""
    fields: dict[str, bytes] = {}
    for message in run:
        for key, value in message.extras.fields.items() if message.extras is not None else ():
            if fields.get(key, b"null") in _NOTHING:
                fields[key] = value
    first, last = run[0], run[-1]
    name = first.name if all(message.name == first.name for message in run) else None
    hints = [message.hint for message in run if message.hint is not None]
    owner = next((message.extras for message in run if message.extras is not None), None)
    extras = replace(owner, fields=fields) if owner is not None else None
    return replace(first, name=name, extras=extras, hint=hints[-1] if hints else None, prefill=last.prefill)


def keeps_members(one: Message, run: Sequence[Message]) -> bool:
    """Whether the message that was made of several has the names, the fields and the cache hints of all of them."""
    kept = one.extras.fields if one.extras is not None else {}
    return _count_hints(one) == sum(map(_count_hints, run)) and all(
        one.name == message.name
        and all(
            kept[key] == value or value in _NOTHING
            for key, value in (message.extras.fields.items() if message.extras is not None else ())
        )
        for message in run
    )


def _count_hints(message: Message) -> int:
    return sum(1 for part in message.parts if part.hint is not None) + (message.hint is not None)


def rewrite_tools(conversation: Conversation, change: Callable[[Tool], tuple[Tool, Note] | None]) -> Rewrite:
    """Every declared function through `change`; None leaves it. Tools of a provider's own are not looked at."""
    notes: list[Note] = []
    tools: list[Tool | NativeTool] = []
    for tool in conversation.tools:
        changed = change(tool) if isinstance(tool, Tool) else None
        if changed is not None:
            tool, note = changed
            notes.append(note)
        tools.append(tool)
    return rewrite(conversation, notes, tools=tuple(tools))


def rewrite_settings(conversation: Conversation, notes: list[Note], **changes: Any) -> Rewrite:
    """Changed settings, if any note was made."""
    return rewrite(conversation, notes, settings=replace(conversation.settings, **changes))
