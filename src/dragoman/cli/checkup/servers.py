"""The servers of a shared store: do they answer, do they take writes, and what would they lose?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path

from dragoman.cli.checkup.check import Check, Mark
from dragoman.config.schema.config_file import Config
from dragoman.store.clock import REAL_CLOCKS
from dragoman.store.contracts.server_findings import Gravity, ServerFinding
from dragoman.store.errors import StoreError
from dragoman.store.journals.redaction import Redactor
from dragoman.store.settings import options_of
from dragoman.store.shared_backends import StoreOpening, inspect_hot, inspect_ledger

_SECTION = "store"
_MARKS = {Gravity.GOOD: Mark.OK, Gravity.RISK: Mark.WARN, Gravity.FAULT: Mark.FAIL, Gravity.UNKNOWN: Mark.SKIP}


def server_checks(config: Config, file: Path | None, seconds: float) -> list[Check]:
    """What is known of the servers of `store.hot` and `store.ledger`; nothing if there are none."""
    return asyncio.run(_ask_both(config, file, seconds))


async def _ask_both(config: Config, file: Path | None, seconds: float) -> list[Check]:
    opening = StoreOpening(options_of(config), file, REAL_CLOCKS, Redactor.of(config))
    hot, ledger = await asyncio.gather(
        _checks("hot", inspect_hot(opening, seconds)), _checks("ledger", inspect_ledger(opening, seconds))
    )
    return [*hot, *ledger]


async def _checks(part: str, asked: Awaitable[tuple[ServerFinding, ...]]) -> list[Check]:
    try:
        return [_check(part, found) for found in await asked]
    except StoreError as error:
        return [Check(_SECTION, part, Mark.FAIL, str(error))]


def _check(part: str, found: ServerFinding) -> Check:
    return Check(_SECTION, f"{part} {found.name}".rstrip(), _MARKS[found.gravity], found.text, found.cure)
