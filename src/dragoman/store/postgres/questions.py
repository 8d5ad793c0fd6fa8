"""Questions about the ledger as statements with their values."""

from __future__ import annotations

from datetime import UTC, date, datetime

from msgspec import Struct

from dragoman.store.contracts.ledger import LedgerQuery, position_of
from dragoman.store.ledger_entry import By, Viewer
from dragoman.store.near_ledger import PAGE_BYTES
from dragoman.store.postgres.rows import searchable

_ONE = "SELECT entry FROM dragoman_requests WHERE id = $1 AND time >= $2 ORDER BY time DESC LIMIT 1"
_FORGET = (
    "WITH gone AS (DELETE FROM dragoman_requests WHERE caller = $1 RETURNING 1) SELECT count(*) AS requests FROM gone"
)
_PAGE = """
SELECT entry, found FROM (
    SELECT entry, row_number() OVER newest AS number, sum(octet_length(entry)) OVER newest AS size,
        count(*) OVER () AS found
    FROM (SELECT time, id, entry FROM dragoman_requests WHERE {where} ORDER BY time DESC, id DESC LIMIT {limit}) page
    WINDOW newest AS (ORDER BY time DESC, id DESC)
) sized WHERE number = 1 OR size <= {bytes} ORDER BY number"""
_TOTALS = """
SELECT {group} AS name, count(*) AS requests, count(*) FILTER (WHERE failed) AS errors, sum(input) AS input_tokens,
    sum(output) AS output_tokens, sum(cached) AS cached_tokens, sum(reasoning) AS reasoning_tokens,
    sum(seconds) AS seconds, sum(cost) AS cost, count(*) FILTER (WHERE estimated) AS estimated,
    sum(estimated_cost) AS estimated_cost, count(*) FILTER (WHERE unpriced) AS unpriced
FROM dragoman_requests WHERE {where} GROUP BY {group} ORDER BY count(*) DESC, {group}"""
_GROUPS = {By.TARGET: "target", By.CALLER: "caller", By.ASKED: "asked", By.DAY: "day"}


class Statement(Struct, frozen=True):
    """Its text and its values."""

    text: str
    values: tuple[object, ...]


class _Values:
    """Values, each with its place in the statement."""

    def __init__(self) -> None:
        self.all: list[object] = []

    def place(self, value: object) -> str:
        self.all.append(value)
        return f"${len(self.all)}"


def one(request_id: str, oldest: float) -> Statement:
    return Statement(_ONE, (searchable(request_id), oldest))


def forget(caller: str) -> Statement:
    return Statement(_FORGET, (searchable(caller),))


def page(viewer: Viewer, query: LedgerQuery, oldest: float) -> Statement:
    """One entry more than a page has, so that it is known whether there are more."""
    values = _Values()
    where = _where(viewer, query, oldest, values)
    position = position_of(query.after)
    if position is not None:
        where += f" AND (time, id) < ({values.place(position[0])}, {values.place(searchable(position[1]))})"
    limit, size = values.place(query.page_size() + 1), values.place(PAGE_BYTES)
    return Statement(_PAGE.format(where=where, limit=limit, bytes=size), tuple(values.all))


def totals(viewer: Viewer, by: By, query: LedgerQuery, oldest: float) -> Statement:
    values = _Values()
    where = _where(viewer, query, oldest, values)
    return Statement(_TOTALS.format(group=_GROUPS[by], where=where), tuple(values.all))


def _where(viewer: Viewer, query: LedgerQuery, oldest: float, values: _Values) -> str:
    since = max(oldest, query.since or 0.0)
    wanted = [f"time >= {values.place(since)}"]
    if query.since is not None:  # whole days are left out without a look
        wanted.append(f"shelf >= {values.place(_first_shelf(since))}")
    if query.until is not None:
        wanted.append(f"time < {values.place(query.until)}")
    if query.failed is not None:
        wanted.append(f"failed = {values.place(query.failed)}")
    named = {"caller": query.caller, "target": query.target, "asked": query.asked}
    wanted += [f"{name} = {values.place(searchable(one))}" for name, one in named.items() if one is not None]
    if not viewer.admin:
        wanted.append(f"caller = {values.place(searchable(viewer.name))}")
    return " AND ".join(wanted)


def _first_shelf(since: float) -> date:
    """The day before: an entry of tomorrow's clock is on the shelf of today."""
    return datetime.fromtimestamp(max(since - 2 * 86_400.0, 0.0), UTC).date()
