"""The lessons that this process knows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dragoman.engine.exchange.lesson_book import LessonRecord
from dragoman.store.clock import Clock

MOST_LESSONS = 4096
Identity = tuple[str, str]
"""Name and caller, within a target."""


class MemoryLessons:
    """`LessonRecords` of one process. Its coroutines never wait.

    The live records of each target are ready to be handed out.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._count = 0
        self._targets: dict[str, dict[Identity, LessonRecord]] = {}
        self._ready: dict[str, tuple[tuple[LessonRecord, ...], float]] = {}

    def find(self, target: str) -> tuple[LessonRecord, ...]:
        ready = self._ready.get(target)
        if ready is None:
            return ()
        if self._clock() >= ready[1]:
            ready = self._prepare(target)
        return ready[0]

    async def put(self, record: LessonRecord) -> None:
        records = self._targets.setdefault(record.target, {})
        self._count += (record.name, record.caller) not in records
        records[record.name, record.caller] = record
        self._prepare(record.target)
        if self._count > MOST_LESSONS:
            oldest = min(self.records(), key=lambda one: one.learnt)
            self._remove(oldest)
            self._prepare(oldest.target)

    async def forget(self, target: str, name: str | None = None) -> None:
        for record in tuple(self._targets.get(target, {}).values()):
            if name is None or record.name == name:
                self._remove(record)
        self._prepare(target)

    def forget_caller(self, caller: str) -> int:
        """Remove what was learnt from a caller's requests alone; how many records."""
        found = [record for record in self.records() if caller and record.caller == caller]
        for record in found:
            self._remove(record)
            self._prepare(record.target)
        return len(found)

    async def all(self) -> tuple[LessonRecord, ...]:
        return tuple(record for target in sorted(self._ready) for record in self.find(target))

    def replace(self, records: Iterable[LessonRecord]) -> None:
        """Take these in place of all others; targets whose records stay the same keep their tuple."""
        old, self._targets = self._targets, {}
        for record in records:
            self._targets.setdefault(record.target, {})[record.name, record.caller] = record
        self._count = sum(map(len, self._targets.values()))
        for target in old.keys() | self._targets.keys():
            if old.get(target) != self._targets.get(target):
                self._prepare(target)

    def records(self) -> Iterator[LessonRecord]:
        """All records, in no order."""
        return (record for records in self._targets.values() for record in records.values())

    def _remove(self, record: LessonRecord) -> None:
        records = self._targets[record.target]
        del records[record.name, record.caller]
        self._count -= 1
        if not records:
            del self._targets[record.target]

    def _prepare(self, target: str) -> tuple[tuple[LessonRecord, ...], float]:
        """Make ready what `find` returns until the first record expires; nothing if the target has none."""
        now = self._clock()
        found = (record for _, record in sorted(self._targets.get(target, {}).items()))
        live = tuple(record for record in found if record.expires > now)
        ready = live, min((record.expires for record in live), default=float("inf"))
        if live:
            self._ready[target] = ready
        else:
            self._ready.pop(target, None)
        return ready
