"""What providers' prompt caches saved and lost, by day, model and session, and which requests broke them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct, field

from dragoman.store.contracts.ledger import LARGEST_PAGE, Ledger, LedgerQuery
from dragoman.store.ledger_entry import Entry, Viewer

MOST_LOOKED_AT = 20_000
"""Requests that one report looks through, the newest first."""
MOST_SESSIONS = 100
"""Sessions that one report names: those that lost the most money, then those that sent the most again."""


class CacheBreak(Struct, frozen=True, gc=False):
    """A request that sent again what its provider had in the cache."""

    id: str
    time: float
    resent_tokens: int
    lost: float
    why: str


class CacheTotals(Struct):
    """Sums over the requests of one group."""

    name: str
    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    written_tokens: int = 0
    resent_tokens: int = 0
    """Tokens that providers had in the cache, and that were sent once more."""
    saved: float = 0.0
    """What reading from caches saved, less what writing to them cost."""
    lost: float = 0.0
    """What the tokens that were sent again cost more."""
    breaks: int = 0
    """The requests that sent tokens again."""
    read: float = 0.0
    """The share of the input that was read from a cache."""
    model: str = ""
    """The model that was asked last."""
    worst: CacheBreak | None = None
    """The request that lost the most."""

    def add(self, entry: Entry) -> None:
        self.model = self.model or entry.asked
        self.requests += 1
        self.input_tokens += entry.input_tokens
        self.cached_tokens += entry.cached_tokens
        self.written_tokens += entry.written_tokens
        self.resent_tokens += entry.resent_tokens
        self.saved += entry.cache_saved
        self.lost += entry.cache_lost
        self.breaks += bool(entry.resent_tokens)
        self.read = min(self.cached_tokens / self.input_tokens, 1.0) if self.input_tokens else 0.0
        if entry.resent_tokens and (self.worst is None or entry.resent_tokens > self.worst.resent_tokens):
            tokens, lost = entry.resent_tokens, entry.cache_lost
            self.worst = CacheBreak(entry.id, entry.time, tokens, lost, entry.cache_break)


class CacheReport(Struct, frozen=True, kw_only=True):
    """Sums by group, and over all of them."""

    since: float | None
    """Seconds since 1970; None: from the first request on."""
    is_cut: bool
    """Older requests were not looked at, because there are too many."""
    total: CacheTotals
    days: tuple[CacheTotals, ...] = field(default=())
    models: tuple[CacheTotals, ...] = field(default=())
    sessions: tuple[CacheTotals, ...] = field(default=())


async def cache_report(ledger: Ledger, viewer: Viewer, since: float | None) -> CacheReport:
    """The report of a ledger. Raises StoreUnavailable."""
    found: list[Entry] = []
    query = LedgerQuery(since=since, limit=LARGEST_PAGE)
    while True:
        page = await ledger.recent(viewer, query)
        found += page.entries
        if page.next is None or len(found) >= MOST_LOOKED_AT:
            return report_of(found, since, is_cut=page.next is not None)
        query = LedgerQuery(since=since, limit=LARGEST_PAGE, after=page.next)


def report_of(entries: Iterable[Entry], since: float | None = None, *, is_cut: bool = False) -> CacheReport:
    """The report of these requests, the newest first."""
    counted = [entry for entry in entries if entry.input_tokens or entry.cache_saved]
    total = CacheTotals("total")
    for entry in counted:
        total.add(entry)
    sessions = _group([entry for entry in counted if entry.session], lambda entry: entry.session)
    return CacheReport(
        since=since,
        is_cut=is_cut,
        total=total,
        days=tuple(sorted(_group(counted, lambda entry: entry.day), key=lambda one: one.name, reverse=True)),
        models=tuple(_group(counted, lambda entry: entry.asked)),
        sessions=tuple(sessions[:MOST_SESSIONS]),
    )


def _group(entries: Iterable[Entry], name_of: Callable[[Entry], str]) -> list[CacheTotals]:
    groups: dict[str, CacheTotals] = {}
    for entry in entries:
        name = name_of(entry)
        group = groups.get(name)
        if group is None:
            group = groups[name] = CacheTotals(name)
        group.add(entry)
    return sorted(groups.values(), key=lambda one: (-one.lost, -one.resent_tokens, -one.input_tokens, one.name))
