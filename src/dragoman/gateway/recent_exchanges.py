"""The last requests in memory, for the console: references only. Nothing is written out until somebody looks."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from dragoman.config import Config, is_loopback
from dragoman.conversation.conversation import Ask
from dragoman.engine.exchange import Exchange
from dragoman.engine.routing.candidates import Decision
from dragoman.store import Entry
from dragoman.upstream.destinations import HttpDestination

if TYPE_CHECKING:
    from dragoman.gateway.request_record import RequestRecord

MOST = 200
"""Requests with their bodies."""
MOST_BYTES = 48 * 1024 * 1024
"""Of the bodies of all of them."""
LARGEST = 8 * 1024 * 1024
"""A request with larger bodies is not kept."""
MOST_DECISIONS = 50
"""Of routes, with or without bodies."""
MOST_NOTED = 1024
"""Requests that watchers of the list may be behind."""


class RecentExchange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request with all that became of it. Its connection is not among that.

    `answer` are the pieces that the client got. Times are seconds since the request came: `asked_at` of the first send,
    `failed_at` of each failure; `waits` are the seconds of waiting after the n-th failure.
    """

    entry: Entry
    ask: Ask | None
    exchange: Exchange[HttpDestination] | None
    answer: Sequence[bytes]
    asked_at: float
    failed_at: tuple[float, ...]
    waits: Mapping[int, float]
    decision: Decision | None
    weight: int


def keeps_bodies(config: Config) -> bool:
    """Whether bodies may be in memory: where nobody but the owner of this machine can look at them."""
    return not config.keys and is_loopback(config.server.host) and not config.server.allow_public_without_keys


class RecentExchanges:
    """The last requests. `keeps`: their bodies too. `count` is the number of all requests so far, `watchers` that of
    the pages that see them come in."""

    def __init__(self, keeps: bool) -> None:
        self.keeps = keeps
        self.count = self.watchers = 0
        self._exchanges: OrderedDict[str, RecentExchange] = OrderedDict()
        self._bytes = 0
        self._entries: deque[Entry] = deque(maxlen=MOST_NOTED)
        self._routed: deque[tuple[Entry, Decision]] = deque(maxlen=MOST_DECISIONS)

    def keep(self, keeps: bool) -> None:
        """Whether bodies are kept from now on; if not, those that are here are forgotten."""
        self.keeps = keeps
        if not keeps:
            self._exchanges.clear()
            self._bytes = 0

    def note(self, entry: Entry) -> None:
        """A request without bodies."""
        self.count += 1
        self._entries.append(entry)

    def add(self, record: RequestRecord, entry: Entry) -> None:
        self.note(entry)
        if record.routed is not None:
            self._routed.append((entry, record.routed.decision))
        if self.keeps:
            self._put(_recent(record, entry))

    def find(self, request_id: str) -> RecentExchange | None:
        return self._exchanges.get(request_id)

    def routed(self) -> list[tuple[Entry, Decision]]:
        """The last requests whose model was chosen by a route, the newest first."""
        return list(reversed(self._routed))

    def since(self, count: int) -> list[Entry]:
        """The requests after the first `count`, the oldest first; fewer where a watcher is far behind."""
        new = min(self.count - count, len(self._entries))
        return [self._entries[at] for at in range(len(self._entries) - new, len(self._entries))]

    def _put(self, exchange: RecentExchange) -> None:
        if exchange.weight > LARGEST:
            return
        self._exchanges[exchange.entry.id] = exchange
        self._bytes += exchange.weight
        while len(self._exchanges) > MOST or self._bytes > MOST_BYTES:
            self._bytes -= self._exchanges.popitem(last=False)[1].weight


def _recent(record: RequestRecord, entry: Entry) -> RecentExchange:
    dispatch, exchange, routed, begun = record.dispatch, record.exchange, record.routed, record.started
    whole = () if record.answer is None else (record.answer,)
    answer: Sequence[bytes] = record.copy or whole
    return RecentExchange(
        entry=entry,
        ask=record.ask,
        exchange=exchange,
        answer=answer,
        asked_at=dispatch.asked_at - begun if dispatch is not None else 0.0,
        failed_at=tuple([at - begun for at in dispatch.failed_at]) if dispatch is not None else (),
        waits=dispatch.waits if dispatch is not None else {},
        decision=routed.decision if routed is not None else None,
        weight=_weight(record.ask, exchange) + sum(map(len, answer)),
    )


def _weight(ask: Ask | None, exchange: Exchange[HttpDestination] | None) -> int:
    """The bytes of the bodies that came in and went out."""
    asked = len(ask.source) if ask is not None else 0
    if exchange is None or exchange.request is None:
        return asked
    return asked + len(exchange.request.body) + sum([len(one.request.body) for one in exchange.refusals])
