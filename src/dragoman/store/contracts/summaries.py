"""Summaries and cuts: what was made of the beginning of a long conversation, so that it is made once."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from enum import StrEnum
from typing import Any

from msgspec import Struct

from dragoman.store.contracts.expiring_table import ExpiringTable

_NO_PLACE = ""


class SummaryKind(StrEnum):
    """What is kept of a prefix."""

    SUMMARY = "summary"
    """The text that stands for it."""
    CUT = "cut"
    """How it was trimmed."""


class Summary(Struct, frozen=True):
    """What stands for a prefix."""

    kind: SummaryKind
    value: bytes
    """Opaque to the store."""


class Summaries:
    """Summaries by caller and digest of the prefix that they stand for.

    Isolation: the caller is part of every key.

    Atomicity: the first writer wins, everywhere. `put` returns what is kept, which is another worker's summary if
    that was first. Turns and replicas therefore agree, and a conversation's prefix stays the same bytes.

    Consistency: when `put` returns, all workers and replicas find the same summary.

    Expiry and bounds: a summary is forgotten a week after its last use. Entries and bytes are bounded; the least
    recently used goes first.

    What may be lost: everything. A lost summary is made again, and may differ; a restart keeps summaries if the
    backend has a file or a server.

    What a failure means: a `find` that fails finds nothing, and a `put` that fails returns the caller's own summary.
    Both are counted. No request fails.
    """

    def __init__(self, table: ExpiringTable[Summary]) -> None:
        self._table = table

    def put(self, caller: str, digest: str, summary: Summary) -> Coroutine[Any, Any, Summary]:
        """Keep a summary unless there is one; the one that is kept."""
        return self._table.put_first(caller, _NO_PLACE, digest, summary)

    async def find(self, caller: str, digests: Iterable[str]) -> tuple[str, Summary] | None:
        """The first of these digests that has a summary, and the summary. Name the longest prefix first."""
        found = await self._table.find(caller, _NO_PLACE, digests)
        return next(iter(found.items()), None)
