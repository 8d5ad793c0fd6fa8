"""The ledger over HTTP: what was used and what it cost, and which requests there were."""

from __future__ import annotations

import time
from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.errors import near_match
from dragoman.gateway.callers.caller import Refused
from dragoman.gateway.http.inbound import Inbound
from dragoman.gateway.served_request import ServedRequest
from dragoman.store.cache_report import cache_report
from dragoman.store.contracts.ledger import LARGEST_PAGE, Ledger, LedgerPage, LedgerQuery, cursor_of
from dragoman.store.ledger_entry import Entry, Viewer
from dragoman.store.ledger_views import GROUPS, STATES, RequestPage, has_rule, parse_since, request_row, usage_report

USAGE_PARAMETERS = frozenset({"by", "since", "key"})
CACHE_PARAMETERS = frozenset({"since", "key"})
REQUEST_PARAMETERS = frozenset({"key_name", "model", "target", "status", "since", "limit", "after", "key", "rule"})
MOST_LOOKED_AT = 5000
"""Requests that one page by rule looks through. The ledger has no index of rules."""


async def usage(request: ServedRequest) -> None:
    """Totals by `?by=key|model|day|target` `&since=7d`, for admins."""
    query = _query(request.inbound, USAGE_PARAMETERS)
    by, since = query.get("by", "model"), _since(query)
    if by not in GROUPS:
        raise _bad(f'usage cannot be grouped by "{by[:40]}"; use {", ".join(GROUPS)}', "by")
    groups = await request.services.store.ledger.totals(request.caller, GROUPS[by], LedgerQuery(since=since))
    report = usage_report(by, since, groups, request.services.live.config.store.keep_requests)
    await request.outbound.whole(200, msgspec.json.encode(report))


async def cache(request: ServedRequest) -> None:
    """What prompt caches saved and lost, by day, model and session, `?since=7d`, for admins."""
    since = _since(_query(request.inbound, CACHE_PARAMETERS))
    report = await cache_report(request.services.store.ledger, request.caller, since)
    await request.outbound.whole(200, msgspec.json.encode(report))


async def requests(request: ServedRequest) -> None:
    """A page of the caller's requests, newest first; of all requests for admins."""
    query = _query(request.inbound, REQUEST_PARAMETERS)
    status = query.get("status")
    if status is not None and status not in STATES:
        raise _bad(f'a status is {" or ".join(STATES)}, and not "{status[:40]}"', "status")
    asked = LedgerQuery(
        since=_since(query),
        caller=query.get("key_name"),
        target=query.get("target"),
        asked=query.get("model"),
        failed=STATES[status] if status is not None else None,
        limit=_limit(query),
        after=query.get("after"),
    )
    page = await _page(request.services.store.ledger, request.caller, asked, query.get("rule"))
    shown = RequestPage(tuple(map(request_row, page.entries)), page.next)
    await request.outbound.whole(200, msgspec.json.encode(shown))


async def _page(ledger: Ledger, caller: Viewer, asked: LedgerQuery, rule: str | None) -> LedgerPage:
    """A page of the ledger. One by rule may be short, or empty, and yet have a next one."""
    if rule is None:
        return await ledger.recent(caller, asked)
    found: list[Entry] = []
    wider = replace(asked, limit=LARGEST_PAGE)
    for _ in range(0, MOST_LOOKED_AT, LARGEST_PAGE):
        page = await ledger.recent(caller, wider)
        found += [entry for entry in page.entries if has_rule(entry, rule)]
        if len(found) > asked.page_size():
            return LedgerPage(tuple(found[: asked.page_size()]), cursor_of(found[asked.page_size() - 1]))
        if page.next is None:
            return LedgerPage(tuple(found))
        wider = replace(wider, after=page.next)
    return LedgerPage(tuple(found), wider.after)


def _query(inbound: Inbound, known: frozenset[str]) -> Mapping[str, str]:
    """The parameters. One that is misspelt would widen the answer in silence."""
    query = inbound.query
    for name in query:
        if name not in known:
            raise _bad(f'there is no parameter "{name[:40]}". {near_match(name[:40], sorted(known - {"key"}))}', name)
    return query


def _since(query: Mapping[str, str]) -> float | None:
    text = query.get("since")
    try:
        return parse_since(text, time.time()) if text is not None else None
    except ValueError as fault:
        raise _bad(str(fault), "since") from None


def _limit(query: Mapping[str, str]) -> int:
    text = query.get("limit", "50")
    if not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise _bad(f'"{text[:40]}" is no number of requests', "limit")
    return int(text)


def _bad(message: str, parameter: str) -> Refused:
    return Refused(Failure(FailureKind.BAD_REQUEST, message, 400, param=parameter[:40]))
