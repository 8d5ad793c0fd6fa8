"""A long history, trimmed: the turns that left are gone, old texts are shortened, and every cut is reported."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from dragoman.conversation import literals
from dragoman.conversation.changes import Loss, Note, Rewrite
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Part, Result, Text
from dragoman.engine.history.cuts import Cut, Limit, Measured, find_cut, measure_shortened, unit_costs
from dragoman.engine.history.sizes import (
    BYTES_PER_TOKEN,
    MARKER,
    SAMPLE,
    count_fixed_bytes,
    estimate_bytes_per_token,
    is_plain,
    plain_size,
    size_of,
    sizes_of,
)
from dragoman.engine.history.trim_policy import TrimPolicy
from dragoman.engine.history.units import Unit, UnitKind, units_of
from dragoman.rules.rule import report_only

_EXCEEDS = "kept more than the budget: the first words of the user and the last exchange do not leave for it"
_MARKER_END = MARKER.encode() + b'"'


class TrimRequest(msgspec.Struct, frozen=True):
    """How one request is to be trimmed."""

    policy: TrimPolicy
    cuts: tuple[Cut, ...] = ()
    """Those of earlier turns of the conversation."""
    tokens_per_estimate: float = 1.0
    """How many tokens this model counts for each one that we estimate."""
    fixed_tokens: float = 0.0
    """What its provider adds to every request."""
    break_even: float = 0.0
    """How many times more it costs to write a token anew than to read it from the provider's cache."""


class TrimStatistics(msgspec.Struct, frozen=True):
    """What trimming did to the turns."""

    original_tokens: int
    """Estimated, before."""
    kept_tokens: int
    """Estimated, after."""
    shortened: int
    """Messages that were shortened."""
    dropped: int
    """Messages that were left out."""
    breaks_cache: bool

    @property
    def saved_tokens(self) -> int:
        return self.original_tokens - self.kept_tokens

    @property
    def saved_percent(self) -> float:
        return round(100 * self.saved_tokens / max(1, self.original_tokens), 1)

    def figures(self) -> dict[str, float]:
        """All of it, for a report or a log."""
        counted = {name: getattr(self, name) for name in ("original_tokens", "kept_tokens", "saved_tokens")}
        return {**counted, "saved_percent": self.saved_percent, "dropped": self.dropped, "shortened": self.shortened}


class TrimmedHistory(msgspec.Struct, frozen=True):
    """The trimmed conversation with the notes of the report."""

    rewrite: Rewrite
    cut: Cut | None
    """New if it is none of those that were given."""
    statistics: TrimStatistics | None


def measure(conversation: Conversation, bytes_per_token: float = BYTES_PER_TOKEN, fixed_tokens: float = 0) -> Measured:
    messages = conversation.messages
    fixed = count_fixed_bytes(conversation) + int(fixed_tokens * bytes_per_token)
    units, sizes = units_of(messages), sizes_of(messages)
    return Measured(messages, units, sizes, unit_costs(units, sizes), fixed, bytes_per_token)


def measure_for(conversation: Conversation, request: TrimRequest, model: str) -> Measured:
    """A conversation measured as a model counts. No more of it is looked at than any request with a cut has."""
    found = estimate_bytes_per_token(conversation.messages, model, _estimate_fewest(conversation, request.policy))
    return measure(conversation, found / request.tokens_per_estimate, request.fixed_tokens)


def _estimate_fewest(conversation: Conversation, policy: TrimPolicy) -> int:
    """The fewest bytes of turns at which a cut is possible, if a token has at least one."""
    most = min(SAMPLE, policy.max_history_tokens or SAMPLE)
    if not policy.window:
        return most
    opening = conversation.messages[: conversation.opening]
    room = int(policy.window * policy.context_budget) - count_fixed_bytes(conversation)
    return max(0, min(most, room - sum([size_of(message).total for message in opening])))


def trim(conversation: Conversation, request: TrimRequest, model: str = "") -> TrimmedHistory:
    """The conversation within its budget; the same object if it fits. `model` is the target's."""
    seen = measure_for(conversation, request, model)
    cut = find_cut(seen, request.policy, request.cuts, request.break_even)
    if cut is None:
        return TrimmedHistory(Rewrite(conversation), None, None)
    messages, notes, kept = _apply(cut, seen)
    statistics = _statistics(seen, kept, notes, cut not in request.cuts)
    if not notes:
        return TrimmedHistory(Rewrite(conversation), cut, None)
    if 0 < request.policy.max_history_tokens < statistics.kept_tokens:
        notes.append(Note(_EXCEEDS, messages[0], loses=Loss.NOTHING))
    return TrimmedHistory(Rewrite(replace(conversation, messages=tuple(messages)), tuple(notes)), cut, statistics)


def _apply(cut: Cut, seen: Measured) -> tuple[list[Message], list[Note], int]:
    """The messages that stay, the notes, and what the turns among them cost."""
    stays = frozenset(cut.kept)
    messages: list[Message] = []
    notes: list[Note] = []
    cost = 0
    leaving: list[int] = []
    for place, unit in enumerate(seen.units):
        is_turn = unit.kind is not UnitKind.SYSTEM
        if is_turn and place < cut.units and place not in stays:
            leaving.append(place)
            continue
        if leaving:
            notes.append(_note_dropped(leaving, seen))
            leaving = []
        limit = cut.limits.get(place)
        if limit is None:
            messages += seen.messages[unit.start : unit.end]
            cost += seen.costs[place] if is_turn else 0
        else:
            shortened = _shorten(unit, limit, seen, messages, notes)
            cost += shortened if is_turn else 0
    return messages, notes, cost


def _note_dropped(places: Sequence[int], seen: Measured) -> Note:
    """The note about turns that leave and that stood one behind the other."""
    before = seen.messages[seen.units[places[0]].start : seen.units[places[-1]].end]
    tokens = _tokens(sum([seen.costs[place] for place in places]), seen)
    what = "1 message" if len(before) == 1 else f"{len(before)} messages"
    return Note(f"left out {what}, about {tokens} tokens, to fit the budget", before[0], before=before)


def _shorten(unit: Unit, limit: Limit, seen: Measured, messages: list[Message], notes: list[Note]) -> int:
    """Add the messages of a unit, shortened, and the notes about it; and say what they cost."""
    total = 0
    for at in range(unit.start, unit.end):
        message, size = seen.messages[at], seen.sizes[at]
        cost = measure_shortened(size, message, limit)
        total += cost
        if cost < size.total:
            short = replace(message, parts=_shorten_parts(message.parts, cost - size.fixed))
            did = f"shortened from about {_tokens(size.total, seen)} to {_tokens(cost, seen)} tokens to fit the budget"
            notes.append(Note(did, message, before=message, after=short))
            message = short
        messages.append(message)
    return total


def _shorten_parts(parts: Sequence[Part], room: int) -> tuple[Part, ...]:
    """Parts whose plain texts share `room` bytes beside their markers: the first get what they need."""
    if len(parts) == 1:
        return (_shortened(parts[0], room),)
    made: list[Part] = []
    for part in parts:
        made.append(_shortened(part, room))
        room = max(0, room - plain_size(part))
    return tuple(made)


def _shortened(part: Part, room: int) -> Part:
    if type(part) is Text and is_plain(part):
        return _shorten_text(part, room)
    if type(part) is Result:
        return replace(part, parts=_shorten_parts(part.parts, room))
    return part


def _shorten_text(text: Text, room: int) -> Text:
    if plain_size(text) <= room:
        return text
    if b"\\" not in text.literal and text.literal.isascii():  # each byte is a character of its own
        return replace(text, literal=text.literal[: room + 1] + _MARKER_END)
    beginning = text.text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore")
    return replace(text, literal=literals.quote(beginning + MARKER))


def _tokens(size: int, seen: Measured) -> int:
    return round(size / seen.bytes_per_token)


def _statistics(seen: Measured, kept: int, notes: list[Note], is_new: bool) -> TrimStatistics:
    original = sum(
        [cost for unit, cost in zip(seen.units, seen.costs, strict=True) if unit.kind is not UnitKind.SYSTEM]
    )
    left = sum([len(note.before) for note in notes if type(note.before) is tuple])
    shortened = sum([type(note.before) is Message for note in notes])
    return TrimStatistics(_tokens(original, seen), _tokens(kept, seen), shortened, left, is_new)


history_trim = report_only("history-trim", Loss.CONTENT, "A long history was cut to its budget.")
