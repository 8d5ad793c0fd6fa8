"""A long history, trimmed: the turns that left are gone, old texts are shortened, and every cut is reported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from dragoman.conversation import literals
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Part, Result, Text
from dragoman.engine.history.cuts import Cut, Limit, Measured, find_cut, is_shortened, limit_of, shortened_size
from dragoman.engine.history.policy import TrimPolicy
from dragoman.engine.history.sizes import (
    BYTES_PER_TOKEN,
    SAMPLE,
    bytes_per_token,
    fixed_size,
    is_plain,
    size_of,
    sizes_of,
)
from dragoman.engine.history.units import Unit, UnitKind, units_of
from dragoman.profiles.facts import Facts
from dragoman.rules.context import Context
from dragoman.rules.rule import Rule

MARKER = " [...truncated]"
_MARKER_END = MARKER.encode() + b'"'


class TrimRequest(msgspec.Struct, frozen=True):
    """How one request is to be trimmed. `cuts` were made in earlier turns of the conversation. `tokens_per_estimate`:
    how many tokens this model counts where we estimate one. `fixed_tokens`: what its provider adds to every request."""

    policy: TrimPolicy
    cuts: tuple[Cut, ...] = ()
    tokens_per_estimate: float = 1.0
    fixed_tokens: float = 0.0


class TrimStatistics(msgspec.Struct, frozen=True):
    """What trimming did to the turns, in estimated tokens and in messages."""

    original_tokens: int
    kept_tokens: int
    shortened: int
    dropped: int
    breaks_cache: bool

    @property
    def saved_tokens(self) -> int:
        return self.original_tokens - self.kept_tokens

    @property
    def saved_percent(self) -> float:
        return round(100 * self.saved_tokens / max(1, self.original_tokens), 1)


class TrimmedHistory(msgspec.Struct, frozen=True):
    """The trimmed conversation with the notes of the report. `cut` is new where it is none of those that were given."""

    rewrite: Rewrite
    cut: Cut | None
    statistics: TrimStatistics | None


def measured(conversation: Conversation, bytes_per_token: float = BYTES_PER_TOKEN, fixed_tokens: float = 0) -> Measured:
    messages = conversation.messages
    fixed = fixed_size(conversation) + int(fixed_tokens * bytes_per_token)
    return Measured(messages, units_of(messages), sizes_of(messages), fixed, bytes_per_token)


def measured_for(conversation: Conversation, request: TrimRequest, model: str) -> Measured:
    """A conversation measured as a model counts. No more of it is looked at than any request with a cut has."""
    found = bytes_per_token(conversation.messages, model, _sampled(conversation, request.policy))
    return measured(conversation, found / request.tokens_per_estimate, request.fixed_tokens)


def _sampled(conversation: Conversation, policy: TrimPolicy) -> int:
    """The fewest bytes of turns at which a cut is possible, where a token has at least one."""
    most = min(SAMPLE, policy.max_history_tokens or SAMPLE)
    if not policy.window:
        return most
    opening = conversation.messages[: conversation.opening]
    room = int(policy.window * policy.context_budget) - fixed_size(conversation)
    return max(0, min(most, room - sum([size_of(message).total for message in opening])))


def trim(conversation: Conversation, request: TrimRequest, model: str = "") -> TrimmedHistory:
    """The conversation within its budget; the same object where it fits. `model` is the target's."""
    seen = measured_for(conversation, request, model)
    cut = find_cut(seen, request.policy, request.cuts)
    if cut is None:
        return TrimmedHistory(Rewrite(conversation), None, None)
    messages, notes, kept = _apply(cut, seen)
    statistics = _statistics(seen, kept, notes, cut not in request.cuts)
    if not notes:
        return TrimmedHistory(Rewrite(conversation), cut, None)
    return TrimmedHistory(Rewrite(conversation.but(messages=tuple(messages)), tuple(notes)), cut, statistics)


def _apply(cut: Cut, seen: Measured) -> tuple[list[Message], list[Note], int]:
    """The messages that stay, the notes, and what the turns among them cost."""
    stays = frozenset(cut.kept)
    messages: list[Message] = []
    notes: list[Note] = []
    cost = 0
    leaving: list[Unit] = []
    for place, unit in enumerate(seen.units):
        if unit.kind is not UnitKind.SYSTEM and place < cut.units and place not in stays:
            leaving.append(unit)
            continue
        if leaving:
            notes.append(_dropped(leaving, seen))
            leaving = []
        limit = cut.limits.get(place)
        if limit is None:
            messages += seen.messages[unit.start : unit.end]
            cost += (
                0 if unit.kind is UnitKind.SYSTEM else sum([size.total for size in seen.sizes[unit.start : unit.end]])
            )
            continue
        shortened = [_shorten(at, limit, seen) for at in range(unit.start, unit.end)]
        messages += [message for message, _, _ in shortened]
        notes += [note for _, _, note in shortened if note is not None]
        cost += 0 if unit.kind is UnitKind.SYSTEM else sum(size for _, size, _ in shortened)
    return messages, notes, cost


def _dropped(units: Sequence[Unit], seen: Measured) -> Note:
    first, last = units[0].start, units[-1].end
    count = sum(unit.end - unit.start for unit in units)
    tokens = _tokens(sum(seen.sizes[at].total for unit in units for at in range(unit.start, unit.end)), seen)
    what = "1 message" if count == 1 else f"{count} messages"
    before = seen.messages[first:last]
    return Note(f"left out {what}, about {tokens} tokens, to fit the budget", seen.messages[first], before=before)


def _shorten(at: int, limit: Limit, seen: Measured) -> tuple[Message, int, Note | None]:
    message, size = seen.messages[at], seen.sizes[at]
    if not is_shortened(size, message, limit):
        return message, size.total, None
    room = max(0, limit_of(message, limit) - size.fixed)
    short = message.but(parts=tuple(_shortened_parts(message.parts, _Room(room))))
    cost = shortened_size(size, message, limit)
    did = f"shortened from about {_tokens(size.total, seen)} to {_tokens(cost, seen)} tokens to fit the budget"
    return short, cost, Note(did, message, before=message, after=short)


class _Room:
    """The bytes that are left for the plain texts of one message."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, length: int) -> int:
        taken = min(self.left, length)
        self.left -= taken
        return taken


def _shortened_parts(parts: Iterable[Part], room: _Room) -> Iterable[Part]:
    for part in parts:
        if type(part) is Text and is_plain(part):
            yield _shortened_text(part, room)
        elif type(part) is Result:
            yield msgspec.structs.replace(part, parts=tuple(_shortened_parts(part.parts, room)))
        else:
            yield part


def _shortened_text(text: Text, room: _Room) -> Text:
    length = len(text.literal) - 2
    taken = room.take(length)
    if taken == length:
        return text
    if b"\\" not in text.literal and text.literal.isascii():  # each byte is a character of its own
        return msgspec.structs.replace(text, literal=text.literal[: taken + 1] + _MARKER_END)
    beginning = text.text.encode("utf-8", "replace")[:taken].decode("utf-8", "ignore")
    return msgspec.structs.replace(text, literal=literals.quote(beginning + MARKER))


def _tokens(size: int, seen: Measured) -> int:
    return round(size / seen.bytes_per_token)


def _statistics(seen: Measured, kept: int, notes: list[Note], is_new: bool) -> TrimStatistics:
    turns = [unit for unit in seen.units if unit.kind is not UnitKind.SYSTEM]
    original = sum(seen.sizes[at].total for unit in turns for at in range(unit.start, unit.end))
    left = sum(len(note.before) for note in notes if isinstance(note.before, tuple))
    shortened = sum(isinstance(note.before, Message) for note in notes)
    return TrimStatistics(_tokens(original, seen), _tokens(kept, seen), shortened, left, is_new)


def _never(facts: Facts) -> bool:
    """No target needs it: it is the user's configuration that asks for it."""
    return False


def _unchanged(conversation: Conversation, context: Context) -> Rewrite:
    return Rewrite(conversation)


history_trim = Rule("history-trim", _never, 0, Loss.CONTENT, (), _unchanged, "A long history was cut to its budget.")
"""The name and the loss under which cuts are reported. It is not among the rules that run for a target."""
