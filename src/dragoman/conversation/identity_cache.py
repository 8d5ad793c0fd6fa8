"""What was made of a value, remembered as long as the same object comes again.

An agent sends the same tools and settings on every turn, and the readers hand out the same objects for the same bytes.
Asking for an object's identity costs a hundredth of hashing large tools, let alone of writing them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")
Made = TypeVar("Made")


class IdentityCache(Generic[Value, Made]):
    """A function of one immutable value, called once for each object."""

    __slots__ = ("_made", "_make", "_most")

    def __init__(self, make: Callable[[Value], Made], most: int = 64) -> None:
        self._make = make
        self._most = most
        self._made: dict[int, tuple[Value, Made]] = {}

    def __call__(self, value: Value) -> Made:
        known = self._made.get(id(value))
        if known is not None:
            return known[1]
        made = self._make(value)
        if len(self._made) >= self._most:
            self._made.clear()
        # The value is kept with what was made of it: nobody else can get its id while it is here.
        self._made[id(value)] = (value, made)
        return made
