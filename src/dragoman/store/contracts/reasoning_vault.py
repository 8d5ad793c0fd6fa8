"""Reasoning state: what a provider wants back on the next turn and the client's dialect cannot carry."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Mapping
from typing import Any, NamedTuple

from dragoman.conversation.parts import Part
from dragoman.store.contracts.expiring_table import SEPARATOR, ExpiringTable
from dragoman.store.settings import StoreSettings

Parts = tuple[Part, ...]
"""What belongs to one call or one answer: thinking, and the state of the call or text itself."""


class StateOwner(NamedTuple):
    """Whose state it is."""

    caller: str
    """Who may have it back."""
    provider: str
    """Who issued it."""
    scope: str
    """The models that take it."""


class ReasoningVault:
    """Parts by owner and key. A key is a call's id or a digest of the assistant's text. Nothing is kept or found while
    `store.vault.enabled` is off.

    Isolation: the caller is part of every key. One caller never gets what was kept for another, even if both name
    the same call.

    Atomicity: each key is written whole or not at all. Several keys of one `put` may become visible one by one. The
    last writer of a key wins.

    Consistency: when `put` returns, this process finds the parts. So do all other workers and replicas, unless the
    backend failed or did not answer within its deadline. Send the last byte of the answer after `put` has returned,
    and the next turn finds its state wherever it arrives. A key that was looked up in vain may be taken as missing
    for five seconds.

    Expiry and bounds: an entry is forgotten `vault.ttl` seconds after its last use. Entries of one caller, entries of
    all callers and bytes of all entries are bounded; the least recently used entry goes first. A backend may hold a
    little more than the bounds for a while.

    What may be lost: everything. The vault is a cache of what providers issued. A restart keeps it if the backend
    has a file or a server.

    What a failure means: a `find` that fails or takes too long finds nothing, and the failure is counted. The rules
    then repair the turn as if the state had never been kept, and report it. No request fails.
    """

    def __init__(self, table: ExpiringTable[Parts], settings: StoreSettings) -> None:
        self._table = table
        self._settings = settings

    async def put(self, owner: StateOwner, entries: Mapping[str, Parts]) -> None:
        """Keep parts, each under its key."""
        if self._settings.config.vault.enabled:
            await self._table.put(owner.caller, owner.provider + SEPARATOR + owner.scope, entries)

    def find(self, owner: StateOwner, keys: Iterable[str]) -> Coroutine[Any, Any, Mapping[str, Parts]]:
        """The parts that are kept under these keys.

        If it is known that nothing is kept for the caller, the keys are not even made.
        """
        place = owner.provider + SEPARATOR + owner.scope
        return self._table.find(owner.caller, place, keys if self._settings.config.vault.enabled else ())
