"""A book in Redis.

Redis has a number for each book that grows with every change. The heartbeat brings it, and a replica that has an older
one reads the book again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

from dragoman.store.books import BookKind, BookNote
from dragoman.store.redis_store.connection import RedisAway, RedisRefused, evalsha, pack
from dragoman.store.redis_store.keys import RedisKeys, digest
from dragoman.store.redis_store.link import RedisLink
from dragoman.store.redis_store.replicas import Heartbeat, Replicas
from dragoman.store.redis_store.scripts import Scripts


class RedisBook:
    """`SharedBook` in Redis. Names are digests there."""

    def __init__(self, link: RedisLink, scripts: Scripts, keys: RedisKeys, replicas: Replicas, kind: BookKind) -> None:
        self._link = link
        self._scripts = scripts
        self._most = kind.most
        self._names = (keys.named(kind.name), keys.named(kind.name, "order"), keys.versions)
        self._version = 0
        self._changes = 0
        self._reading: asyncio.Task[None] | None = None
        replicas.listeners.append(self._listen)
        link.back.append(self._push_again)

    def keep(self, take: Callable[[list[bytes]], None], give: Callable[[], Iterable[BookNote]]) -> None:
        self._take, self._give = take, give

    def look(self) -> None:
        """Not needed: the heartbeat tells of changes."""

    def put(self, note: BookNote) -> None:
        self._changes += 1
        self._send(note)

    def remove(self, names: Iterable[str]) -> None:
        self._changes += 1
        digests = [digest(name, 16) for name in names]
        if digests:
            self._link.post(evalsha(self._scripts.unnote, self._names, *digests), again=True)

    async def shared(self) -> None:
        """Wait until Redis has what was put: it answers each replica in the order in which it is told."""
        with suppress(RedisAway, RedisRefused):  # counted; it is sent again
            await self._link.ask(pack(("PING",)))

    async def read(self) -> None:
        changes = self._changes
        try:
            notes = await self._link.ask(pack(("HVALS", self._names[0])))
        except (RedisAway, RedisRefused):  # counted; this process's copy goes on being used
            return
        if changes == self._changes:
            self._take(notes)

    def _listen(self, news: Heartbeat) -> None:
        version = news.versions.get(self._names[0], 0)
        if version != self._version and (self._reading is None or self._reading.done()):
            self._reading = asyncio.get_running_loop().create_task(self._read_version(version))

    async def _read_version(self, version: int) -> None:
        changes = self._changes
        await self.read()
        if changes == self._changes:
            self._version = version

    def _send(self, note: BookNote) -> None:
        about = (digest(note.name, 16), repr(note.stamp), note.text, self._most)
        self._link.post(evalsha(self._scripts.note, self._names, *about), again=True)

    def _push_again(self, lost_since: float | None) -> None:
        if lost_since is not None:
            self._version = 0
            for note in self._give():
                self._send(note)
