"""A constraint in plain words, for targets that do not read its keyword.

The model reads descriptions, so what can no longer be enforced is at least said. The text depends on the keyword
and its value alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from .vocabulary import Schema

LONGEST = 300

Sentence = Callable[[Any], str]


def show_value(value: Any) -> str:
    """A value as compact JSON, cut if it would drown the description."""
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def series(values: Any) -> str:
    """Values with commas between."""
    if not isinstance(values, list):
        return show_value(values)
    text = ", ".join(show_value(value) for value in values[:50])
    return text if len(text) <= LONGEST and len(values) <= 50 else text[: LONGEST - 1] + "…"


def _count(bound: str, what: str) -> Sentence:
    return lambda value: f"{bound} {show_value(value)} {what if value != 1 else what.removesuffix('s')}."


def _properties(bound: str) -> Sentence:
    return lambda value: f"{bound} {show_value(value)} {'property' if value == 1 else 'properties'}."


def _phrase(before: str) -> Sentence:
    return lambda value: f"{before} {value if isinstance(value, str) else show_value(value)}."


def _json(before: str) -> Sentence:
    return lambda value: f"{before} {show_value(value)}."


def _flag(sentence: str) -> Sentence:
    return lambda value: sentence if value is True else ""


def _schema(before: str) -> Sentence:
    return lambda value: "" if isinstance(value, bool) or not value else f"{before} {show_value(value)}."


def _patterns(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    return " ".join(f"Properties whose name matches {key} follow {show_value(each)}." for key, each in value.items())


def _dependencies(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    return " ".join(f"With {key} goes {series(needs)}." for key, needs in value.items())


def _enumerate(value: Any) -> str:
    if isinstance(value, list) and len(value) == 1:
        return f"Must be {show_value(value[0])}."
    return f"One of: {series(value)}."


SENTENCES: dict[str, Sentence] = {
    "pattern": _phrase("Must match pattern"),
    "format": _phrase("Format:"),
    "minLength": _count("At least", "characters"),
    "maxLength": _count("At most", "characters"),
    "minItems": _count("At least", "items"),
    "maxItems": _count("At most", "items"),
    "minProperties": _properties("At least"),
    "maxProperties": _properties("At most"),
    "minContains": _count("At least", "matching items"),
    "maxContains": _count("At most", "matching items"),
    "uniqueItems": _flag("No item twice."),
    "minimum": _json("At least"),
    "maximum": _json("At most"),
    "exclusiveMinimum": _json("Greater than"),
    "exclusiveMaximum": _json("Less than"),
    "multipleOf": _json("A multiple of"),
    "default": _json("Default:"),
    "example": _json("Example:"),
    "examples": lambda value: f"Examples: {series(value)}.",
    "const": lambda value: f"Must be {show_value(value)}.",
    "enum": _enumerate,
    "nullable": _flag("May be null."),
    "deprecated": _flag("Deprecated."),
    "readOnly": _flag("Read only."),
    "writeOnly": _flag("Write only."),
    "contentEncoding": _phrase("Encoded as"),
    "contentMediaType": _phrase("Media type:"),
    "not": _schema("Must not match"),
    "if": _schema("If it matches"),
    "then": _schema("Then it follows"),
    "else": _schema("Otherwise it follows"),
    "contains": _schema("Some item follows"),
    "propertyNames": _schema("Property names follow"),
    "additionalProperties": _schema("Other properties follow"),
    "unevaluatedProperties": _schema("Other properties follow"),
    "unevaluatedItems": _schema("Other items follow"),
    "additionalItems": _schema("Other items follow"),
    "prefixItems": lambda value: f"Items in order: {series(value)}.",
    "patternProperties": _patterns,
    "dependentRequired": _dependencies,
    "dependentSchemas": _dependencies,
    "dependencies": _dependencies,
    "anyOf": lambda value: f"Matches one of: {series(value)}.",
    "oneOf": lambda value: f"Matches exactly one of: {series(value)}.",
    "allOf": lambda value: f"Matches all of: {series(value)}.",
}


def sentence(keyword: str, value: Any) -> str:
    """What a keyword says; empty when it constrains nothing or is no constraint."""
    say = SENTENCES.get(keyword)
    return say(value) if say else ""


def describe(node: Schema, text: str) -> Schema:
    """The node with a sentence at the end of its description, unless it says so already."""
    present = node.get("description")
    present = present.rstrip() if isinstance(present, str) else ""
    if not text or text in present:
        return node
    gap = "" if not present else " " if present[-1] in ".!?:;…" else ". "
    return {**node, "description": present + gap + text}
