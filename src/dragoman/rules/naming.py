"""Ids and names made by hash: the same input gives the same name in every run and on every turn."""

from __future__ import annotations

import re
from functools import lru_cache

from dragoman.conversation.canonical import base62
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import ASSISTANT
from dragoman.conversation.parts import Call
from dragoman.conversation.tools import Tool
from dragoman.profiles.facts import Facts

_ODD = re.compile(r"[^a-zA-Z0-9_-]")


@lru_cache(maxsize=256)
def form(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)


def replace_odd_letters(name: str) -> str:
    """The name with underscores for all but letters, digits, underscores and dashes of ASCII."""
    return _ODD.sub("_", name)


def make_fresh_id(original: str, occurrence: int, facts: Facts) -> str:
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


def new_names(conversation: Conversation, facts: Facts) -> dict[str, str]:
    """The names that do not have the target's form, and what they become."""
    fits = form(facts.tool_name_pattern).fullmatch
    used: set[str] = set()
    odd: dict[str, None] = {}
    for name in _names(conversation):
        if fits(name) is not None and len(name) <= facts.tool_name_length:
            used.add(name)
        else:
            odd[name] = None
    return {name: _make_name(name, used, facts) for name in odd}


def _names(conversation: Conversation) -> dict[str, None]:
    """Every name once, in the order of its first mention."""
    named = dict.fromkeys([tool.name for tool in conversation.tools if isinstance(tool, Tool)])
    named |= dict.fromkeys(
        [
            part.name
            for message in conversation.messages
            if message.role is ASSISTANT
            for part in message.parts
            if type(part) is Call
        ]
    )
    return named


def _make_name(name: str, used: set[str], facts: Facts) -> str:
    plain = replace_odd_letters(name) or "tool"
    if form(facts.tool_name_pattern).fullmatch("a-a") is None:
        plain = plain.replace("-", "_")
    if not (plain[0].isalpha() or plain[0] == "_"):
        plain = "_" + plain
    if len(plain) > facts.tool_name_length or plain in used:
        plain = f"{plain[: facts.tool_name_length - 9]}_{base62(name, length=8)}"
    used.add(plain)
    return plain
