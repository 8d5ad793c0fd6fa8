"""Notes of rules to entries of the report: with the rule's name, a pointer into the client's request, and digests."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate, chain, compress, repeat
from operator import attrgetter, is_
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.conversation.canonical import digest, mean_same
from dragoman.conversation.changes import Change, ChangeKind, Hashing, Loss, Note
from dragoman.conversation.conversation import Ask, RequestWrapper
from dragoman.conversation.messages import MADE, Message, Role
from dragoman.conversation.parts import CacheHint, Call, Part, Result
from dragoman.dialects.registry import dialect
from dragoman.engine.compile.member_places import RequestPlaces
from dragoman.rules.clean.off_schema import off_schema
from dragoman.rules.rule import Rule

UNREADABLE = "unreadable-text"
"""The entry for what had to be repaired before the request could be read."""
OFF_SCHEMA = off_schema.name
"""The entry for a request that stood inside another object."""
USAGE = "usage-asked"
"""The entry for a stream that was asked for its usage on behalf of the ledger."""
STREAM = "stream-asked"
"""The entry for a stream in place of a whole answer."""
WHOLE = "whole-asked"
"""The entry for a whole answer in place of a stream."""

_LOSSES = tuple(map(str, Loss))
_NONE: frozenset[int] = frozenset()
_place_of, _parts_of = attrgetter("at"), attrgetter("parts")
_FEW_LOOKUPS = 8
"""Known messages that are looked for one by one before all are put into a table."""
_SHOWN = 5
"""How many of the members beside a request an entry names."""


def without_spelling(notes: Sequence[Note]) -> Sequence[Note]:
    """The notes that are news. From another dialect, what only changes a spelling is translation and no change."""
    return [note for note in notes if not note.spelling_only and not mean_same(note.before, _only(note.after))]


def _only(after: Any) -> Any:
    return after[0] if isinstance(after, tuple) and len(after) == 1 else after


def body_repairs(ask: Ask) -> list[Change]:
    """What was done before the request could be read: mended text, and the object around it taken off."""
    found = [Change(UNREADABLE, "", sentence, str(Loss.CONTENT)) for sentence in ask.repairs]
    return found if ask.wrapper is None else [*found, _report_wrapper(ask.wrapper)]


def _report_wrapper(wrapper: RequestWrapper) -> Change:
    did = f"sent the request that stands in {wrapper.at[1:]}"
    if wrapper.lost:
        did += f", without {', '.join(wrapper.lost[:_SHOWN])}"
    weight = Loss.METADATA if wrapper.lost else Loss.NOTHING
    return Change(OFF_SCHEMA, wrapper.at, did, str(weight))


@cache
def usage_asked() -> Change:
    """A stream was asked for its usage on behalf of the ledger."""
    did = "asked the stream to tell its usage; the client does not see it"
    return Change(USAGE, "/stream_options", did, str(Loss.NOTHING), "added", is_shared=True)


def stream_asked() -> Change:
    """A target that thinks in streams alone is asked for one. The client gets the whole answer."""
    did = "asked for a stream, since the target thinks in no other answer; the client gets it whole"
    return Change(STREAM, "/stream", did, str(Loss.NOTHING), "added")


def whole_asked(ask: Ask) -> Change:
    """A target that does not stream such an answer is asked for it whole. The client gets a stream of it."""
    at = "/stream" if "stream" in ask.members else ""
    did = "asked for the whole answer, since the target does not stream it; the client gets it as a stream"
    return Change(WHOLE, at, did, str(Loss.NOTHING))


def usage_not_asked() -> Change:
    """A stream that refuses the question is not asked for its usage."""
    did = "left out stream_options, which the target refuses"
    return Change("refused-setting", "/stream_options", did, str(Loss.NOTHING))


class ReportBuilder:
    """Makes the entries for one request. What it has to know of the request is looked up once, however many there are.

    Of each message it makes an index of the parts when the first note speaks of one: with a search per note, a message
    of ten thousand calls that share an id took minutes.
    """

    __slots__ = (
        "_ask",
        "_codec",
        "_digests",
        "_holders",
        "_known",
        "_late_places",
        "_lookups",
        "_members",
        "_missed",
        "_part_ids",
        "_parts",
        "_places",
        "_pointers",
    )

    def __init__(self, ask: Ask, known: Mapping[int, Change] | None = None) -> None:
        """`known`: entries that were made on the turn before, by the ids of their notes."""
        self._ask = ask
        self._known = known
        self._codec = dialect(ask.dialect).requests
        self._members = RequestPlaces(ask, self._codec.places)
        self._places: _Places | None = None
        self._late_places: _Places | None = None
        self._lookups = 0
        self._holders: dict[int, Message] | None = None
        self._part_ids: set[int] | None = None
        self._missed = {miss.item for miss in near_misses} if (near_misses := ask.conversation.near_misses) else _NONE
        self._digests: dict[int, tuple[Any, str | None]] = {}
        # By the message's id, each with the message itself, so that no other can get its id.
        self._parts: dict[int, tuple[Message, _PartIndex]] = {}
        self._pointers: dict[int, tuple[Message, list[str]]] = {}

    def entries(self, rule: Rule, notes: Sequence[Note]) -> list[Change]:
        made: list[Change] = []
        known = self._known
        for note in notes:
            if known is not None and (change := known.get(id(note))) is not None:
                made.append(change)
                continue
            at, loss = self.pointer(note), _LOSSES[rule.loses if note.loses is None else note.loses]
            if note.before is None and type(note.after) is CacheHint:
                made.append(_tell_hint((rule.name, at, note.did, loss, note.kind, note.after)))
                continue
            hashing = Hashing(note.before, note.after, self._digests)
            made.append(Change(rule.name, at, note.did, loss, note.kind, hashing=hashing))
        return made

    def pointer(self, note: Note) -> str:
        """Where it happened, in the client's own request."""
        wrapper, message = self._ask.wrapper, note.message
        if message is not None:
            found = self._pointer_into(note, message)
        else:
            found = self._members.locate(note.key) if note.key else ""
        return found if wrapper is None else wrapper.at + found

    def _places_of(self, message: Message) -> _Places:
        """Where the messages stand; without the known ones, if it is none of them or one of a few."""
        known, messages = self._ask.known, self._ask.conversation.messages
        if known is None or self._places is not None:
            found = self._places
        elif not 0 <= message.at < known.item:
            found = self._late_places
            if found is None:
                found = self._late_places = _Places(messages[: known.opening] + messages[known.count :])
        elif self._lookups < _FEW_LOOKUPS:
            self._lookups += 1
            begin = bisect_left(messages, message.at, known.opening, known.count, key=_place_of)
            found = _Places(messages[begin : bisect_right(messages, message.at, begin, known.count, key=_place_of)])
        else:
            found = None
        if found is None:
            found = self._places = _Places(messages)
        return found

    def _pointer_into(self, note: Note, message: Message) -> str:
        original = self._original(message) or self._find_holder(message)
        if original is None:
            return ""
        index = None if note.part is None else self._index(original, note.part, message)
        if index is None:
            return self._members.place_of_message(self._codec.locate(original))
        return self._members.place_of_message(self._pointers_of(original)[index])

    def _original(self, message: Message) -> Message | None:
        """The message as the client sent it. Many notes speak of one that still is."""
        messages, at = self._ask.conversation.messages, message.at
        if 0 <= at < len(messages) and messages[at] is message:
            return message
        return self._places_of(message).original(message)

    def _find_holder(self, message: Message) -> Message | None:
        """The message of the client's with the first part of one that a rule made up: its parts were moved there."""
        if not message.parts:
            return None
        first, messages = id(message.parts[0]), self._ask.conversation.messages
        if self._part_ids is None:
            self._part_ids = _find_part_ids(messages)
        if first not in self._part_ids:
            return None  # nearly always: a rule made up the part, too
        if self._holders is None:
            self._holders = {}
            for one in reversed(messages):
                for part in one.parts:
                    self._holders[id(part)] = one
                    for inner in part.parts if type(part) is Result else ():
                        self._holders[id(inner)] = one
        return self._holders.get(first)

    def _pointers_of(self, message: Message) -> list[str]:
        """The pointers to all parts of a message: one part's depends on those before it."""
        known = self._pointers.get(id(message))
        if known is None:
            pointers = self._locate_parts(message)
            known = self._pointers[id(message)] = (message, pointers)
        return known[1]

    def _locate_parts(self, message: Message) -> list[str]:
        """Where each part stands on the wire. Before it may stand parts of other messages of the same item.

        Parts that were not written as the dialect has them stand elsewhere: the pointer leads to their message.
        """
        codec = self._codec
        if not self._missed.isdisjoint(range(message.at, message.at + message.span)):
            return [codec.locate(message)] * len(message.parts)
        crowd = self._places_of(message).crowd(message)
        return codec.locate_parts(message) if crowd is None else crowd.find_pointers(message, codec.locate_parts)

    def _index(self, original: Message, part: Part, now: Message) -> int | None:
        """The part's place: by identity, or that of the result which holds it, or of the call it answers; if rules
        before gave it another id, by its place among its like in the message as it is `now`."""
        parts = original.parts
        if len(parts) == 1 and (parts[0] is part or _is_only(part, now, parts[0])):
            return 0
        found = self._index_parts(original).find(part)
        return found if found is not None else self._index_parts(original).like(part, self._index_parts(now))

    def _index_parts(self, message: Message) -> _PartIndex:
        known = self._parts.get(id(message))
        if known is None:
            known = self._parts[id(message)] = (message, _PartIndex(message))
        return known[1]


def _find_part_ids(messages: Sequence[Message]) -> set[int]:
    """The ids of all parts, and of those inside results: found without a step of the interpreter for each."""
    parts = list(chain.from_iterable(map(_parts_of, messages)))
    results = compress(parts, map(is_, map(type, parts), repeat(Result)))
    return {*map(id, parts), *map(id, chain.from_iterable(map(_parts_of, results)))}


@lru_cache(maxsize=1024)
def _tell_hint(entry: tuple[str, str, str, str, ChangeKind, CacheHint]) -> Change:
    """The entry for a hint that was set. Requests get the same ones on turn after turn. It is looked up by one
    argument, since that costs half of what six do."""
    rule, at, did, loss, kind, hint = entry
    return Change(rule, at, did, loss, kind, after=digest(hint), is_shared=True)


class _Places:
    """The client's messages by their place on its wire. Nearly always one message stands at each."""

    __slots__ = ("_crowds", "_single")

    def __init__(self, messages: tuple[Message, ...]) -> None:
        self._single = {message.at: message for message in messages}
        self._crowds: dict[int, _Crowd] = {}
        if len(self._single) < len(messages):
            self._crowds = _crowds(messages)

    def original(self, message: Message) -> Message | None:
        """The message as the client sent it. One that a rule made up has none."""
        if message.at == MADE:
            return None
        crowd = self._crowds.get(message.at)
        return self._single.get(message.at) if crowd is None else crowd.original(message)

    def crowd(self, message: Message) -> _Crowd | None:
        """The messages that came from the same item of the wire as this one, if there are several."""
        return self._crowds.get(message.at) if message.at >= 0 else None


class _Crowd(msgspec.Struct):
    """Messages that came from one item of the wire."""

    first: Message
    members: dict[int, Message]
    last_of: dict[Role, Message]
    pointers: dict[Role, list[str]] = {}
    begins: dict[int, int] = {}
    by_call: dict[str, Message] = {}

    def original(self, message: Message) -> Message:
        """The same message, or the one with the result of the same call, or the last with its role, or the first."""
        same = self.members.get(id(message))
        if same is None and message.role is Role.TOOL and message.parts:
            same = self._answers().get(_identity(message.parts[0]) or "")
        return same or self.last_of.get(message.role, self.first)

    def _answers(self) -> dict[str, Message]:
        """The messages by the calls that they answer."""
        if not self.by_call:
            results = [(part, one) for one in self.members.values() for part in one.parts if type(part) is Result]
            self.by_call = {part.call_id: one for part, one in reversed(results)}
        return self.by_call

    def find_pointers(self, message: Message, locate_parts: Callable[[Message], list[str]]) -> list[str]:
        """The pointers to the parts of one message. All parts of the item are located together, once for each role."""
        role = message.role
        if role not in self.pointers:
            parts = tuple([part for member in self.members.values() for part in member.parts])
            self.pointers[role] = locate_parts(replace(message, parts=parts, listed=True))
        begin = self._begins()[id(message)]
        return self.pointers[role][begin : begin + len(message.parts)]

    def _begins(self) -> dict[int, int]:
        """How many parts stand before each message."""
        if not self.begins:
            sizes = [len(member.parts) for member in self.members.values()]
            self.begins = dict(zip(self.members, accumulate(sizes, initial=0), strict=False))
        return self.begins


def _crowds(messages: tuple[Message, ...]) -> dict[int, _Crowd]:
    found: dict[int, list[Message]] = {}
    for message in messages:
        found.setdefault(message.at, []).append(message)
    return {
        at: _Crowd(crowd[0], {id(one): one for one in crowd}, {one.role: one for one in crowd})
        for at, crowd in found.items()
        if len(crowd) > 1
    }


def _is_only(part: Part, now: Message, before: Part) -> bool:
    """Whether a message of one part still has one of that kind, and it is this."""
    return len(now.parts) == 1 and now.parts[0] is part and type(before) is type(part)


class _PartIndex:
    """Where the parts of a message stand: by identity, by the id of a call, and among those of their kind."""

    __slots__ = ("_by_id", "_kinds", "_objects", "_ranks")

    def __init__(self, message: Message) -> None:
        self._objects: dict[int, int] = {}
        self._by_id: dict[tuple[type[Part], str], int] = {}
        self._kinds: dict[type[Part], list[int]] = {}
        self._ranks: dict[int, int] = {}
        for index, part in enumerate(message.parts):
            self._add(index, part)

    def _add(self, index: int, part: Part) -> None:
        self._objects.setdefault(id(part), index)
        if type(part) is Result:
            for inner in part.parts:
                self._objects.setdefault(id(inner), index)
        identity = _identity(part)
        if identity:
            self._by_id.setdefault((type(part), identity), index)
        alike = self._kinds.setdefault(type(part), [])
        self._ranks.setdefault(id(part), len(alike))
        alike.append(index)

    def find(self, part: Part) -> int | None:
        """The place of the part itself, of the result that holds it, or of the call or result with its id."""
        found = self._objects.get(id(part))
        return found if found is not None else self._by_id.get((type(part), _identity(part) or ""))

    def like(self, part: Part, now: _PartIndex) -> int | None:
        """The place of a part that has the same rank among its kind as this one has `now`."""
        rank = now._ranks.get(id(part))
        alike = self._kinds.get(type(part), [])
        return alike[rank] if rank is not None and len(alike) == len(now._kinds[type(part)]) else None


def _identity(part: Part) -> str | None:
    """The id that a call and its result share."""
    if type(part) is Call:
        return part.id
    return part.call_id if type(part) is Result else None
