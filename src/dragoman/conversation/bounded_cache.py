"""What was made of a request's parts, remembered for the next request: bounded by bytes, all of it together.

An agent sends the same tools and settings on every turn, so reading, compiling and writing them is remembered. What is
remembered comes from clients: a count of entries would bound nothing, since each may be as large as a request. All
caches therefore draw on one pool of `BUDGET` bytes.

A cache has two generations. New entries, and old ones that are used again, go to the young one. When the young ones of
all caches hold half of the budget they become the old ones, and what was old is forgotten. So what is used goes on
living however much passes by, and nothing has to be sorted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from threading import RLock
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, cast

import msgspec

Key = TypeVar("Key")
Value = TypeVar("Value")
Made = TypeVar("Made")
Arguments = ParamSpec("Arguments")

BUDGET = 16 * 1024 * 1024
"""Bytes that all caches of a process may hold together."""
LARGEST_SHARE = 16
"""One entry may take a sixteenth of the budget; what is larger is made again each time."""


_encode = msgspec.msgpack.Encoder(enc_hook=str).encode


def size_of(value: Any) -> int:
    """About how many bytes a value keeps alive: twice its text, since small objects take more room than what they say.

    Walking through it would be exact, and take a hundred times as long. MessagePack has no room for a number of more
    than 64 bits: what holds one counts as too large to be kept.
    """
    try:
        return 2 * len(_encode(value)) + sys.getsizeof(value)
    except OverflowError:
        return sys.maxsize


class CacheEntry(NamedTuple):
    """One entry of a cache."""

    made: Any
    """What was made for the key."""
    size: int
    """Its bytes, as far as they count."""
    held: Any = None
    """Kept alive with it, if the key is its id: nothing else can get that id then."""


class CachePool(msgspec.Struct, eq=False):
    """The bytes that several caches share."""

    budget: int = BUDGET
    caches: list[BoundedCache[Any]] = []
    _young: int = 0
    old: int = 0
    lock: RLock = msgspec.field(default_factory=RLock)

    @property
    def held(self) -> int:
        """Bytes that the caches hold now."""
        return self._young + self.old

    def takes(self, size: int) -> bool:
        """Make room for an entry; False if it is too large to be kept."""
        if size > self.budget // LARGEST_SHARE:
            return False
        if self._young + size > self.budget // 2:
            self._age()
        self._young += size
        return True

    def gives(self, size: int) -> None:
        """A young entry has gone."""
        self._young -= size

    def clear(self) -> None:
        """Forget everything."""
        self._age()
        self._age()

    def _age(self) -> None:
        for cache in self.caches:
            cache.age()
        self.old, self._young = self._young, 0


POOL = CachePool()


class _Young(dict[Any, Any]):
    """What was made of keys that were asked for lately. Looking one up runs no Python code unless it is missing."""

    __slots__ = ("find_missing",)
    find_missing: Callable[[Any], Any]

    def __missing__(self, key: Any) -> Any:
        return self.find_missing(key)


class BoundedCache(Generic[Key]):
    """What was made, by its key. `misses` counts what was asked for and not there."""

    __slots__ = ("_entries", "_make", "_old", "_pool", "_young", "get", "misses", "name")

    get: Callable[[Key], Any]
    """What was made of a key. None if there is nothing, unless the cache itself makes it."""

    def __init__(self, name: str, pool: CachePool = POOL, make: Callable[[Key], Any] | None = None) -> None:
        """`make`: makes what is missing."""
        self.name = name
        self.misses = 0
        self._make = make
        self._young = _Young()
        self._young.find_missing = self._find_missing
        self.get = self._young.__getitem__
        self._entries: dict[Key, CacheEntry] = {}
        self._old: dict[Key, CacheEntry] = {}
        self._pool = pool
        pool.caches.append(self)

    def put(self, key: Key, entry: CacheEntry) -> None:
        with self._pool.lock:
            if self._pool.takes(entry.size):
                self._entries[key] = entry
                self._young[key] = entry.made

    def grow(self, key: Key, size: int) -> None:
        """Count more bytes for an entry that was just used."""
        with self._pool.lock:
            entry = self._entries.pop(key, None)
            if entry is not None:
                del self._young[key]
                self._pool.gives(entry.size)
                self.put(key, entry._replace(size=entry.size + size))

    def age(self) -> None:
        """The young entries become the old ones, and those are forgotten."""
        self._old, self._entries = self._entries, {}
        self._young.clear()

    def entries(self) -> Iterator[CacheEntry]:
        yield from self._entries.values()
        yield from self._old.values()

    def _find_missing(self, key: Key) -> Any:
        """An old entry, which becomes a young one; or a new one, if the cache makes them."""
        with self._pool.lock:
            found = self._old.pop(key, None)
            if found is not None:
                self._pool.old -= found.size
                self.put(key, found)
                return found.made
            self.misses += 1
        if self._make is None:
            return None
        made = self._make(key)
        self.put(key, CacheEntry(made, size_of(key) + size_of(made)))
        return made


def remembered(make: Callable[Arguments, Made]) -> Callable[Arguments, Made]:
    """A pure function of hashable arguments, asked once for each."""
    name, call = f"{make.__module__}.{make.__qualname__}", cast(Callable[..., Any], make)
    if make.__code__.co_argcount == 1:
        return cast(Callable[Arguments, Made], BoundedCache[Any](name, make=call).get)
    cache: BoundedCache[Any] = BoundedCache(name, make=lambda key: call(*key))

    def find(*key: Arguments.args, **nothing: Arguments.kwargs) -> Made:
        found: Made = cache.get(key)
        return found

    return find


class IdentityCache(Generic[Value, Made]):
    """A function of one immutable value, called once for each object.

    Readers hand out the same objects for the same bytes. Asking for an object's identity costs a hundredth of hashing
    large tools, let alone of writing them.

    `size`: bytes that an entry counts for. If it is 0, they are measured; what belongs to the configuration lives
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
