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
from dragoman.extras import missing_extra
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


Inspect = Callable[[StoreOpening, float], Awaitable[tuple[ServerFinding, ...]]]


def open_hot(opening: StoreOpening) -> HotPart | None:
    """The shared hot part; None if the configuration names none. Raises StoreError."""
    module = _load_backend("store.hot", opening.config.hot, HOT_SCHEMES)
    if module is None:
        return None
    opened: Callable[[StoreOpening], HotPart] = module.open_part
    return opened(opening)


def open_ledger(opening: StoreOpening) -> LedgerPart | None:
    """The shared ledger; None if the configuration names none. Raises StoreError."""
    module = _load_backend("store.ledger", opening.config.ledger, LEDGER_SCHEMES)
    if module is None:
        return None
    opened: Callable[[StoreOpening], LedgerPart] = module.open_part
    return opened(opening)


async def inspect_hot(opening: StoreOpening, seconds: float) -> tuple[ServerFinding, ...]:
    """How the server of the hot part is; nothing if there is none. Raises StoreError if it cannot be asked."""
    return await _inspect(_load_backend("store.hot", opening.config.hot, HOT_SCHEMES), opening, seconds)


async def inspect_ledger(opening: StoreOpening, seconds: float) -> tuple[ServerFinding, ...]:
    """How the server of the ledger is; nothing if there is none. Raises StoreError if it cannot be asked."""
    return await _inspect(_load_backend("store.ledger", opening.config.ledger, LEDGER_SCHEMES), opening, seconds)


async def _inspect(module: ModuleType | None, opening: StoreOpening, seconds: float) -> tuple[ServerFinding, ...]:
    if module is None:
        return ()
    inspect: Inspect = module.inspect
    return await inspect(opening, seconds)


def _load_backend(at: str, address: Secret | None, packages: dict[str, str]) -> ModuleType | None:
    """The package with `open_part(opening)` and `inspect(opening, seconds)` for the server of an address; None if there
    is no address."""
    if not address:
        return None
    package = packages.get(address.reveal().partition("://")[0].lower())
    if package is None:
        raise StoreError(f"{at} must begin with {', '.join(f'{name}://' for name in packages)}")
    try:
        return import_module(f"dragoman.store.{package}")
    except ModuleNotFoundError as error:
        if advice := missing_extra(error):
            raise StoreError(f"{at}: {advice}") from None
        raise
