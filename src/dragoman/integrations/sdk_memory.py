"""What one transport remembers, in this process: lessons about its targets, and state that the SDK cannot carry."""

from __future__ import annotations

import time
from collections.abc import Mapping
from threading import Lock

from dragoman.config.schema import Vault
from dragoman.engine.lesson_book import CorrectedTargets, remember
from dragoman.engine.lessons import Learnt
from dragoman.engine.reasoning_restore import Kept
from dragoman.engine.steps import Recall, ToKeep
from dragoman.profiles.profile import Target
from dragoman.store import LessonMemory, ReasoningMemory, StateOwner
from dragoman.upstream.destinations import HttpDestination

OWNER = ""
"""A transport has one caller: the code that made it."""


class SdkMemory:
    """Answers at once, so that a synchronous transport can ask it. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._vault = ReasoningMemory(Vault())
        self._lessons = LessonMemory(time.time)
        self._targets = CorrectedTargets()

    def corrected(self, destination: HttpDestination) -> Target:
        """The destination's target with what has been learnt about it."""
        with self._lock:
            records = self._lessons.find(destination.name)
            return self._targets.correct(destination.name, destination.target, records, OWNER, time.time())

    def learn(self, destination: HttpDestination, learnt: Learnt, request_id: str) -> None:
        with self._lock:
            known = self._lessons.find(destination.name)
            for record in remember(known, destination.name, learnt, OWNER, request_id, time.time()):
                self._lessons.put(record)

    def recall(self, wanted: Recall) -> Mapping[str, Kept]:
        return self._vault.find(StateOwner(OWNER, wanted.provider, wanted.scope), wanted.keys)

    def keep(self, state: ToKeep) -> None:
        self._vault.put(StateOwner(OWNER, state.provider, state.scope), state.states)
