"""Patterns for the names of models.

They match from the start of a name or from any word in it, so that `anthropic/claude-sonnet-4.5` and a deployment
called `team-gpt-4o` are found too. The pattern with the most letters wins.
"""

from __future__ import annotations

import re
from fnmatch import translate
from typing import Generic, TypeVar

import msgspec

LONGEST_NAME = 200
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
