"""What is wrong with a configuration, said so that it can be put right.

ConfigError
    One or more `Problem`s, each with its file, line and key path. Nothing is half loaded: a file with
    one problem is refused whole, and all its problems are listed at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from msgspec import Struct


class Problem(Struct, frozen=True):
    """One thing to put right."""

    says: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file and self.line else self.file
        return f"{place}: {self.says}" if place else self.says


class ConfigError(Exception):
    """The configuration cannot be used; `problems` says why, in the order of the file."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("\n".join(map(str, self.problems)))


def meant(word: str, known: Iterable[str]) -> str:
    """`known: …` and, where one is near, the name that was probably meant."""
    names = sorted(known)
    if not names:
        return ""
    shown = ", ".join(names[:30]) + (", …" if len(names) > 30 else "")
    near = get_close_matches(word.lower(), names, n=1, cutoff=0.6)
    return f"known: {shown}." + (f' Did you mean "{near[0]}"?' if near else "")
