"""httpx and its successor httpx2: two libraries with the same shapes. What comes from one goes back to the same."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

NAMES = ("httpx2", "httpx")


def library_of(value: object) -> ModuleType:
    """The library that a request or transport belongs to; of a user's own class, the first in its ancestry."""
    for cls in type(value).__mro__:
        package = cls.__module__.partition(".")[0]
        if package in NAMES:
            return import_module(package)
    return find_installed()


@cache
def find_installed() -> ModuleType:
    """The library that there is."""
    for name in NAMES:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError("Dragoman's transport needs httpx or httpx2, which come with the SDKs")


def ancestors(name: str) -> tuple[type, type]:
    """The class of that name in both libraries, so that either takes our transport for one of its own."""
    first, second = (_class(library, name) for library in NAMES)
    return first, second


def _class(library: str, name: str) -> Any:
    try:
        return getattr(import_module(library), name)
    except ImportError:
        return type(f"No{name}", (), {})
