"""Tables of the tests that have an entry for each dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn, TypeVar

Entry = TypeVar("Entry")


class ByDialect(dict[str, Entry]):
    """A table that says of a new dialect what is to be added, and where."""

    def __init__(self, place: str, entries: Mapping[str, Entry]) -> None:
        super().__init__(entries)
        self._place = place

    def __missing__(self, name: str) -> NoReturn:
        raise LookupError(f'{self._place}: add "{name}"')
