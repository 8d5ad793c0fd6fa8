"""What a caller may choose for several system messages: whether they are joined, and with what between them."""

from __future__ import annotations

import re
from typing import Any

from dragoman.errors import OptionError, near_match
from dragoman.rules.rule import FAIL, KEEP

AUTO_SEPARATOR = "\n\n"
JOIN_SEPARATOR = "\n\n---\n\n"
SEPARATE = "separate"
OPTIONS = ("auto", SEPARATE, "join")
_KEYWORDS: dict[object, str] = {
    **{name: name for name in (*OPTIONS, KEEP, FAIL)},
    True: "join",
    "true": "join",
    False: "separate",
    "false": "separate",
}
_WORD = re.compile(r"[A-Za-z][A-Za-z-]*")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}


def parse_choice(choice: Any) -> str | dict[str, str]:
    """One of the options, or `{"join": SEPARATOR}`. A word that is no option is a mistake and no separator."""
    if isinstance(choice, bool | str) and choice in _KEYWORDS:
        return _KEYWORDS[choice]
    if isinstance(choice, dict) and choice.keys() == {"join"} and isinstance(choice["join"], str):
        return {"join": choice["join"]}
    if isinstance(choice, str) and choice.startswith("join:"):
        return {"join": _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), choice.removeprefix("join:"))}
    if isinstance(choice, str) and not _WORD.fullmatch(choice):
        return {"join": choice}
    raise OptionError(
        f'many-systems cannot be "{choice}". {near_match(str(choice), (*OPTIONS, KEEP, FAIL))}',
        hint='write {"join": "…"} for a separator',
    )


def separator(choice: Any) -> str:
    """What stands between two texts."""
    chosen = "auto" if choice is None else parse_choice(choice)
    if isinstance(chosen, dict):
        return chosen["join"]
    return JOIN_SEPARATOR if chosen == "join" else AUTO_SEPARATOR
