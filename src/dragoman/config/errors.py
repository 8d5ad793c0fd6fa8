"""Errors of a configuration.

`InvalidConfig` lists all `Problem`s of a file, each with its line and key path. A file with a problem is refused as a
whole.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from dragoman import errors


class Problem(Struct, frozen=True):
    """One mistake in the file."""

    message: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        return f"{place}: {self.message}" if place else self.message


class InvalidConfig(errors.ConfigError):
    """The configuration cannot be used. `problems` are in the order of the file."""

    status = 422

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("\n".join(map(str, self.problems)))
