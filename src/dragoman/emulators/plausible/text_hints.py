"""What a text says about the arguments of a call: its quotations, paths, addresses, places and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_QUOTED = re.compile(r'"([^"\n]{1,200})"|`([^`\n]{1,200})`|“([^“”\n]{1,200})”|(?<!\w)\'([^\'\n]{1,200})\'(?!\w)')
_ADDRESS = re.compile(r"https?://[^\s\"'`<>)]{1,500}")
_PATH = re.compile(
    r"(?<![\w/.~-])[\w.~-]{0,100}(?:/[\w.~-]{1,100}){1,20}|(?<![\w/.])[\w-]{1,100}\.[A-Za-z]\w{0,5}(?!\w)"
)
_NUMBER = re.compile(r"(?<![\w.])-?\d{1,15}(?:\.\d{1,10})?(?![\w])")
_PLACE = re.compile(r"\b(?:in|for|of|at|to|near|from)\s+([A-Z][\w'-]{0,40}(?:,?\s[A-Z][\w'-]{0,40}){0,4})")
_NAMED = re.compile(r"(?<=[a-z,:]\s)[A-Z][\w'-]{0,40}(?:\s[A-Z][\w'-]{0,40}){0,4}")
_RUN = re.compile(r"\b(?:run|execute)\s(.*)", re.IGNORECASE)
_LONGEST = 300
_READ = 20_000

_PATHS = re.compile(r"path|file|dir|folder")
_ADDRESSES = re.compile(r"ur[il]|link|address")
_COMMANDS = re.compile(r"command|cmd|script|shell")
_PLACES = re.compile(r"city|location|place|country|town|region|name|person|who")
_CHOICES = 200
"""Members of an enumeration that are looked for."""


class TextHints:
    """What a text says. Each quotation and number is given once; the last one again if there are no more. What it does
    not say itself may stand in the whole that it is a part of."""

    def __init__(self, text: str, whole: str = "") -> None:
        self._text = text.strip()[:_READ]
        whole = whole[:_READ]
        self._quoted = _Each("".join(found) for found in _QUOTED.findall(self._text))
        self._numbers = _Each(_NUMBER.findall(self._text))
        self._paths = _Each(_PATH.findall(self._text) or _PATH.findall(whole))
        self._places = _Each(_PLACE.findall(self._text) or _PLACE.findall(whole) or _NAMED.findall(self._text))

    def give_text(self, name: str) -> str:
        name = name.lower()
        if _ADDRESSES.search(name) and (found := _ADDRESS.search(self._text)):
            return found[0]
        if _PATHS.search(name) and (path := self._paths.give()):
            return path
        if quoted := self._quoted.give():
            return quoted
        if _PLACES.search(name) and (place := self._places.give()):
            return place
        if _COMMANDS.search(name) and (command := _RUN.search(self._text)):
            return command[1].strip().removeprefix("the command ")[:_LONGEST] or "text"
        return self._text[:_LONGEST] or "text"

    def give_number(self, name: str) -> float | None:
        found = self._numbers.give()
        return None if found is None else float(found)

    def give_choice(self, members: list[Any]) -> Any:
        """The member that the text names."""
        lower = self._text.lower()
        return next((one for one in members[:_CHOICES] if isinstance(one, str) and one and one.lower() in lower), None)


class _Each:
    """Values that are given one by one. The last one is given again."""

    def __init__(self, values: Iterator[str] | list[str]) -> None:
        self._values = list(values)[:100]
        self._at = 0

    def give(self) -> str | None:
        if not self._values:
            return None
        self._at += 1
        return self._values[min(self._at, len(self._values)) - 1]
