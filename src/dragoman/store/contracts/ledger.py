"""The ledger: one entry per request, and questions about them."""

from __future__ import annotations

from typing import Protocol

from msgspec import Struct

from dragoman.store.ledger_entry import By, Entry, Totals, Viewer

LARGEST_PAGE = 1000


class LedgerQuery(Struct, frozen=True, kw_only=True):
    """Which requests. None asks for all."""

    since: float | None = None
    """Included."""
    until: float | None = None
    """Not included."""
    caller: str | None = None
    """Narrows what an admin sees; others see their own requests in any case."""
    target: str | None = None
    asked: str | None = None
    failed: bool | None = None
    limit: int = 50
    after: str | None = None
    """`next` of the page before."""

    def page_size(self) -> int:
        return min(max(self.limit, 1), LARGEST_PAGE)


EVERYTHING = LedgerQuery()


class LedgerPage(Struct, frozen=True):
    """Some requests, newest first."""

    entries: tuple[Entry, ...]
    next: str | None = None
    """Asks for those that follow; None at the end."""


class Ledger(Protocol):
    """Entries by request id, readable by their caller and by admins.

    Isolation: a caller reads its own entries alone. An admin reads all.

    `record` never waits and never fails the request. Secrets are taken out, bodies too unless `store.keep_bodies` is
    set, and counts are bounded, so that no value from outside can stop the ledger. An entry whose id is there already
    replaces it.

    Order: newest first, by time, then by id. Pages do not shift when entries are added meanwhile.

    Consistency: the process that recorded an entry reads it at once. Others read it when it is written, usually within
    milliseconds.

    Expiry and bounds: entries leave after `store.keep_days`, and the oldest leave when there are more than
    `store.keep_requests` (a backend may keep a few hundred more for a while).

    What may be lost: entries that wait while the process is killed, unless one waited for `flushed`; entries beyond
    `store.queue` that wait for a slow disk; entries that a broken disk refuses. Each loss but the first is counted in
    `StoreHealth` and logged.

    What a failure means: nothing for requests to models. A question that cannot be answered raises
    `StoreUnavailable`: half an answer would look like the truth.
    """

    def record(self, entry: Entry) -> None:
        """Put a request into the ledger."""

    async def flushed(self, seconds: float) -> bool:
        """Wait until everything recorded so far outlives this process; False if that took too long."""

    async def report(self, request_id: str, viewer: Viewer) -> Entry | None:
        """One request, if it is there and the viewer may see it."""

    async def recent(self, viewer: Viewer, query: LedgerQuery = EVERYTHING) -> LedgerPage:
        """A page of requests. An `after` that no page has given asks for the first page."""

    async def totals(self, viewer: Viewer, by: By, query: LedgerQuery = EVERYTHING) -> tuple[Totals, ...]:
        """Sums over the requests of a query, the largest group first. `limit` and `after` do not count."""


def cursor_of(entry: Entry) -> str:
    """Where the next page begins."""
    return f"{entry.time!r} {entry.id}"


def position_of(cursor: str | None) -> tuple[float, str] | None:
    """The time and id in a cursor, or None if it is none."""
    if cursor is None:
        return None
    time, _, identity = cursor.partition(" ")
    try:
        return float(time), identity
    except ValueError:
        return None
