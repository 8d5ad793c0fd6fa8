"""What is wrong with a configuration, said so that it can be put right.

ConfigError
    One or more `Problem`s, each with its file, line and key path. Nothing is half loaded: a file with
    one problem is refused whole, and all its problems are listed at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from dragoman import errors


class Problem(Struct, frozen=True):
    """One thing to put right."""

    says: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        return f"{place}: {self.says}" if place else self.says


class ConfigError(errors.ConfigError):
    """The configuration cannot be used; `problems` says why, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("\n".join(map(str, self.problems)))
