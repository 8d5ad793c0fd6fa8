"""Cooldowns in Redis. What others found out comes with the heartbeat."""

from __future__ import annotations

from dragoman.store.contracts.cooldowns import LONGEST, MOST_COOLDOWNS, later
from dragoman.store.memory.cooldowns import MemoryCooldowns
from dragoman.store.redis_store.connection import evalsha
from dragoman.store.redis_store.keys import RedisKeys
from dragoman.store.redis_store.link import RedisLink
from dragoman.store.redis_store.replicas import Heartbeat, Replicas
from dragoman.store.redis_store.scripts import Scripts


class RedisCooldowns:
    """`Cooldowns` in Redis."""

    def __init__(
        self, link: RedisLink, scripts: Scripts, keys: RedisKeys, replicas: Replicas, near: MemoryCooldowns
    ) -> None:
        self._link = link
        self._scripts = scripts
        self._keys = keys
        self._near = near
        self._unanswered = 0
        replicas.listeners.append(self._listen)

    def rest(self, name: str, seconds: float) -> None:
        self._near.rest(name, seconds)
        self._send(name, min(seconds, LONGEST))

    def clear(self, name: str) -> None:
        self._near.clear(name)
        self._send(name, 0.0)

    def remaining(self, name: str) -> float:
        return self._near.remaining(name)

    def resting(self) -> dict[str, float]:
        return self._near.resting()

    def _send(self, name: str, seconds: float) -> None:
        """While Redis is away nobody else learns of it: each finds out by itself."""
        command = evalsha(self._scripts.rest, (self._keys.cooldowns,), name, seconds, MOST_COOLDOWNS)
        self._unanswered += self._link.post(command, self._sent)

    def _sent(self, reply: object) -> None:
        self._unanswered -= 1

    def _listen(self, news: Heartbeat) -> None:
        if not self._unanswered:  # what was found out here is not in the news yet
            self._near.replace({name: later(left) for name, left in news.resting.items()})
