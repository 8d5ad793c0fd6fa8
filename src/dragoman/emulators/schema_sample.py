"""A small value that fits a JSON Schema: always the same one for the same schema and the same hints."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol

_DEEPEST = 12  # recursive schemas end here
_DEEP = 4  # from here on, what is not required is left out
_LARGEST = 1000
_MOST = 10_000  # values: a schema that refers to itself many times over has no end
_LONGEST_PATTERN = 300
REPEATED_REPEAT = re.compile(r"[+*}]\??\)[+*{]")
"""Finds, in a pattern, the repetition of a repetition: such a pattern may never end."""
_FORMATS = {
    "date": "2026-01-01",
    "date-time": "2026-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "P1D",
    "email": "a@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/",
    "url": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_TRIED = ("text", "a", "A", "1", "10", "100", "1000", "12345", "2026", "a1", "abc", "ABC", "A-1", "AB", "a-b", "a_b")
"""Texts that are tried for a pattern, after the formats."""


class Hints(Protocol):
    """What is known about the values that are wanted. Each answers None if it knows nothing."""

    def give_text(self, name: str) -> str | None: ...

    def give_number(self, name: str) -> float | None: ...

    def give_choice(self, members: list[Any]) -> Any: ...


class NoHints:
    """Nothing is known."""

    def give_text(self, name: str) -> str | None:
        return None

    def give_number(self, name: str) -> float | None:
        return None

    def give_choice(self, members: list[Any]) -> Any:
        return None


def sample(schema: Any, hints: Hints | None = None, only_required: bool = False) -> Any:
    """A value that fits the schema. `only_required` leaves out what an object need not have."""
    return _Sampler(schema, hints or NoHints(), only_required).value(schema, "", 0)


class _Sampler:
    def __init__(self, root: Any, hints: Hints, only_required: bool) -> None:
        self._root = root
        self._hints = hints
        self._only_required = only_required
        self._left = _MOST

    def value(self, schema: Any, name: str, depth: int) -> Any:
        self._left -= 1
        if not isinstance(schema, dict) or depth > _DEEPEST or self._left < 0:
            return None
        for key in ("const", "default", "example"):
            if key in schema:
                return schema[key]
        members = schema.get("enum")
        if isinstance(members, list) and members:
            given = self._hints.give_choice(members)
            return members[0] if given is None else given
        inner = self._inner(schema, depth)
        if inner is not None:
            return self.value(inner, name, depth + 1)
        return self._sample_typed(schema, name, depth)

    def _inner(self, schema: dict[str, Any], depth: int) -> Any:
        """The schema that this one refers to: its `$ref`, its parts together, or the best alternative."""
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            return self._follow(reference)
        rest = {key: value for key, value in schema.items() if key not in ("anyOf", "oneOf", "allOf")}
        parts = schema.get("allOf")
        if isinstance(parts, list) and parts:
            return _merge([rest, *(self._open(part) for part in parts)])
        for key in ("anyOf", "oneOf"):
            members = schema.get(key)
            if isinstance(members, list) and members:
                return _merge([rest, self._open(self._alternative(members, depth))])
        return None

    def _follow(self, reference: str) -> Any:
        found = self._root
        for step in reference[1:].split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            found = found.get(step) if isinstance(found, dict) else None
        return found if found is not None else {}

    def _open(self, part: Any) -> Any:
        reference = part.get("$ref") if isinstance(part, dict) else None
        return self._follow(reference) if isinstance(reference, str) and reference.startswith("#") else part

    def _alternative(self, members: list[Any], depth: int) -> Any:
        """The first alternative that says something; null if the value is deep already."""
        nulls = [one for one in members if isinstance(one, dict) and one.get("type") in ("null", "NULL")]
        if nulls and depth > _DEEP:
            return nulls[0]
        return next((one for one in members if one not in nulls), members[0])

    def _sample_typed(self, schema: dict[str, Any], name: str, depth: int) -> Any:
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = next((one for one in kind if one != "null"), kind[0] if kind else None)
        match str(kind).lower():
            case "string":
                return self._text(schema, name)
            case "integer":
                return int(self._number(schema, name))
            case "number":
                return self._number(schema, name)
            case "boolean":
                return True
            case "array":
                return self._items(schema, name, depth)
            case "null":
                return None
            case _:
                return self._members(schema, depth)

    def _text(self, schema: dict[str, Any], name: str) -> str:
        form = str(schema.get("format"))
        text = _FORMATS.get(form) or self._hints.give_text(name) or "text"
        if isinstance(schema.get("pattern"), str):
            text = _fitting(schema["pattern"], text)
        most = _count(schema.get("maxLength"))
        return text.ljust(_count(schema.get("minLength")), "x")[: most or None]

    def _number(self, schema: dict[str, Any], name: str) -> Any:
        least, most = _bound(schema, "minimum", 1), _bound(schema, "maximum", -1)
        given = self._hints.give_number(name)
        if given is None:
            given = least or 1
        number = given if least is None else max(given, least)
        number = number if most is None else min(number, most)
        step = schema.get("multipleOf")
        if isinstance(step, int | float) and step > 0:
            number = -(-number // step) * step
        return int(number) if number == int(number) else number

    def _items(self, schema: dict[str, Any], name: str, depth: int) -> list[Any]:
        count = _count(schema.get("minItems"))
        if depth <= _DEEP + 2:
            count = max(1, count)
        first = schema.get("prefixItems")
        shapes = list(first) if isinstance(first, list) else []
        rest = schema.get("items") if isinstance(schema.get("items"), dict) else {"type": "string"}
        shapes += [rest] * (count - len(shapes))
        made = [self.value(shape, name, depth + 1) for shape in shapes]
        return _apart(made) if schema.get("uniqueItems") is True else made

    def _members(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        members = schema.get("properties")
        members = members if isinstance(members, dict) else {}
        required = _list(schema.get("required"))
        chosen = [*required, *self._find_named(members)] if self._only_required or depth > _DEEP else members
        made = {one: self.value(members.get(one, {"type": "string"}), one, depth + 1) for one in chosen}
        return {one: made[one] for one in (*members, *made) if one in made}

    def _find_named(self, members: dict[str, Any]) -> list[str]:
        """The members whose value the hints name."""
        listed = {one: shape.get("enum") for one, shape in members.items() if isinstance(shape, dict)}
        lists = [(one, values) for one, values in listed.items() if isinstance(values, list)]
        return [one for one, values in lists if self._hints.give_choice(values) is not None]


def _merge(parts: list[Any]) -> dict[str, Any]:
    """One schema that asks for what all of them ask for."""
    whole: dict[str, Any] = {}
    for part in parts:
        if not isinstance(part, Mapping):
            continue
        properties = {**whole.get("properties", {}), **_mapping(part.get("properties"))}
        required = [*whole.get("required", []), *_list(part.get("required"))]
        whole |= part
        whole |= {"properties": properties} if properties else {}
        whole |= {"required": list(dict.fromkeys(required))} if required else {}
    return whole


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _fitting(pattern: str, text: str) -> str:
    """A text that the pattern finds itself in, if one that is tried does. Patterns of strangers stay simple."""
    if len(pattern) > _LONGEST_PATTERN or REPEATED_REPEAT.search(pattern):
        return text
    try:
        found = re.compile(pattern)
        return next((one for one in (text[:100], *_FORMATS.values(), *_TRIED) if found.search(one)), text)
    except re.error:
        return text


def _bound(schema: dict[str, Any], name: str, inwards: int) -> float | None:
    """The least or the largest number; one further in if the bound itself is excluded."""
    bound, apart = schema.get(name), schema.get(f"exclusive{name.capitalize()}")
    if apart is True and isinstance(bound, int | float):
        return bound + inwards
    if isinstance(apart, int | float) and not isinstance(apart, bool):
        return apart + inwards
    return bound if isinstance(bound, int | float) and not isinstance(bound, bool) else None


def _apart(made: list[Any]) -> list[Any]:
    """The same values, none twice."""
    seen: list[Any] = []
    for at, one in enumerate(made):
        again = one in seen
        seen.append(f"{one}{at}" if again and isinstance(one, str) else one + at if again and _is_number(one) else one)
    return seen


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _count(value: Any) -> int:
    """A small count. Google writes numbers as texts, and a client may write anything."""
    try:
        return max(0, min(int(value), _LARGEST))
    except (TypeError, ValueError, OverflowError):
        return 0
