"""What a gateway remembers beyond a request: lessons about targets, and state that clients cannot carry.

Everything that an exchange wants of the store is asked for here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import msgspec

from dragoman.engine.lesson_book import CorrectedTargets, LessonBook, Remembered, remember
from dragoman.engine.lessons import Learnt, Patch
from dragoman.engine.reasoning_restore import Kept, pack, unpack
from dragoman.engine.steps import Recall, ToKeep
from dragoman.profiles.profile import Target, merge
from dragoman.store import Shelf, Store
from dragoman.upstream.destinations import HttpDestination

KIND = "reasoning"
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[Remembered]).decode


class StoredMemory:
    """Lessons are held in this process and written through; kept state lies in the store. `tell` is called with every
    lesson that is learnt."""

    def __init__(self, store: Store, tell: Callable[[HttpDestination, Learnt], None]) -> None:
        self._store = store
        self._tell = tell
        self._book = LessonBook(one for page in store.remembered(Shelf.LESSONS).values() for one in _page(page))
        self._targets = CorrectedTargets()

    async def corrected(self, destination: HttpDestination, caller: str) -> Target:
        """The destination's target with what has been learnt about it."""
        records = self._book.find(destination.name)
        if not records:
            return destination.target
        return self._targets.correct(destination.name, destination.target, records, caller, time.time())

    async def learn(self, destination: HttpDestination, learnt: Learnt, caller: str, request_id: str) -> None:
        name, known = destination.name, self._book.find(destination.name)
        for record in remember(known, name, learnt, caller, request_id, time.time()):
            self._book.put(record)
        self._store.remember(Shelf.LESSONS, name, _encode(self._book.find(name)))
        self._tell(destination, learnt)

    async def recall(self, caller: str, wanted: Recall) -> Mapping[str, Kept]:
        """What was kept for this caller."""
        if not self._store.config.vault.enabled:
            return {}
        held = self._store.fetch(caller, wanted.provider, wanted.scope, wanted.keys)
        return {key: unpack(kept.value) for key, kept in held.items()}

    async def keep(self, caller: str, state: ToKeep) -> None:
        """Keep state for this caller's next turn."""
        for key, parts in state.states.items():
            self._store.keep(caller, state.provider, state.scope, key, pack(parts), KIND)

    async def lessons(self) -> dict[str, Patch]:
        """What holds for everybody, by target, as facts for a profile."""
        return self._believed(confirmed=True)

    async def tentative_lessons(self) -> dict[str, Patch]:
        """What waits for another request to confirm it, by target."""
        return self._believed(confirmed=False)

    def _believed(self, confirmed: bool) -> dict[str, Patch]:
        now, found = time.time(), [one for one in self._book.all() if one.confirmed is confirmed]
        pages: dict[str, Patch] = {}
        for one in sorted(found, key=lambda record: record.learnt):
            if now < one.expires:
                pages[one.target] = merge(pages.get(one.target, {}), one.facts)
        return pages


def _page(page: bytes) -> list[Remembered]:
    """A stored page; one that cannot be read teaches nothing."""
    try:
        return _decode(page)
    except msgspec.DecodeError:
        return []
