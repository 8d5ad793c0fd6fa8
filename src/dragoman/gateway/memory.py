"""What a gateway remembers beyond a request: lessons about targets, how models count, and state that clients cannot
carry.

Everything that an exchange wants of the store is asked for here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import msgspec

from dragoman.engine.history.calibration import AS_ESTIMATED, ENOUGH, CountedTokens, TokenScale, observed
from dragoman.engine.history.compaction import PrefixSummary
from dragoman.engine.history.cuts import Cut
from dragoman.engine.lesson_book import CorrectedTargets, LessonRecord, remember
from dragoman.engine.lessons import Learnt, Patch
from dragoman.engine.reasoning_restore import Kept
from dragoman.engine.steps import CutToKeep, Recall, RecallCut, RecallSummary, ToKeep
from dragoman.profiles.profile import Target, merge
from dragoman.store import StateOwner, Store
from dragoman.store.summaries import Summary, SummaryKind
from dragoman.upstream.destinations import HttpDestination


class StoredMemory:
    """Lessons and kept state, in the store. `tell` is called with every lesson that is learnt."""

    def __init__(self, store: Store, tell: Callable[[HttpDestination, Learnt], None]) -> None:
        self._vault = store.vault
        self._lessons = store.lessons
        self._summaries = store.summaries
        self._calibrations = store.calibrations
        self._answers = 0
        self._tell = tell
        self._targets = CorrectedTargets()

    def corrected(self, destination: HttpDestination, caller: str) -> Target:
        """The destination's target with what has been learnt about it."""
        records = self._lessons.find(destination.name)
        if not records:
            return destination.target
        return self._targets.correct(destination.name, destination.target, records, caller, time.time())

    def known_lessons(self, destination: HttpDestination, caller: str) -> tuple[str, ...]:
        records = self._lessons.find(destination.name)
        if not records:
            return ()
        now = time.time()
        return tuple([record.name for record in records if record.holds(caller, now)])

    async def learn(self, destination: HttpDestination, learnt: Learnt, caller: str, request_id: str) -> None:
        name, known = destination.name, self._lessons.find(destination.name)
        for record in remember(known, name, learnt, caller, request_id, time.time()):
            await self._lessons.put(record)
        self._tell(destination, learnt)

    def recall(self, caller: str, wanted: Recall) -> Coroutine[Any, Any, Mapping[str, Kept]]:
        """What was kept for this caller."""
        return self._vault.find(StateOwner(caller, wanted.provider, wanted.scope), wanted.keys)

    def keep(self, caller: str, state: ToKeep) -> Coroutine[Any, Any, None]:
        """Keep state for this caller's next turn."""
        return self._vault.put(StateOwner(caller, state.provider, state.scope), state.states)

    async def recall_summary(self, caller: str, wanted: RecallSummary) -> tuple[str, PrefixSummary] | None:
        """The summary of the beginning of this caller's conversation, and its key."""
        found = await self._summaries.find(caller, wanted.keys)
        kept = None if found is None else _readable(found[1], PrefixSummary)
        return None if found is None or kept is None else (found[0], kept)

    async def keep_summary(self, caller: str, key: str, summary: PrefixSummary) -> None:
        """Keep a summary, unless there is one already."""
        await self._summaries.put(caller, key, Summary(SummaryKind.SUMMARY, msgspec.json.encode(summary)))

    async def recall_cut(self, caller: str, wanted: RecallCut) -> Cut | None:
        """The cut of an earlier turn of this caller's conversation."""
        found = await self._summaries.find(caller, wanted.keys)
        return None if found is None else _readable(found[1], Cut)

    async def keep_cut(self, caller: str, kept: CutToKeep) -> None:
        """Keep a cut for the turns that follow."""
        await self._summaries.put(caller, kept.key, Summary(SummaryKind.CUT, msgspec.json.encode(kept.cut)))

    def token_scale(self, key: str) -> TokenScale:
        """How a model counts, by what was reported so far."""
        known = self._calibrations.find(key)
        return AS_ESTIMATED if known is None else known.scale()

    def wants_count(self, key: str) -> bool:
        """Whether one more count of this model would be of use: once it is known well, one in sixteen is enough."""
        known = self._calibrations.find(key)
        self._answers += 1
        return known is None or known.count < ENOUGH or self._answers % ENOUGH == 0

    def calibrate(self, key: str, counted: CountedTokens) -> None:
        """Take a provider's count into account."""
        self._calibrations.put(key, observed(self._calibrations.find(key), counted))

    async def records(self) -> tuple[LessonRecord, ...]:
        """All that is known, in order of target and name."""
        return await self._lessons.all()

    async def forget(self, target: str | None, name: str | None) -> int:
        """Forget the lessons of a target, or of all; of one name, or all. How many there were."""
        found = [
            record
            for record in await self._lessons.all()
            if target in (None, record.target) and name in (None, record.name)
        ]
        for one in {(record.target, record.name) for record in found}:
            await self._lessons.forget(*one)
        return len(found)

    async def lessons(self) -> dict[str, Patch]:
        """What holds for everybody, by target, as facts for a profile."""
        return await self._believed(confirmed=True)

    async def tentative_lessons(self) -> dict[str, Patch]:
        """What waits for another request to confirm it, by target."""
        return await self._believed(confirmed=False)

    async def _believed(self, confirmed: bool) -> dict[str, Patch]:
        found = [one for one in await self._lessons.all() if one.confirmed is confirmed]
        facts: dict[str, Patch] = {}
        for one in sorted(found, key=lambda record: record.learnt):
            facts[one.target] = merge(facts.get(one.target, {}), one.facts)
        return facts


T = TypeVar("T")


def _readable(kept: Summary, kind: type[T]) -> T | None:
    """What was kept, as this version writes it; what another version kept is as good as lost."""
    try:
        return msgspec.json.decode(kept.value, type=kind)
    except msgspec.DecodeError:
        return None
