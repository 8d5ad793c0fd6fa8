"""Everything in this process, gone with it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from threading import Lock

import msgspec

from dragoman.config.schema import StoreConfig
from dragoman.store.ledger_entry import By, Caller, Entry, Totals
from dragoman.store.rate_windows import Allowed, Limited, Limits, Windows
from dragoman.store.redaction import Redactor
from dragoman.store.shelf import CAPACITY, MemoryShelf, Shelf
from dragoman.store.store import Clock, Health
from dragoman.store.vault import Kept, MemoryVault

DAY = 86_400.0
MOST_BYTES = 256 * 1024 * 1024
"""Of bodies, where they are kept at all; the oldest requests leave for the newest."""


class MemoryStore:
    """The store for one worker and for tests. Threads may share it."""

    def __init__(self, config: StoreConfig, clock: Clock, redactor: Redactor | None = None) -> None:
        self.config = config
        self.clock = clock
        self.vault = MemoryVault(config.vault)
        self._redactor = redactor or Redactor()
        self._entries: OrderedDict[str, Entry] = OrderedDict()
        self._windows = Windows()
        self._shelves = {shelf: MemoryShelf(CAPACITY[shelf]) for shelf in Shelf}
        self._bytes = 0
        self._written = 0
        self._lock = Lock()

    def record(self, entry: Entry) -> None:
        self.put(fit_to_keep(entry, self._redactor, self.config.keep_bodies))

    def put(self, entry: Entry) -> None:
        """Take an entry that is fit to keep."""
        with self._lock:
            self._entries[entry.id] = entry
            self._bytes += entry.weight()
            self._written += 1
            while len(self._entries) > self.config.keep_requests or self._bytes > MOST_BYTES:
                _, oldest = self._entries.popitem(last=False)
                self._bytes -= oldest.weight()

    def report(self, request_id: str, caller: Caller) -> Entry | None:
        entry = self._entries.get(request_id)
        return entry if entry is not None and caller.may_see(entry) and self._young(entry) else None

    def recent(self, caller: Caller, limit: int = 50, before: float | None = None) -> tuple[Entry, ...]:
        seen = (entry for entry in self._visible(caller) if before is None or entry.time < before)
        return tuple(sorted(seen, key=lambda entry: entry.time, reverse=True)[:limit])

    def totals(self, caller: Caller, by: By, since: float = 0.0) -> tuple[Totals, ...]:
        groups: dict[str, Totals] = {}
        for entry in self._visible(caller):
            if entry.time >= since:
                name: str = getattr(entry, by.value)
                groups[name] = groups.get(name, Totals(name)).plus(entry)
        return tuple(sorted(groups.values(), key=lambda group: (-group.requests, group.name)))

    def _visible(self, caller: Caller) -> Iterator[Entry]:
        with self._lock:
            entries = list(self._entries.values())
        return (entry for entry in entries if caller.may_see(entry) and self._young(entry))

    def _young(self, entry: Entry) -> bool:
        return entry.time > self.clock() - self.config.keep_days * DAY

    def keep(self, caller: str, provider: str, scope: str, key: str, value: bytes, kind: str) -> None:
        with self._lock:
            self.vault.keep((caller, provider, scope, key), Kept(value, kind), self.clock())

    def fetch(self, caller: str, provider: str, scope: str, keys: Iterable[str]) -> dict[str, Kept]:
        with self._lock:
            return self.vault.fetch(caller, provider, scope, keys, self.clock())

    def allow(self, key: str, limits: Limits, now: float, tokens: int = 0) -> Allowed | Limited:
        return self._windows.allow(key, limits, now, tokens)

    def spend(self, key: str, tokens: int, now: float) -> None:
        self._windows.spend(key, tokens, now)

    def remember(self, shelf: Shelf, key: str, value: bytes) -> None:
        with self._lock:
            self._shelves[shelf].remember(key, value)

    def recall(self, shelf: Shelf, key: str) -> bytes | None:
        with self._lock:
            return self._shelves[shelf].recall(key)

    def remembered(self, shelf: Shelf) -> dict[str, bytes]:
        with self._lock:
            return self._shelves[shelf].everything()

    def forget(self, shelf: Shelf, key: str) -> None:
        with self._lock:
            self._shelves[shelf].forget(key)

    def health(self) -> Health:
        return Health(written=self._written)

    def flush(self, timeout: float = 5.0) -> bool:
        return True

    def close(self) -> None:
        return None


def fit_to_keep(entry: Entry, redactor: Redactor, bodies: bool) -> Entry:
    """The entry as it may be stored: no secret in a provider's words, and bodies only if asked for."""
    if entry.error is None and not entry.weight():
        return entry
    changed: dict[str, object] = {}
    if entry.error is not None:
        changed["error"] = redactor.text(entry.error)
    for name in ("request", "sent", "answer"):
        body = getattr(entry, name)
        if body is not None:
            changed[name] = redactor.body(body) if bodies else None
    return msgspec.structs.replace(entry, **changed) if changed else entry
