"""Patterns for the names of models.

They match from the start of a name or from any word in it, so that `anthropic/claude-sonnet-4.5` and a deployment
called `team-gpt-4o` are found too. The pattern with the most letters wins.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from typing import Generic, TypeVar

import msgspec

LONGEST_NAME = 200
_HOST = re.compile(r"\A(?:.*/)?(?:[a-z-]+\.)*")
"""What hosts write before a name: `models/`, `anthropic/`, `us.anthropic.`."""
_VERSION = re.compile(r"(?:[@-]20\d{6})?(?:-v\d{1,2})?(?::\d{1,2})?\Z")
"""What hosts write after it: `-20250929`, `@20250929`, `-v1:0`."""
_ONE_OF = re.compile(r"\[[^\[\]]*\]")
V = TypeVar("V")


class ModelPattern(msgspec.Struct, Generic[V], frozen=True):
    """A pattern, and what it leads to."""

    letters: int
    expression: re.Pattern[str]
    value: V


def model_pattern(glob: str, value: V) -> ModelPattern[V]:
    expression = re.compile(r"(?:.*[^a-z0-9])?" + translate(glob))
    letters = len(_ONE_OF.sub("x", glob).replace("*", ""))
    return ModelPattern(letters, expression, value)


def same_model(one: str, other: str) -> bool:
    """Are these names of one model, on whatever platform?"""
    return one == other or bare_name(one) == bare_name(other)


@lru_cache(maxsize=4096)
def bare_name(name: str) -> str:
    """The name as its maker spells it, without what a platform adds and without its date."""
    return _VERSION.sub("", _HOST.sub("", name[:LONGEST_NAME].lower(), count=1)).replace(".", "-")
