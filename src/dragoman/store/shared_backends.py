"""Which servers hold a store's parts, by the scheme of their address.

A backend is loaded when an address names it: without one, no client library is imported. Opening connects to nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

from msgspec import Struct

from dragoman.config.schema.store import HOT_SCHEMES, LEDGER_SCHEMES, StoreConfig
from dragoman.config.secret import Secret
from dragoman.store.clock import Clocks
from dragoman.store.contracts.server_findings import ServerFinding
from dragoman.store.errors import StoreError
from dragoman.store.journals.redaction import Redactor
from dragoman.store.store import HotPart, LedgerPart


class StoreOpening(Struct, frozen=True):
    """What a backend is opened with."""

    config: StoreConfig
    path: Path | None
    """The file of this machine's own store; what must wait is spooled beside."""
    clocks: Clocks
    redactor: Redactor


BACKENDS = {"redis": "dragoman.store.redis_store", "postgres": "dragoman.store.postgres"}
"""By the extra of a server, the module with `open_part(opening)` and `inspect(opening, seconds)`."""

Inspect = Callable[[StoreOpening, float], Awaitable[tuple[ServerFinding, ...]]]


def open_hot(opening: StoreOpening) -> HotPart | None:
    """The shared hot part; None if the configuration names none. Raises StoreError."""
    module = _backend("store.hot", opening.config.hot, HOT_SCHEMES)
    if module is None:
        return None
    opened: Callable[[StoreOpening], HotPart] = module.open_part
    return opened(opening)


def open_ledger(opening: StoreOpening) -> LedgerPart | None:
    """The shared ledger; None if the configuration names none. Raises StoreError."""
    module = _backend("store.ledger", opening.config.ledger, LEDGER_SCHEMES)
    if module is None:
        return None
    opened: Callable[[StoreOpening], LedgerPart] = module.open_part
    return opened(opening)


async def inspect_hot(opening: StoreOpening, seconds: float) -> tuple[ServerFinding, ...]:
    """How the server of the hot part is; nothing if there is none. Raises StoreError if it cannot be asked."""
    return await _inspect(_backend("store.hot", opening.config.hot, HOT_SCHEMES), opening, seconds)


async def inspect_ledger(opening: StoreOpening, seconds: float) -> tuple[ServerFinding, ...]:
    """How the server of the ledger is; nothing if there is none. Raises StoreError if it cannot be asked."""
    return await _inspect(_backend("store.ledger", opening.config.ledger, LEDGER_SCHEMES), opening, seconds)


async def _inspect(module: ModuleType | None, opening: StoreOpening, seconds: float) -> tuple[ServerFinding, ...]:
    if module is None:
        return ()
    inspect: Inspect = module.inspect
    return await inspect(opening, seconds)


def _backend(at: str, address: Secret | None, extras: dict[str, str]) -> ModuleType | None:
    """The module that knows the server of an address; None if there is no address."""
    if not address:
        return None
    extra = extras.get(address.reveal().partition("://")[0].lower())
    if extra is None:
        raise StoreError(f"{at} must begin with {', '.join(f'{name}://' for name in extras)}")
    try:
        return import_module(BACKENDS[extra])
    except ModuleNotFoundError as error:
        raise StoreError(f"{at} needs {error.name}; install dragoman[{extra}]") from None
