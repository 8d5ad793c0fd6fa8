"""What refusals have taught, kept per target."""

from __future__ import annotations

from typing import Protocol

from dragoman.engine.exchange.lesson_book import LessonRecord


class LessonRecords(Protocol):
    """Lessons by target, name and caller.

    Whether a lesson is used, confirmed or merged with others is decided by `engine/exchange/lesson_book.py`: the store
    only keeps its records.

    Atomicity: a record is written whole or not at all; the last writer of (target, name, caller) wins.

    Consistency: when `put` or `forget` returns, this process sees it. Other workers and replicas see it within five
    seconds. `find` is asked on every request: it answers from this process's copy, and returns the same tuple until
    something about the target changes, so that you may compare by identity.

    Expiry and bounds: a record is never returned after its `expires`. At most 4,096 records are kept; those that were
    learnt first go first.

    What may be lost: everything. A lesson is learnt again from the next refusal. A restart keeps lessons if the
    backend has a file or a server.

    What a failure means: the copy of this process goes on being used, and the failure is counted. No request fails.
    """

    def find(self, target: str) -> tuple[LessonRecord, ...]:
        """All live records of a target, in order of name and caller. Never waits."""

    async def put(self, record: LessonRecord) -> None:
        """Keep a record in place of the one with its target, name and caller."""

    async def forget(self, target: str, name: str | None = None) -> None:
        """Remove a target's records: those of one name, or all."""

    async def all(self) -> tuple[LessonRecord, ...]:
        """All live records, in order of target, name and caller."""
