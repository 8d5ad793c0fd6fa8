"""Pins: which model a call or a session stays with."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from dragoman.store.contracts.expiring_table import ExpiringTable


class PinOwner(NamedTuple):
    """Whose pin it is: the caller, and the session, if there is one."""

    caller: str
    session: str = ""


class Pin(Struct, frozen=True):
    """The target that made the call or serves the session, and when that was (seconds since 1970)."""

    target: str
    at: float


SESSION = ""
"""The key of a session's own pin."""


class Pins:
    """Pins by owner and key. A key is the digest of a conversation that ends with calls, or `SESSION`.

    Isolation: the caller is part of every key.

    Atomicity: each key is written whole or not at all; the last writer wins. `forget` removes a session as a whole.

    Consistency: when `put` or `forget` returns, this process sees it at once. Other workers and replicas see a new pin
    at once, and a pin that they have read before changed within two seconds.

    Expiry and bounds: a pin is forgotten a day after its last use, and at most 4,096 pins of one caller are kept; the
    least recently used goes first.

    What may be lost: everything; a restart keeps pins if the backend has a file or a server.

    What a failure means: a `find` that fails finds nothing, and the failure is counted. The turn is then routed as if
    it had never been pinned. No request fails.
    """

    def __init__(self, table: ExpiringTable[Pin]) -> None:
        self._table = table

    async def put(self, owner: PinOwner, pins: Mapping[str, Pin]) -> None:
        """Keep pins, each under its key."""
        await self._table.put(owner.caller, owner.session, pins)

    def find(self, owner: PinOwner, keys: Iterable[str]) -> Coroutine[Any, Any, Mapping[str, Pin]]:
        """The pins under these keys."""
        return self._table.find(owner.caller, owner.session, keys)

    def forget(self, owner: PinOwner) -> Coroutine[Any, Any, bool]:
        """Remove all pins of a session."""
        return self._table.forget(owner.caller, owner.session)
