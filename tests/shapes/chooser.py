"""Where the choices of a generated request come from: hypothesis, which shrinks them, or a seed, which is fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Chooser:
    """`below(n)` gives a number from 0 to n - 1; 0 is the plainest choice and what shrinking strives for."""

    def __init__(self, below: Callable[[int], int]) -> None:
        self.below = below

    def one(self, options: Sequence[T]) -> T:
        return options[self.below(len(options))]

    def often(self) -> bool:
        return self.below(2) == 1

    def seldom(self, one_in: int = 8) -> bool:
        return self.below(one_in) == one_in - 1

    def some(self, options: Sequence[T], most: int) -> list[T]:
        return [self.one(options) for _ in range(self.below(most + 1))]


def seeded(seed: int) -> Chooser:
    return Chooser(Random(seed).randrange)
