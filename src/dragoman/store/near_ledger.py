"""A ledger that processes share, with the last requests of this process in memory too."""

from __future__ import annotations

from typing import Protocol

from dragoman.store.clock import Clock
from dragoman.store.contracts.ledger import EVERYTHING, LedgerPage, LedgerQuery, cursor_of
from dragoman.store.journals.redaction import Redactor
from dragoman.store.ledger_entry import By, Entry, Totals, Viewer
from dragoman.store.memory.ledger import MemoryLedger, page
from dragoman.store.settings import StoreSettings

NEAR_ENTRIES = 512
"""Requests in memory, so that each can be read before it is written."""
NEAR_BYTES = 16 * 1024 * 1024
PAGE_BYTES = 16 * 1024 * 1024
"""Of entries that are read for one page; bodies may be among them. A page that would be larger is shorter."""
FLUSH_DEADLINE = 10.0


class SharedLedger(Protocol):
    """The entries in a file or on a server. Questions raise StoreUnavailable, which is counted."""

    def write(self, entry: Entry) -> None:
        """Have an entry written soon. Never waits, never fails."""

    async def find(self, request_id: str, oldest: float) -> Entry | None:
        """One entry that is not older than this."""

    async def page(self, viewer: Viewer, query: LedgerQuery, oldest: float) -> tuple[list[Entry], bool]:
        """One entry more than a page has, the newest first; and whether some are left out, because they are large."""

    async def totals(self, viewer: Viewer, by: By, query: LedgerQuery, oldest: float) -> tuple[Totals, ...]:
        """Sums, the largest group first."""

    async def forget(self, caller: str) -> int:
        """Remove the entries of a caller; how many there were."""

    async def written(self, seconds: float) -> bool:
        """Wait until everything so far is written; False if that took too long."""


class NearLedger:
    """`Ledger` on a shared ledger."""

    def __init__(self, shared: SharedLedger, settings: StoreSettings, clock: Clock, redactor: Redactor) -> None:
        self._shared = shared
        self._near = MemoryLedger(settings, clock, redactor, NEAR_ENTRIES, NEAR_BYTES)

    def record(self, entry: Entry) -> None:
        self._shared.write(self._near.take(entry))

    async def flushed(self, seconds: float) -> bool:
        return await self._shared.written(seconds)

    async def report(self, request_id: str, viewer: Viewer) -> Entry | None:
        near = await self._near.report(request_id, viewer)
        if near is not None:
            return near
        entry = await self._shared.find(request_id, self._near.oldest())
        return entry if entry is not None and viewer.may_see(entry) else None

    async def recent(self, viewer: Viewer, query: LedgerQuery = EVERYTHING) -> LedgerPage:
        """A page of the shared ledger, with what is not written yet."""
        entries, is_cut = await self._shared.page(viewer, query, self._near.oldest())
        found = {entry.id: entry for entry in entries}
        near = self._near.matching(viewer, query)
        if not is_cut:
            found |= {entry.id: entry for entry in near}
            return page(found.values(), query)
        last = (entries[-1].time, entries[-1].id)  # older ones come after those that were not read
        found |= {entry.id: entry for entry in near if (entry.time, entry.id) >= last}
        short = page(found.values(), query)
        return short if short.next is not None else LedgerPage(short.entries, cursor_of(short.entries[-1]))

    async def totals(self, viewer: Viewer, by: By, query: LedgerQuery = EVERYTHING) -> tuple[Totals, ...]:
        await self._shared.written(FLUSH_DEADLINE)
        return await self._shared.totals(viewer, by, query, self._near.oldest())

    async def forget(self, caller: str) -> int:
        """Remove the entries of a caller; how many there were. Raises StoreUnavailable."""
        self._near.forget(caller)
        return await self._shared.forget(caller)
