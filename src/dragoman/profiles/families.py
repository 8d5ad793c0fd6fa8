"""Families of model names: which profiles serve a bare name such as `claude-sonnet-4-6`.

A profile lists the families that it serves. The names of a family are patterns, in one file.
"""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from dragoman.profiles.data_files import DATA
from dragoman.profiles.model_patterns import LONGEST_NAME


class NameFamily(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Names that belong together."""

    name: str
    match: tuple[str, ...]
    default: str = ""
    """The maker's own profile, empty if there is none."""

    def has(self, model: str) -> bool:
        """Whether a name, in small letters, belongs to it."""
        return any(fnmatchcase(model, glob) for glob in self.match)


@lru_cache(maxsize=1)
def all_families() -> tuple[NameFamily, ...]:
    text = (DATA / "families" / "families.toml").read_text("utf-8")
    return tuple(msgspec.convert(tomllib.loads(text)["families"], list[NameFamily]))


def family_names() -> tuple[str, ...]:
    return tuple(family.name for family in all_families())


@lru_cache(maxsize=4096)
def families_of(model: str) -> tuple[NameFamily, ...]:
    """The families that a name belongs to, in the order in which they are tried."""
    lowered = model[:LONGEST_NAME].lower()
    return tuple(family for family in all_families() if family.has(lowered))
