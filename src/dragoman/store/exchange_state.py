"""What an exchange asks of the store: lessons about targets, how models count, and state that clients cannot carry."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from secrets import token_bytes
from typing import Generic, TypeVar

import msgspec

from dragoman.conversation.parts import OURS
from dragoman.engine.compile.reasoning_restore import KeptParts
from dragoman.engine.exchange.corrections import Patch
from dragoman.engine.exchange.destination import D, Destination
from dragoman.engine.exchange.lesson_book import CorrectedTargets, LessonRecord, remember
from dragoman.engine.exchange.lessons import Learnt
from dragoman.engine.exchange.steps import Recall, Recalled, StateToKeep
from dragoman.engine.history.calibration import AS_ESTIMATED, ENOUGH, TokenScale, observe_count
from dragoman.engine.history.compaction import PrefixSummary
from dragoman.engine.history.cuts import Cut
from dragoman.engine.history.sent_prompts import SentBefore, SentPrompts
from dragoman.profiles.profile import Target, merge
from dragoman.store.contracts.lesson_records import LessonRecords
from dragoman.store.contracts.reasoning_vault import StateOwner
from dragoman.store.contracts.summaries import Summary, SummaryKind
from dragoman.store.store import Store

T = TypeVar("T")
_MOST_COUNTED, _ONE_IN = 4096, 256
"""Destinations whose requests are numbered, and of how many requests one is looked at once the first are known."""


class StoredState(Generic[D]):
    """Lessons and kept state, in the store."""

    def __init__(self, store: Store, tell: Callable[[D, Learnt, str], None]) -> None:
        """`tell` is called with every lesson that is learnt, and the id of the request that taught it."""
        self._vault = store.vault
        self._lessons = store.lessons
        self._summaries = store.summaries
        self._calibrations = store.calibrations
        self._answers = 0
        self._counted: dict[str, int] = {}
        self._tell = tell
        self._targets = CorrectedTargets()
        self._sent = SentPrompts(time.monotonic)
        self._secrets = store.secrets
        self._secret = b""

    def correct(self, destination: Destination, caller: str) -> tuple[Target, tuple[str, ...]]:
        """The destination's target with what has been learnt about it, and the names of the lessons that hold."""
        records = self._lessons.find(destination.name)
        if not records:
            return destination.target, ()
        now = time.time()
        target = self._targets.correct(destination.name, destination.target, records, caller, now)
        return target, tuple([record.name for record in records if record.holds(caller, now)])

    async def learn(self, destination: D, learnt: Learnt, caller: str, request_id: str) -> None:
        name, known = destination.name, self._lessons.find(destination.name)
        for record in remember(known, learnt, target=name, caller=caller, request_id=request_id, now=time.time()):
            await self._lessons.put(record)
        self._tell(destination, learnt, request_id)

    async def recall(self, caller: str, wanted: Recall) -> Recalled:
        """What was kept for this caller."""
        kept: Mapping[str, KeptParts] = {}
        if wanted.provider:
            kept = await self._vault.find(StateOwner(caller, wanted.provider, wanted.scope), wanted.keys)
        runs = await self._vault.find(_owner_of_runs(caller), wanted.runs) if wanted.runs else {}
        sent = self._sent.note(caller, wanted.prompt) if wanted.prompt is not None else SentBefore.UNKNOWN
        session = await self._name_session(caller, wanted.session) if wanted.session else ""
        if wanted.cuts is None and not wanted.summaries:
            return Recalled(kept, sent_before=sent, runs=runs, session=session)
        summary = await self._find(caller, wanted.summaries, PrefixSummary)
        cut = await self._find(caller, wanted.cuts(summary), Cut) if wanted.cuts is not None else None
        scale = self.token_scale(wanted.calibration) if wanted.calibration else AS_ESTIMATED
        return Recalled(kept, summary, cut[1] if cut is not None else None, scale, sent, runs=runs, session=session)

    async def _name_session(self, caller: str, session: str) -> str:
        """A name that is the same for all turns, workers and replicas, and tells neither the caller nor its session."""
        if not self._secret:
            self._secret = await self._secrets.agree("sessions", token_bytes(32))
        return blake2b(f"{caller}\0{session}".encode("utf-8", "replace"), digest_size=16, key=self._secret).hexdigest()

    async def _find(self, caller: str, keys: Iterable[str], kind: type[T]) -> tuple[str, T] | None:
        """The first of its kind that was kept, and its key."""
        found = await self._summaries.find(caller, keys)
        value = None if found is None else _readable(found[1], kind)
        return None if found is None or value is None else (found[0], value)

    async def keep(self, caller: str, state: StateToKeep) -> None:
        """Keep it for this caller's next turn."""
        if state.states:
            await self._vault.put(StateOwner(caller, state.provider, state.scope), state.states)
        if state.runs:
            await self._vault.put(_owner_of_runs(caller), state.runs)
        if state.cut is not None:
            key, cut = state.cut
            await self._summaries.put(caller, key, Summary(SummaryKind.CUT, msgspec.json.encode(cut)))
        if state.calibration and state.count is not None and self._wants_count(state.calibration):
            counted = state.count()
            if counted is not None:
                known = self._calibrations.find(state.calibration)
                self._calibrations.put(state.calibration, observe_count(known, counted))

    async def keep_summary(self, caller: str, key: str, summary: PrefixSummary) -> None:
        """Keep a summary, unless there is one already."""
        await self._summaries.put(caller, key, Summary(SummaryKind.SUMMARY, msgspec.json.encode(summary)))

    def token_scale(self, key: str) -> TokenScale:
        """How a model counts, by what was reported so far."""
        known = self._calibrations.find(key)
        return AS_ESTIMATED if known is None else known.scale()

    def wants_count(self, destination: Destination) -> bool:
        """Whether it is of use to know how one more request was counted: the first ones, and later one in many."""
        if len(self._counted) > _MOST_COUNTED:
            self._counted.clear()
        count = self._counted[destination.name] = self._counted.get(destination.name, 0) + 1
        return count <= 2 * ENOUGH or count % _ONE_IN == 0

    def _wants_count(self, key: str) -> bool:
        """Whether one more count of this model would be of use: once it is known well, one in sixteen is enough."""
        known = self._calibrations.find(key)
        self._answers += 1
        return known is None or known.count < ENOUGH or self._answers % ENOUGH == 0

    async def records(self) -> tuple[LessonRecord, ...]:
        """All that is known, in order of target and name."""
        return await self._lessons.all()

    async def forget(self, target: str | None, name: str | None) -> int:
        """Forget the lessons of a target, or of all; of one name, or all. How many there were."""
        return await forget_lessons(self._lessons, target, name)

    async def lessons(self) -> dict[str, Patch]:
        """What holds for everybody, by target, as facts for a profile."""
        return await self._find_believed(confirmed=True)

    async def tentative_lessons(self) -> dict[str, Patch]:
        """What waits for another request to confirm it, by target."""
        return await self._find_believed(confirmed=False)

    async def _find_believed(self, confirmed: bool) -> dict[str, Patch]:
        found = [one for one in await self._lessons.all() if one.confirmed is confirmed]
        facts: dict[str, Patch] = {}
        for one in sorted(found, key=lambda record: record.learnt):
            facts[one.target] = merge(facts.get(one.target, {}), one.facts)
        return facts


def _owner_of_runs(caller: str) -> StateOwner:
    """What the gateway ran belongs to no provider."""
    return StateOwner(caller, OURS.dialect, "")


def _readable(kept: Summary, kind: type[T]) -> T | None:
    """What was kept, as this version writes it; what another version kept is as good as lost."""
    try:
        return msgspec.json.decode(kept.value, type=kind)
    except msgspec.DecodeError:
        return None


async def forget_lessons(lessons: LessonRecords, target: str | None, name: str | None) -> int:
    """Forget the lessons of a target, or of all; of one name, or all. How many there were."""
    found = [one for one in await lessons.all() if target in (None, one.target) and name in (None, one.name)]
    for one in {(record.target, record.name) for record in found}:
        await lessons.forget(*one)
    return len(found)
