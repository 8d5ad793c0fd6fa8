"""New requests as server-sent events, for a list that is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable

import msgspec

from dragoman.gateway.callers.caller import Caller, Refused
from dragoman.gateway.callers.identification import identify
from dragoman.gateway.http.inbound import Inbound
from dragoman.gateway.live_config import LiveConfig
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.services import Services
from dragoman.store.contracts.ledger import LedgerQuery
from dragoman.store.ledger_entry import Entry
from dragoman.store.ledger_views import RequestRow, request_row

SECONDS = 0.4
"""Between two looks. What comes in between is sent together."""
HEARTBEAT = 30
"""Looks without news until a sign of life is sent."""
MOST_ROWS = 200
"""Of one event. Who misses some sees them when the list is loaded again."""


class LiveRows(msgspec.Struct, frozen=True):
    """The newest rows, and how many are not among them."""

    requests: tuple[RequestRow, ...]
    missed: int = 0


async def live_requests(request: ServedRequest) -> AsyncGenerator[bytes]:
    """The events, until the gateway shuts down or the key is revoked."""
    services = request.services
    alone = services.live.config.server.workers == 1
    news = _news(services) if alone else _news_of_all_workers(services, request.caller)
    quiet = 0
    yield b"retry: 2000\n\n"
    async for entries, missed in news:
        quiet = 0 if entries else quiet + 1
        if entries:
            yield _event(entries, missed)
        elif quiet >= HEARTBEAT:
            quiet = 0
            yield b":\n\n"
        if not quiet and not _is_welcome(services.live, request.inbound):
            return


def _event(entries: Iterable[Entry], missed: int) -> bytes:
    return b"data: " + msgspec.json.encode(LiveRows(tuple(map(request_row, entries)), missed)) + b"\n\n"


def _is_welcome(live: LiveConfig, inbound: Inbound) -> bool:
    try:
        return identify(live, inbound).admin
    except Refused:
        return False


async def _news(services: Services) -> AsyncGenerator[tuple[list[Entry], int]]:
    recent = services.records.recent
    count = recent.count
    while not services.traffic.closing:
        await asyncio.sleep(SECONDS)
        new = recent.since(count)[-MOST_ROWS:]
        missed = recent.count - count - len(new)
        count = recent.count
        yield new, missed


async def _news_of_all_workers(services: Services, caller: Caller) -> AsyncGenerator[tuple[list[Entry], int]]:
    """Other workers' requests are in the ledger a moment later."""
    since = services.clocks.wall()
    seen: dict[str, None] = {}
    while not services.traffic.closing:
        await asyncio.sleep(SECONDS)
        query = LedgerQuery(since=since - 2.0, limit=MOST_ROWS)
        page = await services.store.ledger.recent(caller, query)
        new = [entry for entry in reversed(page.entries) if entry.id not in seen]
        seen = dict.fromkeys(entry.id for entry in page.entries)
        since = max([since, *(entry.time for entry in new)])
        yield new, 0
