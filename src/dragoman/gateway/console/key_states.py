"""Client keys: their limits, what they spent, and how they are created, changed and revoked in the file."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.config.client_keys import make_key, sha256_of
from dragoman.config.key_editing import add_key, remove_key
from dragoman.config.load import read_text
from dragoman.config.schema.keys import ClientKey
from dragoman.gateway.console.config_editing import save_config
from dragoman.gateway.live_config import LiveConfig
from dragoman.gateway.services import Services
from dragoman.store.contracts.budgets import Exhausted, Period, periods_at

_LIMITS = ("requests_per_minute", "tokens_per_minute", "concurrent")


class SpentBudget(msgspec.Struct, frozen=True):
    """The budget of a key in one period."""

    period: str
    """Its name."""
    spent: float
    """What the key has spent."""
    limit: float | None
    """What it may spend."""


class KeyState(msgspec.Struct, frozen=True, kw_only=True):
    """One key. Its own text is not known to anybody here, its hash is not shown."""

    name: str
    admin: bool
    allowed_models: tuple[str, ...]
    allowed_endpoints: tuple[str, ...]
    requests_per_minute: int | None
    tokens_per_minute: int | None
    concurrent: int | None
    expires: str | None
    budgets: tuple[SpentBudget, ...]


class KeyRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A key to be created, or new limits for one. What is None is not limited."""

    name: str
    admin: bool = False
    allowed_models: tuple[str, ...] = ()
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    concurrent: int | None = None
    day: float | None = None
    month: float | None = None
    total: float | None = None
    expires: str | None = None

    def entry(self, sha256: str) -> dict[str, Any]:
        """The entry of the file."""
        budget = {name: amount for name in Period if (amount := getattr(self, name.value)) is not None}
        limits = {name: value for name in _LIMITS if (value := getattr(self, name)) is not None}
        entry: dict[str, Any] = {"sha256": sha256, "admin": self.admin, "expires": self.expires, **limits}
        entry["allowed_models"] = list(self.allowed_models)
        entry["budget"] = {name.value: amount for name, amount in budget.items()}
        return {name: value for name, value in entry.items() if value}


async def key_states(services: Services) -> list[KeyState]:
    return [await _state(services, name, key) for name, key in services.live.config.keys.items()]


async def _state(services: Services, name: str, key: ClientKey) -> KeyState:
    return KeyState(
        name=name,
        admin=key.admin,
        allowed_models=key.allowed_models,
        allowed_endpoints=key.allowed_endpoints,
        requests_per_minute=key.requests_per_minute,
        tokens_per_minute=key.tokens_per_minute,
        concurrent=key.concurrent,
        expires=key.expires.isoformat() if key.expires is not None else None,
        budgets=await _spent(services, name, key),
    )


async def _spent(services: Services, name: str, key: ClientKey) -> tuple[SpentBudget, ...]:
    """Nothing is booked to find out: the limits are left out of the question."""
    if key.budget is None:
        return ()
    periods = periods_at(key.budget, services.clocks.wall())
    unlimited = tuple(replace(one, limit=None) for one in periods)
    spent = await services.store.budgets.reserve(name, unlimited, 0.0)
    if isinstance(spent, Exhausted):
        return ()
    return tuple(
        SpentBudget(one.period.value, amount, one.limit)
        for one, amount in zip(periods, spent, strict=True)
        if one.limit is not None
    )


async def create_key(live: LiveConfig, file: Path, wanted: KeyRequest) -> str:
    """The new key, which is shown once. Raises InvalidConfig."""
    key = make_key()
    text = await asyncio.to_thread(_text, file)
    await save_config(live, file, add_key(text, wanted.name, wanted.entry(sha256_of(key)), file.name))
    return key


def _text(file: Path) -> str:
    return read_text(file) if file.exists() else ""


async def change_key(live: LiveConfig, file: Path, wanted: KeyRequest) -> None:
    """Give a key other limits. Raises InvalidConfig."""
    text = read_text(file)
    known = live.config.keys.get(wanted.name)
    without = remove_key(text, wanted.name, file.name)
    sha256 = known.sha256 if known is not None else ""
    await save_config(live, file, add_key(without, wanted.name, wanted.entry(sha256), file.name))


async def revoke_key(live: LiveConfig, file: Path, name: str) -> None:
    """Raises InvalidConfig, also for the last key: everybody could use the gateway."""
    await save_config(live, file, remove_key(read_text(file), name, file.name))
