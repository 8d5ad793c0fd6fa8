"""What stored turns begin with: the next turn of a client that sends everything again is found by it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from hashlib import blake2b

from msgspec import Struct

from dragoman.store.clock import Clock

_CALLERS, _OF_A_CALLER, _READS = 1024, 64, 4096
_TAIL = 64
_SPACE = b" \t\r\n"


class Beginning(Struct, frozen=True):
    """The items of a stored turn, with which those of a later one may begin: no text, only how long and which."""

    id: str
    """Of the turn."""
    length: int
    """Of the JSON list without its closing bracket."""
    tail: bytes
    """A digest of the last bytes, which is quicker to make than that of all."""
    digest: bytes
    bases: int
    """Turns that its items are put together of, beside its own."""
    read: float
    """When all of them were last read."""


class StoredBeginnings:
    """What the newest turns that this process has stored begin with, by caller and id; and which chains were read
    lately."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: OrderedDict[str, OrderedDict[str, Beginning]] = OrderedDict()
        self._read: OrderedDict[tuple[str, str], float] = OrderedDict()

    def find_likely(self, caller: str, items: bytes) -> list[Beginning]:
        """The turns that these items may begin with, the longest first."""
        found = [one for one in self._known.get(caller, {}).values() if _may_begin(items, one)]
        return sorted(found, key=lambda one: one.length, reverse=True)

    def put(self, caller: str, beginning: Beginning) -> None:
        own = self._known.setdefault(caller, OrderedDict())
        self._known.move_to_end(caller)
        own.pop(beginning.id, None)
        own[beginning.id] = beginning
        if len(own) > _OF_A_CALLER:
            own.popitem(last=False)
        if len(self._known) > _CALLERS:
            self._known.popitem(last=False)

    def drop(self, caller: str, id: str) -> None:
        self._known.get(caller, OrderedDict()).pop(id, None)

    def is_due(self, caller: str, id: str, seconds: float) -> bool:
        """Whether a chain was not read for so long. From now on it was."""
        now, before = self._clock(), self._read.pop((caller, id), None)
        is_due = before is None or now - before >= seconds
        self._read[caller, id] = now if is_due or before is None else before
        if len(self._read) > _READS:
            self._read.popitem(last=False)
        return is_due


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _may_begin(items: bytes, one: Beginning) -> bool:
    """Whether a turn's items may be the first of these, by what stands where they would end."""
    end = one.length
    return items[end : end + _TAIL].lstrip(_SPACE)[:1] in (b",", b"]") and (
        _digest(items[max(end - _TAIL, 0) : end]) == one.tail
    )


def find_beginning(items: bytes, likely: Sequence[Beginning]) -> Beginning | None:
    """The first of these turns that the items really begin with."""
    return next((one for one in likely if _digest(items[: one.length]) == one.digest), None)


def make_beginning(id: str, items: bytes, bases: int, read: float) -> Beginning:
    head = items[:-1].rstrip(_SPACE)
    return Beginning(id, len(head), _digest(head[-_TAIL:]), _digest(head), bases, read)


def cut(items: bytes, beginning: Beginning) -> bytes:
    """A JSON list of the items that stand after the beginning."""
    return b"[" + items[beginning.length :].lstrip(_SPACE).removeprefix(b",")
