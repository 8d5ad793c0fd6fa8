"""Ids and names made by hash: the same input gives the same name in every run and on every turn."""

from __future__ import annotations

import re
from functools import lru_cache

from dragoman.conversation.canonical import base62
from dragoman.profiles.facts import Facts

_ODD = re.compile(r"[^a-zA-Z0-9_-]")


@lru_cache(maxsize=256)
def form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def replace_odd_letters(name: str) -> str:
    """The name with underscores for all but letters, digits, underscores and dashes of ASCII."""
    return _ODD.sub("_", name)


def fresh_id(original: str, occurrence: int, facts: Facts) -> str:
    """An id in the target's form, made from the client's and how often it stood before."""
    return base62(f"{original}\0{occurrence}", length=facts.call_id_length)


COMMON_IDS = frozenset(
    {"[a-zA-Z0-9_-]+", ".{1,40}", ".{1,64}", "[a-zA-Z0-9_.:-]{1,64}", ".{1,40}|.{1,64}__thought__.*"}
)
"""Forms that take every id of the form `traits.COMMON_ID`; a test proves it."""
COMMON_NAMES = frozenset({"[a-zA-Z0-9_-]+", "[a-zA-Z_][a-zA-Z0-9_.:-]*"})
"""Forms that take every name of the form `traits.COMMON_NAME`; a test proves it."""


def takes_common_ids(pattern: str) -> bool:
    return pattern in COMMON_IDS


def takes_common_names(facts: Facts) -> bool:
    return facts.tool_name_pattern in COMMON_NAMES and facts.tool_name_length >= 64
