"""Two schemas that both hold, as one.

What one keyword can say for both stays (bounds tighten, `required` adds up, `enum` keeps what is in both). A property
that both describe gets an `allOf` of its own, which is merged in its turn if the form refuses it. What cannot be
joined goes into the description.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from .place import Place
from .vocabulary import ANNOTATIONS, DEFINITIONS, Schema, kinds
from .words import describe, sentence

MISS = object()
encode_sorted = msgspec.json.Encoder(order="deterministic").encode


def both(first: Schema, second: Schema, place: Place) -> Schema:
    """One schema for two that both hold; if both only annotate the value, the first one wins."""
    out = dict(first)
    for key, value in second.items():
        if key not in out:
            out[key] = value
        elif out[key] != value and key not in ANNOTATIONS:
            out = _reconcile(out, key, value, place)
    return out


def _reconcile(out: Schema, key: str, value: Any, place: Place) -> Schema:
    join = JOINS.get(key)
    result = join(out[key], value) if join else MISS
    if result is not MISS:
        return {**out, key: result}
    place.note(f"could not join two different values of {key}", "content")
    return describe(out, sentence(key, value))


def _maps(first: Any, second: Any) -> Any:
    if not isinstance(first, dict) or not isinstance(second, dict):
        return first if isinstance(first, dict) else second
    return {**second, **{name: _each(own, second.get(name, own)) for name, own in first.items()}}


def _each(first: Any, second: Any) -> Any:
    if first == second or second is True:
        return first
    if first is True:
        return second
    return False if first is False or second is False else {"allOf": [first, second]}


def _merge_known(first: Any, second: Any) -> Any:
    return {**second, **first} if isinstance(first, dict) and isinstance(second, dict) else MISS


def _unite(first: Any, second: Any) -> Any:
    if not isinstance(first, list) or not isinstance(second, list):
        return first if isinstance(first, list) else second
    holds = _membership(first)
    return first + [item for item in second if not holds(item)]


def _intersect(first: Any, second: Any) -> Any:
    if not isinstance(first, list) or not isinstance(second, list):
        return MISS
    holds = _membership(second)
    return [item for item in first if holds(item)] or MISS


def _membership(items: list[Any]) -> Callable[[Any], bool]:
    """Whether a value is among these. A list may be as long as a request: each value is looked up, not searched."""
    plain = {item for item in items if not isinstance(item, dict | list)}
    nested = {encode_sorted(item) for item in items if isinstance(item, dict | list)}
    return lambda item: encode_sorted(item) in nested if isinstance(item, dict | list) else item in plain


def _types(first: Any, second: Any) -> Any:
    ours, theirs = kinds({"type": first}), kinds({"type": second})
    common = [kind for kind in ours if kind in theirs]
    if "integer" in ours + theirs and "number" in ours + theirs and "integer" not in common:
        common = [*(kind for kind in common if kind != "number"), "integer"]
    if not common:
        return MISS
    return common[0] if len(common) == 1 else common


def _tighter(choose: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def join(first: Any, second: Any) -> Any:
        if _is_number(first) and _is_number(second):
            return choose(first, second)
        return first if _is_number(first) else second

    return join


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


JOINS: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("properties", "patternProperties", "dependentSchemas"), _maps),
    **dict.fromkeys(DEFINITIONS, _merge_known),
    **dict.fromkeys(("items", "additionalProperties", "contains", "propertyNames"), _each),
    **dict.fromkeys(("required", "allOf", "propertyOrdering"), _unite),
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), _tighter(max)),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), _tighter(min)),
    **dict.fromkeys(("nullable", "uniqueItems"), lambda first, second: first is True or second is True),
    "enum": _intersect,
    "type": _types,
}
