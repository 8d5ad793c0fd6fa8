"""What one transport remembers, in this process: lessons about its targets, and state that the SDK cannot carry."""

from __future__ import annotations

import time
from collections.abc import Coroutine, Mapping
from threading import Lock
from typing import Any, TypeVar

from dragoman.config.schema.store import StoreConfig
from dragoman.engine.compile.reasoning_restore import KeptParts
from dragoman.engine.exchange.lesson_book import CorrectedTargets, remember
from dragoman.engine.exchange.lessons import Learnt
from dragoman.engine.exchange.steps import Recall, StateToKeep
from dragoman.profiles.profile import Target
from dragoman.store.contracts.reasoning_vault import StateOwner
from dragoman.store.memory.store import MemoryStore
from dragoman.upstream.destinations import HttpDestination

Result = TypeVar("Result")
OWNER = ""
"""A transport has one caller: the code that made it."""


class SdkState:
    """Answers at once, so that a synchronous transport can ask it. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._store = MemoryStore(StoreConfig())
        self._targets = CorrectedTargets()

    def corrected(self, destination: HttpDestination) -> Target:
        """The destination's target with what has been learnt about it."""
        with self._lock:
            records = self._store.lessons.find(destination.name)
            return self._targets.correct(destination.name, destination.target, records, OWNER, time.time())

    def learn(self, destination: HttpDestination, learnt: Learnt, request_id: str) -> None:
        with self._lock:
            known = self._store.lessons.find(destination.name)
            for record in remember(
                known, learnt, target=destination.name, caller=OWNER, request_id=request_id, now=time.time()
            ):
                _finish(self._store.lessons.put(record))

    def recall(self, wanted: Recall) -> Mapping[str, KeptParts]:
        return _finish(self._store.vault.find(StateOwner(OWNER, wanted.provider, wanted.scope), wanted.keys))

    def keep(self, state: StateToKeep) -> None:
        _finish(self._store.vault.put(StateOwner(OWNER, state.provider, state.scope), state.states))


def _finish(work: Coroutine[Any, Any, Result]) -> Result:
    """The result of a coroutine of the memory store, which never waits."""
    try:
        work.send(None)
    except StopIteration as end:
        result: Result = end.value
        return result
    raise AssertionError("memory does not wait")
