"""The vault, pins, summaries, responses, leases and secrets on top of a backend's table of expiring values."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dragoman.config.schema.state import StateConfig
from dragoman.config.schema.store import StoreConfig, Vault
from dragoman.conversation.parts import Opaque, Part, Reasoning
from dragoman.engine.compile.reasoning_restore import pack, unpack
from dragoman.store.clock import Clock
from dragoman.store.contracts.expiring_table import Bounds, ExpiringTable
from dragoman.store.contracts.leases import Lease
from dragoman.store.contracts.pins import Pin, PinOwner
from dragoman.store.contracts.reasoning_vault import Parts, StateOwner
from dragoman.store.contracts.stored_responses import MOST_BYTES, StoredResponse
from dragoman.store.contracts.summaries import Summary
from dragoman.store.settings import StoreSettings, state_of

Value = TypeVar("Value")
DAY = 86_400.0
SEPARATOR = "\x1f"
_NO_PLACE = ""
_NO_CALLER = ""
_ONLY = "-"
_ITEMS = "items"
_encode = msgspec.msgpack.Encoder().encode


class TableKind(Struct, Generic[Value], frozen=True):
    """A table of one backend."""

    name: str
    encode: Callable[[Value], bytes]
    """How a value is written as bytes."""
    decode: Callable[[bytes], Value]
    """How it is read."""
    weigh: Callable[[Value], int]
    """How many bytes it counts for."""
    fresh: float
    """Seconds that a worker may answer from its copy of a value that another worker may have changed."""
    sweep_every: int = 1024
    """Writes between two sweeps; a file may hold so many entries more than the bounds say."""
    waits: bool = False
    """Whether what is put is in the file before its caller goes on."""


def _parts_weight(parts: Parts) -> int:
    return sum(map(_part_weight, parts))


def _part_weight(part: Part) -> int:
    if isinstance(part, Opaque):
        return len(part.json)
    assert isinstance(part, Reasoning)  # nothing else is kept
    text = len(part.text.literal) if part.text is not None else 0
    return text + (len(part.state.json) if part.state is not None else 0)


FOREVER = float("inf")
REASONING: TableKind[Parts] = TableKind("reasoning", pack, unpack, _parts_weight, FOREVER)
PINS: TableKind[Pin] = TableKind("pins", _encode, msgspec.msgpack.Decoder(Pin).decode, lambda pin: len(pin.target), 2.0)
SUMMARIES: TableKind[Summary] = TableKind(
    "summaries", _encode, msgspec.msgpack.Decoder(Summary).decode, lambda summary: len(summary.value), FOREVER
)
RESPONSES: TableKind[StoredResponse] = TableKind(
    "responses",
    _encode,
    msgspec.msgpack.Decoder(StoredResponse).decode,
    weigh=lambda response: response.size,
    fresh=2.0,
    sweep_every=64,
    waits=True,
)
LEASES: TableKind[Lease] = TableKind(
    "leases", _encode, msgspec.msgpack.Decoder(Lease).decode, lambda lease: len(lease.holder), 0.0
)
MOST_TURNS = 1_000_000
"""What is kept of conversations is bounded by its bytes."""
SECRETS: TableKind[bytes] = TableKind("secrets", bytes, bytes, len, FOREVER)
PIN_BOUNDS = Bounds(per_caller=4096, entries=65_536, max_bytes=32 << 20, ttl=DAY)
LEASE_BOUNDS = Bounds(per_caller=4096, entries=4096, max_bytes=1 << 20, ttl=3600.0)
SECRET_BOUNDS = Bounds(per_caller=16, entries=16, max_bytes=4096, ttl=3650 * DAY)
SUMMARY_BOUNDS = Bounds(per_caller=4096, entries=16_384, max_bytes=128 << 20, ttl=7 * DAY)


def vault_bounds(vault: Vault) -> Bounds:
    return Bounds(vault.per_caller, vault.entries, vault.max_bytes, vault.ttl)


def response_bounds(state: StateConfig) -> Bounds:
    return Bounds(MOST_TURNS, MOST_TURNS, state.bytes(), state.seconds(), state.key_bytes())


class TableVault:
    """The vault; see `ReasoningVault`. It keeps and finds nothing while `store.vault.enabled` is off."""

    def __init__(self, table: ExpiringTable[Parts], settings: StoreSettings) -> None:
        self._table = table
        self._settings = settings

    async def put(self, owner: StateOwner, entries: Mapping[str, Parts]) -> None:
        if self._settings.config.vault.enabled:
            await self._table.put(owner.caller, owner.provider + SEPARATOR + owner.scope, entries)

    def find(self, owner: StateOwner, keys: Iterable[str]) -> Coroutine[Any, Any, Mapping[str, Parts]]:
        place = owner.provider + SEPARATOR + owner.scope
        return self._table.find(owner.caller, place, keys if self._settings.config.vault.enabled else ())


class TablePins:
    """Pins; see `Pins`."""

    def __init__(self, table: ExpiringTable[Pin]) -> None:
        self._table = table

    async def put(self, owner: PinOwner, pins: Mapping[str, Pin]) -> None:
        await self._table.put(owner.caller, owner.session, pins)

    def find(self, owner: PinOwner, keys: Iterable[str]) -> Coroutine[Any, Any, Mapping[str, Pin]]:
        return self._table.find(owner.caller, owner.session, keys)

    def forget(self, owner: PinOwner) -> Coroutine[Any, Any, None]:
        return self._table.forget(owner.caller, owner.session)


class TableSummaries:
    """Summaries; see `Summaries`."""

    def __init__(self, table: ExpiringTable[Summary]) -> None:
        self._table = table

    def put(self, caller: str, digest: str, summary: Summary) -> Coroutine[Any, Any, Summary]:
        return self._table.put_first(caller, _NO_PLACE, digest, summary)

    async def find(self, caller: str, digests: Iterable[str]) -> tuple[str, Summary] | None:
        found = await self._table.find(caller, _NO_PLACE, digests)
        return next(iter(found.items()), None)


class TableResponses:
    """Stored responses; see `StoredResponses`. It keeps and finds nothing while `state` is off."""

    def __init__(self, table: ExpiringTable[StoredResponse], settings: StoreSettings) -> None:
        self._table = table
        self._settings = settings

    async def put(self, caller: str, id: str, response: StoredResponse, items: Iterable[str] = ()) -> bool:
        if not state_of(self._settings.config).enabled or response.size > MOST_BYTES:
            return False
        named = [self._note_name(caller, link) for link in (response.previous, response.base) if link not in ("", id)]
        if not (await asyncio.gather(self._table.put(caller, id, {_ONLY: response}), *named))[0]:
            return False
        places = {item: StoredResponse(b"", b"", id) for item in items}
        return not places or await self._table.put(caller, _ITEMS, places)

    async def swap(self, caller: str, id: str, old: StoredResponse, new: StoredResponse) -> StoredResponse | None:
        if not state_of(self._settings.config).enabled or new.size > MOST_BYTES:
            return old
        return await self._table.swap(caller, id, _ONLY, old, new)

    async def _note_name(self, caller: str, id: str) -> bool:
        """Note in a response that another names it."""
        found = await self.find_link(caller, id)
        if found is None or found.is_named:
            return found is not None
        return await self._table.put(caller, id, {_ONLY: replace(found, is_named=True)})

    async def find(self, caller: str, id: str) -> StoredResponse | None:
        found = await self.find_link(caller, id)
        return None if found is None or found.is_removed else found

    async def find_latest(self, caller: str, id: str) -> StoredResponse | None:
        found = await self.find_link(caller, id, latest=True)
        return None if found is None or found.is_removed else found

    async def find_link(self, caller: str, id: str, *, latest: bool = False) -> StoredResponse | None:
        if not state_of(self._settings.config).enabled:
            return None
        return (await self._table.find(caller, id, (_ONLY,), latest=latest)).get(_ONLY)

    async def find_holders(self, caller: str, items: Iterable[str]) -> Mapping[str, str]:
        if not state_of(self._settings.config).enabled:
            return {}
        return {item: one.previous for item, one in (await self._table.find(caller, _ITEMS, items)).items()}

    async def forget(self, caller: str, id: str) -> None:
        found = await self.find_link(caller, id)
        if found is None or not found.is_named:
            await self._table.forget(caller, id)
        elif not found.is_removed:
            await self._table.put(caller, id, {_ONLY: replace(found, is_removed=True)})


class TableLeases:
    """Leases; see `Leases`."""

    def __init__(self, table: ExpiringTable[Lease], wall: Clock) -> None:
        self._table = table
        self._now = wall

    async def take(self, name: str, holder: str, seconds: float) -> bool:
        now = self._now()
        kept = await self._table.put_first(_NO_CALLER, name, _ONLY, Lease(holder, now + seconds))
        if kept.until <= now:
            await self.release(name)
            kept = await self._table.put_first(_NO_CALLER, name, _ONLY, Lease(holder, now + seconds))
        return kept.holder == holder

    def release(self, name: str) -> Coroutine[Any, Any, None]:
        return self._table.forget(_NO_CALLER, name)


class TableSecrets:
    """Shared secrets; see `SharedSecrets`."""

    def __init__(self, table: ExpiringTable[bytes]) -> None:
        self._table = table

    def agree(self, name: str, proposed: bytes) -> Coroutine[Any, Any, bytes]:
        return self._table.put_first(_NO_CALLER, name, _ONLY, proposed)


class TableStore:
    """The part of a store that is six views of tables. A backend says how it opens a table."""

    def __init__(self, config: StoreConfig, wall: Clock) -> None:
        self._settings = settings = StoreSettings(config)
        states = self._open_table(REASONING, vault_bounds(config.vault))
        pins = self._open_table(PINS, PIN_BOUNDS)
        summaries = self._open_table(SUMMARIES, SUMMARY_BOUNDS)
        answers = self._open_table(RESPONSES, response_bounds(state_of(config)))
        self._by_caller = (states, pins, summaries, answers)
        self.vault = TableVault(states, settings)
        self.pins = TablePins(pins)
        self.summaries = TableSummaries(summaries)
        self.responses = TableResponses(answers, settings)
        self.leases = TableLeases(self._open_table(LEASES, LEASE_BOUNDS), wall)
        self.secrets = TableSecrets(self._open_table(SECRETS, SECRET_BOUNDS))

    def _open_table(self, kind: TableKind[Value], bounds: Bounds) -> ExpiringTable[Value]:
        raise NotImplementedError

    def reconfigure(self, config: StoreConfig) -> None:
        self._settings.config = config

    async def _forget_values(self, caller: str) -> int:
        """Remove the values of a caller from all tables; how many there were. Raises StoreUnavailable."""
        return sum([await table.forget_caller(caller) for table in self._by_caller])
