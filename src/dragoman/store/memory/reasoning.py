"""The vault of one process, without a loop: for the synchronous SDK transport."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping

from dragoman.config.schema import Vault
from dragoman.store.clock import Clock
from dragoman.store.memory.expiring_map import ExpiringMap
from dragoman.store.reasoning_vault import Parts, StateOwner
from dragoman.store.table_backed import REASONING, vault_bounds, vault_place


class ReasoningMemory:
    """`ReasoningVault` as plain calls. Threads may share it."""

    def __init__(self, vault: Vault, clock: Clock = time.time) -> None:
        self._map: ExpiringMap[Parts] = ExpiringMap(vault_bounds(vault), REASONING.weigh, clock)

    def put(self, owner: StateOwner, entries: Mapping[str, Parts]) -> None:
        self._map.put(owner.caller, vault_place(owner), entries)

    def find(self, owner: StateOwner, keys: Iterable[str]) -> Mapping[str, Parts]:
        return self._map.find(owner.caller, vault_place(owner), keys)
