"""Names in `models` that stand for many: `anthropic/*`, `team-*`, `*`."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

STAR = "*"


class PatternMatch(Struct, frozen=True):
    """A pattern that a name fits, and what its star stands for."""

    pattern: str
    star: str

    @property
    def is_catch_all(self) -> bool:
        return self.pattern == STAR

    def fill(self, target: str) -> str:
        """A target with the star filled in. One without a star is the same for every name."""
        return target.replace(STAR, self.star, 1)


def is_pattern(name: str) -> bool:
    return STAR in name


def match_pattern(names: Iterable[str], name: str) -> PatternMatch | None:
    """The pattern that a name fits, the one with the most letters."""
    if is_pattern(name):
        return None
    fitting = [pattern for pattern in names if is_pattern(pattern) and _fits(pattern, name)]
    if not fitting:
        return None
    pattern = max(fitting, key=len)
    head, _, tail = pattern.partition(STAR)
    return PatternMatch(pattern, name[len(head) : len(name) - len(tail)])


def _fits(pattern: str, name: str) -> bool:
    head, _, tail = pattern.partition(STAR)
    return len(name) > len(head) + len(tail) and name.startswith(head) and name.endswith(tail)
