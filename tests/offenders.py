"""One check over many cases, as one test that names every case which fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def offenders(check: Callable[..., None], cases: Iterable[tuple[Any, ...]]) -> dict[str, str]:
    """The cases for which a check fails, each with its reason. `assert not offenders(...)` shows them all."""
    found: dict[str, str] = {}
    tried = 0
    for case in cases:
        tried += 1
        try:
            check(*case)
        except Exception as fault:
            found[", ".join(map(str, case))] = f"{type(fault).__name__}: {fault}"
    return found if tried else {"": "there was no case"}
