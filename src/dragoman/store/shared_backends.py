"""Which servers hold a store's parts, by the scheme of their address.

A backend is loaded when an address names it: without one, no client library is imported. Opening connects to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from dragoman.config.schema import StoreConfig
from dragoman.config.secret import Secret
from dragoman.store.clock import Clocks
from dragoman.store.errors import StoreError
from dragoman.store.redaction import Redactor
from dragoman.store.store import HotPart, LedgerPart

Part = TypeVar("Part")


class StoreOpening(Struct, frozen=True):
    """What a backend is opened with. `path`: the file of this machine's own store; what must wait is spooled beside."""

    config: StoreConfig
    path: Path | None
    clocks: Clocks
    redactor: Redactor


class SharedBackend(Struct, frozen=True):
    """A module with the function `open_part(opening)`, and the extra that has what it needs."""

    module: str
    extra: str


_REDIS = SharedBackend("dragoman.store.redis_store", "redis")
_POSTGRES = SharedBackend("dragoman.store.postgres", "postgres")
HOT = {"redis": _REDIS, "rediss": _REDIS, "redis+sentinel": _REDIS, "rediss+sentinel": _REDIS, "redis+unix": _REDIS}
LEDGER = {"postgresql": _POSTGRES, "postgres": _POSTGRES}


def open_hot(opening: StoreOpening) -> HotPart | None:
    """The shared hot part; None where the configuration names none. Raises StoreError."""
    opened: Callable[[StoreOpening], HotPart] | None = _found("store.hot", opening.config.hot, HOT)
    return opened(opening) if opened is not None else None


def open_ledger(opening: StoreOpening) -> LedgerPart | None:
    """The shared ledger; None where the configuration names none. Raises StoreError."""
    opened: Callable[[StoreOpening], LedgerPart] | None = _found("store.ledger", opening.config.ledger, LEDGER)
    return opened(opening) if opened is not None else None


def _found(
    at: str, address: Secret | None, backends: dict[str, SharedBackend]
) -> Callable[[StoreOpening], Part] | None:
    if not address:
        return None
    scheme = address.reveal().partition("://")[0].lower()
    backend = backends.get(scheme)
    if backend is None:
        raise StoreError(f"{at} must begin with {', '.join(f'{name}://' for name in backends)}")
    try:
        module = import_module(backend.module)
    except ModuleNotFoundError as error:
        raise StoreError(f"{at} needs {error.name}; install dragoman[{backend.extra}]") from None
    opened: Callable[[StoreOpening], Part] = module.open_part
    return opened
