"""Where the settings and tools that rules speak of stand in the client's own body."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import msgspec

from dragoman.conversation.conversation import Ask
from dragoman.conversation.near_misses import LISTS, SYSTEMS
from dragoman.conversation.tools import TOOLS
from dragoman.dialects.dialect import MemberPlaces
from dragoman.wire.json_pointers import find_own_name, nearest, unescape
from dragoman.wire.json_reader import names_of

_decode = msgspec.json.Decoder().decode


class RequestPlaces(msgspec.Struct, eq=False):
    """Finds pointers into one request. Each member is looked at once, and only if a rule speaks of one."""

    _ask: Ask
    _places: MemberPlaces
    _located: dict[str, str] = {}
    _decoded: dict[str, Any] = {}
    _names: dict[str, str] = {}
    _own: Collection[str] | None = None
    _heads: dict[str, tuple[str, bool]] = {}

    def locate(self, key: str) -> str:
        """The pointer to what rules call `key`: the first place that the body has, or where it would stand. A key that
        is a pointer comes from who read the body."""
        found = self._located.get(key)
        if found is None:
            found = self._located[key] = self._locate(key)
        return found

    def place_of_message(self, at: str) -> str:
        """A pointer to a message, by the client's own names. A text in place of a list has no places inside."""
        head, slash, rest = at[1:].partition("/")
        found = self._heads.get(head)
        if found is None:
            name = self._name(head)
            found = self._heads[head] = name, self._begins(name, b'"')
        name, is_text = found
        if is_text and slash:
            return f"/{name}"
        return at if name == head else f"/{name}{slash}{rest}"

    def _locate(self, key: str) -> str:
        if key[0] == "/":
            return self.place_of_message(key)
        head, _, rest = key.partition("/")
        if head == TOOLS:
            return self._locate_tool(rest)
        places = self._places.settings.get(key, ())
        if not places and head not in self._places.spellings:
            return self.place_of_message(f"/{key}")
        places = (*places, f"/{key}")
        return next(filter(None, map(self._find, places)), places[0])

    def _locate_tool(self, rest: str) -> str:
        """A tool, or else the entry that holds it, or the list. A plain list need not be read for that."""
        lists = self._places.tools
        listed = next((one for one in lists if one.partition("/")[2].partition("/")[0] in self._ask.members), lists[0])
        if not rest:
            return listed
        entry, _, inner = rest.partition("/")
        if not self._places.tool:
            return f"{listed}/{rest}" if self._begins(listed[1:], b"[") else listed
        inside = self._places.tool.format(inner=inner)
        places = (f"{listed}/{entry}{inside}", f"{listed}/{rest}", f"{listed}/{entry}", listed)
        return next(filter(None, map(self._find, places)), listed)

    def _find(self, at: str) -> str | None:
        """The pointer by the client's own names, or None if the body has nothing there."""
        head, *steps = at[1:].split("/")
        if head not in self._ask.members:
            return None
        out = f"/{self._name(head)}"
        value: Any = self._value(head) if steps else None
        for step in steps:
            name = find_own_name(value, step)
            if name is None:
                return None
            out = f"{out}/{name}"
            value = value[int(name)] if isinstance(value, list) else value[unescape(name)]
        return out

    def _value(self, name: str) -> Any:
        if name not in self._decoded:
            try:
                self._decoded[name] = _decode(self._ask.members[name])
            except (msgspec.DecodeError, RecursionError):
                self._decoded[name] = None
        return self._decoded[name]

    def _begins(self, name: str, sign: bytes) -> bool:
        """How a member's value begins. It is not copied: it may be the whole conversation."""
        return memoryview(self._ask.members.get(name, b""))[:1] == sign

    def _name(self, name: str) -> str:
        """The client's own name for a top-level member."""
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = self._other_name(name)
        return found

    def _other_name(self, name: str) -> str:
        members = self._ask.members
        if name not in members:
            return next((other for other in _namesakes(name) if other in members), name)
        other = self._places.spellings.get(name)
        return name if other is None or other not in self._own_names() else other

    def _own_names(self) -> Collection[str]:
        """The client's own names of all top-level members."""
        if self._own is None:
            self._own = names_of(self._ask.source, self._ask.members.values()) if self._ask.source else ()
        return self._own


def place_in(body: bytes, at: str) -> str:
    """The pointer of a parser's complaint, by the names of the body itself. What is no JSON has no places."""
    try:
        value = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return at
    head, slash, rest = at[1:].partition("/")
    if isinstance(value, dict) and head not in value:
        head = next((name for name in _namesakes(head) if name in value), head)
    return nearest(value, f"/{head}{slash}{rest}") if at else at


def _namesakes(name: str) -> tuple[str, ...]:
    """What others call the member that holds the messages, or the system text."""
    return LISTS if name in LISTS else SYSTEMS if name in SYSTEMS else ()
