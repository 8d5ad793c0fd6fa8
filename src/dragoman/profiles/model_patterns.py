"""Patterns for the names of models.

They match from the start of a name or from any word in it, so that `anthropic/claude-sonnet-4.5` and a deployment
called `team-gpt-4o` are found too. The pattern with the most letters wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import translate
from functools import cache, lru_cache
from typing import Generic, TypeVar

LONGEST_NAME = 200
_HOST = re.compile(r"\A(?:.*/)?(?:[a-z-]+\.)*")
"""What hosts write before a name: `models/`, `anthropic/`, `us.anthropic.`."""
_VERSION = re.compile(r"(?:[@-]20\d{6})?(?:-v\d{1,2})?(?::\d{1,2})?\Z")
"""What hosts write after it: `-20250929`, `@20250929`, `-v1:0`."""
_ONE_OF = re.compile(r"\[[^\[\]]*\]|\?")
_ANY = re.compile(rf"{_ONE_OF.pattern}|\*")
V = TypeVar("V")


class ModelPatterns(Generic[V]):
    """Patterns, and what each leads to. If several are equally long, the first one wins."""

    def __init__(self, values: Iterable[tuple[str, V]]) -> None:
        self._entries = [(_ANY.split(glob), glob, value) for glob, value in values]
        self._entries.sort(key=lambda entry: -sum(map(len, entry[0])) - len(_ONE_OF.findall(entry[1])))

    def find(self, name: str) -> V | None:
        """What the most precise pattern leads to that speaks of this name."""
        lowered = name[:LONGEST_NAME].lower()
        for words, glob, value in self._entries:
            # There are hundreds of them, and each takes long to compile: only those whose words occur are.
            if all(word in lowered for word in words) and model_expression(glob).match(lowered):
                return value
        return None


@cache
def model_expression(glob: str) -> re.Pattern[str]:
    """A pattern of the catalogue as a regular expression."""
    return re.compile(r"(?:.*[^a-z0-9])?" + translate(glob))


def same_model(one: str, other: str) -> bool:
    """Are these names of one model, on whatever platform?"""
    return one == other or bare_name(one) == bare_name(other)


@lru_cache(maxsize=4096)
def bare_name(name: str) -> str:
    """The name as its maker spells it, without what a platform adds and without its date."""
    return _VERSION.sub("", _HOST.sub("", name[:LONGEST_NAME].lower(), count=1)).replace(".", "-")
