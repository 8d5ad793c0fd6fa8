"""Opaque state of an answer, gathered for the next turn: a client of another dialect cannot send it back.

State is found again by the call that follows it, or by the assistant's words if it called nothing. The state of the
words themselves is always found by the words. Thinking before a call is kept even without state: some providers want it
back with the results. What nothing tells from others of its kind is found by its place too, which is the turn before it
and the conversation's first one: words that are few, and, with what was called, a call that comes back without its id
or with one that a server counts. If the client has changed those turns, a counted id is enough, or the turn before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import NamedTuple

from msgspec.structs import replace

from dragoman.conversation.canonical import digest
from dragoman.conversation.collect import arguments_of
from dragoman.conversation.events import CallDelta, CallStarted, Event, ReasoningDelta, Signed, TextDelta
from dragoman.conversation.literals import join_texts, unquote
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Json, Part, Reasoning, Result, Text

_LIMIT = 4 * 1024 * 1024
_RELEVANT = frozenset({TextDelta, ReasoningDelta, CallStarted, CallDelta, Signed})


_LONG = 1 << 10
_FEW_LETTERS = 64
"""Words with no more letters are those of other answers too: `Done.`"""


class TurnKeys(NamedTuple):
    """What tells the turn before an answer from others."""

    place: str = ""
    """In all conversations."""
    turn: str = ""
    """By itself."""


def text_key(text: str, turn: Callable[[], TurnKeys] = TurnKeys) -> str:
    """The key of an assistant turn that called nothing: a digest of its decoded words, without the space between them.
    A client may trim it, and where it cannot be shown a run, a blank line stands. `turn` gives the keys of the turn
    before."""
    letters = "".join(text.split())
    place = turn().place if len(letters) <= _FEW_LETTERS else ""
    return "text-" + (digest([place, letters] if place else letters) or "")


def turn_key(message: Message) -> str:
    """What tells the turn before a call from others: a digest of all that it says, without the cache hints, which
    clients move from turn to turn."""
    return digest(replace(message, parts=_mark_parts(message.parts), hint=None)) or ""


def _mark_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
    return tuple([_mark_part(part) for part in parts])


def _mark_part(part: Part) -> Part:
    """A part as it is told from others. Of a long text its length, beginning and end are enough: there may be a
    megabyte of results."""
    if isinstance(part, Text) and len(part.literal) > _LONG:
        ends = part.literal[: _LONG // 2] + part.literal[-_LONG // 2 :]
        return Text(literal=b'"%d %b"' % (len(part.literal), blake2b(ends, digest_size=16).hexdigest().encode()))
    if isinstance(part, Result):
        return replace(part, parts=_mark_parts(part.parts), hint=None)
    return part if part.hint is None else replace(part, hint=None)


_is_counted = re.compile(r"[^0-9]{0,128}[0-9]{1,6}").fullmatch
"""Finds ids such as `functions.bash:0` and `call_1`: the next turn, or another conversation, has the same."""


def needs_arguments(id: str) -> bool:
    """Whether the id of a call does not tell it from all others."""
    return _is_counted(id) is not None


def call_key(turn: str, name: str, arguments: Json) -> str:
    """The key of a call without an id of its own. `turn`: a key of the turn before it, or the id that others have."""
    return "call-" + (digest([turn, name, arguments]) or "")


class ReasoningCapture:
    """The state of the first choice, as its events go by.

    Between two dialects a client carries the state of its own. Within one dialect the client itself may lose it.
    `turn` gives the keys of the last turn of the request. `drops_ids`: calls may come back without their ids.
    """

    __slots__ = (
        *("_arguments", "_calls", "_carried", "_counted", "_drops_ids", "_names", "_of_words"),
        *("_pending", "_size", "_texts", "_thoughts", "_turn", "_words"),
    )

    def __init__(
        self, client: str, upstream: str, turn: Callable[[], TurnKeys] = TurnKeys, *, drops_ids: bool = False
    ) -> None:
        self._carried = client if client != upstream else None
        self._turn = turn
        self._drops_ids = drops_ids
        self._names: dict[int, str] = {}
        self._counted: set[int] = set()
        self._arguments: dict[int, list[bytes]] = {}
        self._texts: list[bytes] = []
        self._words: set[int] = set()
        self._thoughts: dict[int, list[bytes]] = {}
        self._pending: list[Part] = []
        self._of_words: list[Part] = []
        self._calls: dict[int, tuple[str, list[Part]]] = {}
        self._size = 0

    def go_on_from(self, earlier: ReasoningCapture, has_paused: bool) -> None:
        """Begin with the words of the round before this one: the client gets both as one answer. Its state comes along
        if the provider had paused; else it belongs to the calls that were run."""
        self._turn, self._texts, self._size = earlier._turn, list(earlier._texts), earlier._size
        if has_paused:
            self._pending, self._of_words = list(earlier._pending), list(earlier._of_words)
            plain = earlier._thoughts.values()
            self._thoughts = dict(enumerate(map(list, plain), -len(plain)))  # this round numbers its parts from 0

    def add(self, event: Event) -> None:
        if type(event) not in _RELEVANT:
            return
        if isinstance(event, TextDelta):
            if event.choice == 0:
                self._words.add(event.part)
                self._gather(self._texts, event.literal)
        elif isinstance(event, ReasoningDelta):
            if event.choice == 0:
                self._gather(self._thoughts.setdefault(event.part, []), event.literal)
        elif isinstance(event, CallStarted):
            if event.choice == 0:
                plain = [Reasoning(text=Text(literal=join_texts("", one))) for one in self._thoughts.values()]
                self._calls[event.part] = (event.id, [*self._pending, *plain])
                self._pending, self._thoughts = [], {}
                self._names[event.part] = event.name
                if needs_arguments(event.id):
                    self._counted.add(event.part)
        elif isinstance(event, CallDelta):
            if event.choice == 0 and (self._drops_ids or event.part in self._counted):
                self._gather(self._arguments.setdefault(event.part, []), event.literal)
        elif isinstance(event, Signed) and event.choice == 0 and event.state.origin.dialect != self._carried:
            self._sign(event)

    def add_texts(self, part: int, literals: list[bytes]) -> None:
        """Take pieces of text of one part."""
        self._words.add(part)
        self._size += sum(map(len, literals))
        if self._size <= _LIMIT:
            self._texts += literals

    def close(self, blocks: Sequence[Part] = ()) -> dict[str, tuple[Part, ...]]:
        """What each call claimed, by its id. If nothing was called, all of it belongs to the words. `blocks`: what
        else the client cannot carry, which stands before all of it."""
        of_words = self._of_words
        kept: dict[str, tuple[Part, ...]] = {}
        if self._calls:
            (_, first), *_, (_, last) = [*self._calls.values()] * 2
            last += self._pending
            first[:0] = blocks
            for part, (_, parts) in self._calls.items():
                for key in self._keys(part) if parts else ():
                    kept[key] = (*kept.get(key, ()), *parts)  # nothing may tell two calls apart
        else:
            of_words = [*blocks, *self._pending, *of_words]
        if of_words:
            kept[text_key(unquote(join_texts("", self._texts)), self._turn)] = tuple(of_words)
        return kept

    def _keys(self, part: int) -> list[str]:
        """The id of a call, or the keys in its place, and those by which it is found without."""
        identity = self._calls[part][0]
        is_counted = part in self._counted
        if not (self._drops_ids or is_counted):
            return [identity]
        (place, turn), name = self._turn(), self._names[part]
        arguments = arguments_of(unquote(join_texts("", self._arguments.get(part, []))))
        own = call_key(identity, name, arguments) if is_counted else identity
        others = [place, turn] if self._drops_ids else [place]
        return [*dict.fromkeys([own, *[call_key(one, name, arguments) for one in others]])]

    def _sign(self, event: Signed) -> None:
        call = self._calls.get(event.part)
        if call is not None:
            call[1].append(event.state)
        elif event.part in self._words:
            self._of_words.append(event.state)
        else:
            thought = self._thoughts.pop(event.part, None)
            text = Text(literal=join_texts("", thought)) if thought else None
            self._pending.append(Reasoning(text=text, state=event.state, redacted=event.redacted, field=event.field))

    def _gather(self, literals: list[bytes], literal: bytes) -> None:
        self._size += len(literal)
        if self._size <= _LIMIT:
            literals.append(literal)
