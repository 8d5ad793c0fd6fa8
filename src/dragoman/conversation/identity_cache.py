"""What was made of a value, remembered as long as the same object comes again.

An agent sends the same tools and settings on every turn, and the readers hand out the same objects for the same bytes.
Asking for an object's identity costs a hundredth of hashing large tools, let alone of writing them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from dragoman.conversation.bounded_cache import BoundedCache, CacheEntry, size_of

Value = TypeVar("Value")
Made = TypeVar("Made")


class IdentityCache(Generic[Value, Made]):
    """A function of one immutable value, called once for each object.

    `size`: bytes that an entry counts for. Where it is 0 they are measured; what belongs to the configuration lives
    anyway, and measuring it would take longer than making it again.
    """

    __slots__ = ("_known", "_make", "_size")

    def __init__(self, make: Callable[[Value], Made], size: int = 0) -> None:
        self._make = make
        self._size = size
        self._known: BoundedCache[int] = BoundedCache(f"{make.__module__}.{make.__qualname__}")

    def __call__(self, value: Value) -> Made:
        found: Made | None = self._known.get(id(value))
        if found is not None:
            return found
        made = self._make(value)
        size = self._size or size_of(value) + size_of(made)
        self._known.put(id(value), CacheEntry(made, size, value))
        return made
