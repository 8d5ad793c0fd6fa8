"""Entries as rows, and the statements that write them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

import msgspec

from dragoman.store.ledger_entry import Entry

COLUMNS = (
    *("shelf", "id", "time", "day", "caller", "target", "asked", "failed", "input", "output", "cached", "reasoning"),
    *("seconds", "cost", "estimated", "estimated_cost", "unpriced", "entry"),
)
_NAMES = ", ".join(COLUMNS)
_NEW = ", ".join(f"{name} = EXCLUDED.{name}" for name in COLUMNS[2:])
ARRIVING = "CREATE TEMP TABLE IF NOT EXISTS dragoman_arriving (LIKE dragoman_requests) ON COMMIT DELETE ROWS"
TAKE_IN = (
    f"INSERT INTO dragoman_requests ({_NAMES}) SELECT {_NAMES} FROM dragoman_arriving "  # noqa: S608 (our own names)
    f"ON CONFLICT (shelf, id) DO UPDATE SET {_NEW}"
)
_PREFIX = "dragoman_requests_"

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Entry).decode

Values = tuple[object, ...]


class Shelves:
    """Which partition an entry is in: that of its day, unless a broken clock dated it outside of what is kept."""

    def __init__(self, now: float, keep_days: float) -> None:
        today = _day(now)
        self.first = _day(max(now - keep_days * 86_400.0, 0.0))
        self.last = today + timedelta(days=1)

    def of(self, time: float) -> date:
        return min(max(_day(time), self.first), self.last)


def row(entry: Entry, record: bytes, shelves: Shelves) -> Values:
    """The values of an entry, in the order of the columns."""
    return (
        shelves.of(entry.time),
        searchable(entry.id),
        entry.time,
        entry.day,
        searchable(entry.caller),
        searchable(entry.target),
        searchable(entry.asked),
        entry.failed,
        entry.input_tokens,
        entry.output_tokens,
        entry.cached_tokens,
        entry.reasoning_tokens,
        entry.duration,
        entry.cost or 0.0,
        entry.estimated,
        entry.estimated_cost,
        entry.unpriced,
        record,
    )


def latest_of_each(rows: Iterable[Values]) -> list[Values]:
    """An id that comes twice in one batch counts once: PostgreSQL takes no row twice in a statement."""
    return list({one[:2]: one for one in rows}.values())


def searchable(text: str) -> str:
    """A text as a column takes it. The entry itself is kept as it is."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}") if "\0" in text else text


def partition(shelf: date) -> str:
    """The statement that makes a day's partition."""
    name, until = f"{_PREFIX}{shelf:%Y%m%d}", shelf + timedelta(days=1)
    return (
        f"CREATE TABLE IF NOT EXISTS {name} PARTITION OF dragoman_requests "
        f"FOR VALUES FROM ('{shelf.isoformat()}') TO ('{until.isoformat()}')"
    )


def shelf_of_partition(name: str) -> date | None:
    """The day of a partition, by its name."""
    try:
        return datetime.strptime(name.removeprefix(_PREFIX), "%Y%m%d").date()
    except ValueError:
        return None


def _day(time: float) -> date:
    return datetime.fromtimestamp(int(time), UTC).date()
