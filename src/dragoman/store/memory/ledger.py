"""The ledger of one process."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from threading import Lock

from msgspec import Struct, field

from dragoman.store.clock import Clock
from dragoman.store.contracts.ledger import EVERYTHING, LedgerPage, LedgerQuery, cursor_of, position_of
from dragoman.store.journals.redaction import Redactor
from dragoman.store.ledger_entry import By, Entry, Totals, Viewer, sanitize
from dragoman.store.settings import StoreSettings

DAY = 86_400.0
MOST_BYTES = 32 * 1024 * 1024
"""Of bodies, reports and errors; the oldest requests leave for the newest."""


def matches(entry: Entry, query: LedgerQuery) -> bool:
    """Whether an entry is one that a query asks for."""
    return (
        (query.since is None or entry.time >= query.since)
        and (query.until is None or entry.time < query.until)
        and (query.caller is None or entry.caller == query.caller)
        and (query.target is None or entry.target == query.target)
        and (query.asked is None or entry.asked == query.asked)
        and (query.failed is None or entry.failed is query.failed)
    )


def page(entries: Iterable[Entry], query: LedgerQuery) -> LedgerPage:
    """The newest entries that come after the query's cursor."""
    position, size = position_of(query.after), query.page_size()
    rest = [entry for entry in entries if position is None or (entry.time, entry.id) < position]
    rest.sort(key=lambda entry: (entry.time, entry.id), reverse=True)
    shown = tuple(rest[:size])
    return LedgerPage(shown, cursor_of(shown[-1]) if len(rest) > size else None)


def sum_entries(entries: Iterable[Entry], by: By) -> tuple[Totals, ...]:
    """Sums by group, the largest first."""
    groups: dict[str, Totals] = {}
    for entry in entries:
        name: str = getattr(entry, by.value)
        groups[name] = groups.get(name, Totals(name)).plus(entry)
    return tuple(sorted(groups.values(), key=lambda group: (-group.requests, group.name)))


class MemoryLedger(Struct, eq=False):
    """`Ledger` of one process: the last requests. Its coroutines never wait. Threads may share it."""

    _settings: StoreSettings
    _clock: Clock
    _redactor: Redactor
    _most: int | None = None
    """Bounds the entries if that is less than the configuration says."""
    _most_bytes: int = MOST_BYTES
    _entries: OrderedDict[str, Entry] = field(default_factory=OrderedDict)
    _bytes: int = 0
    _lock: Lock = field(default_factory=Lock)
    written: int = 0

    def record(self, entry: Entry) -> None:
        self.take(entry)

    async def flushed(self, seconds: float) -> bool:
        return True  # nothing here outlives the process, however long one waits

    async def report(self, request_id: str, viewer: Viewer) -> Entry | None:
        entry = self._entries.get(request_id)
        return entry if entry is not None and viewer.may_see(entry) and entry.time >= self.oldest() else None

    async def recent(self, viewer: Viewer, query: LedgerQuery = EVERYTHING) -> LedgerPage:
        return page(self.matching(viewer, query), query)

    async def totals(self, viewer: Viewer, by: By, query: LedgerQuery = EVERYTHING) -> tuple[Totals, ...]:
        return sum_entries(self.matching(viewer, query), by)

    def take(self, entry: Entry) -> Entry:
        """Keep an entry; how it is kept, without secrets."""
        entry = sanitize(entry, self._redactor, self._settings.config.keep_bodies)
        most = self._settings.config.keep_requests
        if self._most is not None and self._most < most:
            most = self._most
        with self._lock:
            if entry.id in self._entries:
                self._remove(entry.id)
            self._entries[entry.id] = entry
            self._bytes += entry.weight()
            self.written += 1
            while len(self._entries) > most or (self._bytes > self._most_bytes and len(self._entries) > 1):
                self._remove(next(iter(self._entries)))
        return entry

    def matching(self, viewer: Viewer, query: LedgerQuery) -> Iterator[Entry]:
        """The entries of a query that the viewer may see, in no order."""
        oldest = self.oldest()
        with self._lock:
            entries = list(self._entries.values())
        return (one for one in entries if one.time >= oldest and viewer.may_see(one) and matches(one, query))

    def forget(self, caller: str) -> int:
        """Remove the entries of a caller; how many there were."""
        with self._lock:
            found = [one.id for one in self._entries.values() if one.caller == caller]
            for request_id in found:
                self._remove(request_id)
        return len(found)

    def oldest(self) -> float:
        """The time of the oldest entry that may still be shown."""
        return self._clock() - self._settings.config.keep_days * DAY

    def _remove(self, request_id: str) -> None:
        self._bytes -= self._entries.pop(request_id).weight()
