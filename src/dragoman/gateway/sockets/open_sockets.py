"""The WebSockets that are open in this process, and the answers that they may continue."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Protocol

import msgspec

from dragoman.dialects.contracts.stored_answers import StoredTurn
from dragoman.gateway.records.metrics_board import SharedCounts

SOCKETS_PER_KEY = 64
MEMORY = 64 << 20
"""Bytes of conversations that the open sockets of all workers remember."""
_LOOK_SECONDS = 1.0


class OpenSocket(Protocol):
    """One socket."""

    @property
    def key(self) -> str:
        """The name of the key that it was opened with."""

    def look(self) -> None:
        """End it if its time is up, or its key is not good any more."""


class RememberedAnswer(msgspec.Struct, frozen=True):
    """The newest answer of a lane, with the conversation that led to it."""

    id: str
    turns: tuple[StoredTurn, ...]
    """The turns on this socket, the answer's own last."""
    before: str
    """The id of what stands before these turns, which others have; or empty."""
    is_stored: bool
    """The store has it too."""
    size: int
    """Bytes of the turns."""


class SocketMemory:
    """Answers in RAM, by socket and lane. If there are too many, those that were used longest ago go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._kept: dict[OpenSocket, dict[str | None, RememberedAnswer]] = {}
        self._used: OrderedDict[tuple[OpenSocket, str | None], None] = OrderedDict()

    @property
    def size(self) -> int:
        """Bytes of the answers."""
        return self._size

    def find(self, socket: OpenSocket, lane: str | None, id: str) -> RememberedAnswer | None:
        """The answer of this socket that has this id: of this lane, else of another. Some servers repeat their ids."""
        kept = self._kept.get(socket, {})
        for name in (lane, *kept):
            if name in kept and kept[name].id == id:
                self._used.move_to_end((socket, name))
                return kept[name]
        return None

    def put(self, socket: OpenSocket, lane: str | None, answer: RememberedAnswer) -> None:
        """Keep an answer in place of the one before it in its lane."""
        self.drop(socket, lane)
        if answer.size > self._most:
            return
        self._kept.setdefault(socket, {})[lane] = answer
        self._used[socket, lane] = None
        self._size += answer.size
        while self._size > self._most:
            self.drop(*next(iter(self._used)))

    def drop(self, socket: OpenSocket, lane: str | None) -> None:
        gone = self._kept.get(socket, {}).pop(lane, None)
        if gone is not None:
            del self._used[socket, lane]
            self._size -= gone.size

    def forget(self, socket: OpenSocket) -> None:
        for lane in tuple(self._kept.get(socket, ())):
            self.drop(socket, lane)
        self._kept.pop(socket, None)


class OpenSockets:
    """All sockets of this process. One timer looks at all of them while there are any."""

    def __init__(self, workers: int, shared: SharedCounts | None = None) -> None:
        """`shared`: counts of all workers, if there are several."""
        self._shared = shared
        self.memory = SocketMemory(MEMORY // workers)
        self.sockets: set[OpenSocket] = set()
        self._counts: dict[str, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def has_room(self, key: str) -> bool:
        count = self._counts.get(key, 0) if self._shared is None else self._shared.total(key)
        return count < SOCKETS_PER_KEY

    def add(self, socket: OpenSocket) -> None:
        self.sockets.add(socket)
        self._counts[socket.key] = self._counts.get(socket.key, 0) + 1
        if self._shared is not None:
            self._shared.add(socket.key, 1)
        if self._timer is None:
            self._tick()

    def remove(self, socket: OpenSocket) -> None:
        self.sockets.discard(socket)
        self.memory.forget(socket)
        self._counts[socket.key] -= 1
        if self._shared is not None:
            self._shared.add(socket.key, -1)
        if not self._counts[socket.key]:
            del self._counts[socket.key]

    def forget(self, key: str | None = None) -> None:
        """Drop what the sockets of a key remember; without a key, what all do."""
        for socket in self.sockets:
            if key is None or socket.key == key:
                self.memory.forget(socket)

    def look(self) -> None:
        for socket in tuple(self.sockets):
            socket.look()

    def _tick(self) -> None:
        self.look()
        waits = asyncio.get_running_loop().call_later
        self._timer = waits(_LOOK_SECONDS, self._tick) if self.sockets else None
