"""The vault, pins, summaries, responses, leases and secrets on top of a backend's table of expiring values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec
from msgspec import Struct

from dragoman.config.schema.state import StateConfig
from dragoman.config.schema.store import StoreConfig, Vault
from dragoman.conversation.parts import Opaque, Part, Reasoning
from dragoman.engine.compile.reasoning_restore import pack, unpack
from dragoman.store.clock import Clock
from dragoman.store.contracts.expiring_table import Bounds, ExpiringTable
from dragoman.store.contracts.leases import Lease, Leases
from dragoman.store.contracts.pins import Pin, Pins
from dragoman.store.contracts.reasoning_vault import Parts, ReasoningVault
from dragoman.store.contracts.shared_secrets import SharedSecrets
from dragoman.store.contracts.stored_responses import StoredResponse, StoredResponses
from dragoman.store.contracts.summaries import Summaries, Summary
from dragoman.store.settings import StoreSettings, state_of

Value = TypeVar("Value")
DAY = 86_400.0
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


class TableStore:
    """The part of a store that is six views of tables. A backend says how it opens a table."""

    def __init__(self, config: StoreConfig, wall: Clock) -> None:
        self._settings = settings = StoreSettings(config)
        states = self._open_table(REASONING, vault_bounds(config.vault))
        pins = self._open_table(PINS, PIN_BOUNDS)
        summaries = self._open_table(SUMMARIES, SUMMARY_BOUNDS)
        answers = self._open_table(RESPONSES, response_bounds(state_of(config)))
        self._by_caller = (states, pins, summaries, answers)
        self.vault = ReasoningVault(states, settings)
        self.pins = Pins(pins)
        self.summaries = Summaries(summaries)
        self.responses = StoredResponses(answers, settings)
        self.leases = Leases(self._open_table(LEASES, LEASE_BOUNDS), wall)
        self.secrets = SharedSecrets(self._open_table(SECRETS, SECRET_BOUNDS))

    def _open_table(self, kind: TableKind[Value], bounds: Bounds) -> ExpiringTable[Value]:
        raise NotImplementedError

    def reconfigure(self, config: StoreConfig) -> None:
        self._settings.config = config

    async def _forget_values(self, caller: str) -> int:
        """Remove the values of a caller from all tables; how many there were. Raises StoreUnavailable."""
        return sum([await table.forget_caller(caller) for table in self._by_caller])
