"""The metrics of all workers, in memory that they share.

The first process makes the board before it forks. Each worker writes its snapshot to a place of its own, every second
and before it shows its metrics, and whoever is asked adds up all places. A counter therefore never goes back, whichever
worker answers. A worker that takes the place of another goes on from that one's counters.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from hashlib import blake2b

import msgspec

from dragoman.gateway.records.metrics import MetricsSnapshot

PLACE_BYTES = 4 * 1024 * 1024
"""Of one half of a place. Memory that is not written to is not used."""
_HEAD = struct.Struct("<II")  # length and checksum
_COUNT = struct.Struct("<Q")
_TRIES = 5
_KEYS = 1 << 16

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(MetricsSnapshot).decode


class MetricsBoard:
    """Places for snapshots, one per worker."""

    def __init__(self, places: int) -> None:
        self._places = [_SharedBytes() for _ in range(places)]
        self._forgets = mmap.mmap(-1, _COUNT.size)
        self._sockets = [mmap.mmap(-1, _KEYS) for _ in range(places)]

    def place(self, number: int) -> BoardPlace:
        """The place of one worker. One that takes the place of another has no sockets yet."""
        own, sockets = self._places[number], self._sockets[number]
        sockets[:] = bytes(_KEYS)
        others = [place for place in self._places if place is not own]
        return BoardPlace(own, others, self._forgets, SharedCounts(sockets, self._sockets))


class BoardPlace:
    """The board as one worker sees it."""

    def __init__(
        self, own: _SharedBytes, others: list[_SharedBytes], forgets: mmap.mmap, sockets: SharedCounts
    ) -> None:
        self.sockets = sockets
        """The open WebSockets of each key."""
        self._own = own
        self._others = others
        self._forgets = forgets

    def write(self, snapshot: MetricsSnapshot) -> None:
        """Replace the own snapshot. One that is too large is left out: the one before it stays."""
        self._own.write(_encode(snapshot))

    def read(self) -> MetricsSnapshot:
        """The last snapshot at this place; an empty one if there is none."""
        return _parse(self._own.read())

    @property
    def forgets(self) -> int:
        """How often a worker was told to forget a key. Whoever sees a new number forgets what it remembers."""
        found: int = _COUNT.unpack_from(self._forgets)[0]
        return found

    def note_forget(self) -> None:
        """Let the other workers forget, too. Two that write at once both write a new number."""
        _COUNT.pack_into(self._forgets, 0, self.forgets + 1)

    def others(self) -> list[MetricsSnapshot]:
        """The last snapshots of the other workers."""
        return [_parse(place.read()) for place in self._others]


class SharedCounts:
    """Small numbers by name, which all workers add up. Each worker writes its own. Of names there are as many as a hash
    tells apart: two that it does not share one number."""

    def __init__(self, own: mmap.mmap, all_workers: list[mmap.mmap]) -> None:
        self._own = own
        self._all = all_workers

    def add(self, name: str, change: int) -> None:
        at = _slot(name)
        self._own[at] = min(max(self._own[at] + change, 0), 255)

    def total(self, name: str) -> int:
        at = _slot(name)
        return sum([counts[at] for counts in self._all])


def _slot(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=2).digest(), "big")


def _parse(data: bytes) -> MetricsSnapshot:
    return _decode(data) if data else MetricsSnapshot()


class _SharedBytes:
    """Two halves in turn: one holds what is valid while the other is written. The first byte says which."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 1 + 2 * PLACE_BYTES)

    def write(self, data: bytes) -> None:
        if len(data) > PLACE_BYTES - _HEAD.size:
            return
        half = 1 - self._memory[0]
        start = 1 + half * PLACE_BYTES
        framed = _HEAD.pack(len(data), zlib.crc32(data)) + data
        self._memory[start : start + len(framed)] = framed
        self._memory[0] = half

    def read(self) -> bytes:
        """The bytes last written. A reader that is overtaken by two writes sees it by the checksum, and tries again."""
        for _ in range(_TRIES):
            start = 1 + self._memory[0] * PLACE_BYTES
            length, checksum = _HEAD.unpack_from(self._memory, start)
            if not length:
                return b""
            begin = start + _HEAD.size
            data = self._memory[begin : begin + length]
            if zlib.crc32(data) == checksum:
                return data
        return b""
