"""JSON Schema's own words: which keywords hold schemas, which hold data, and how to look at a node.

Only the keywords named here lead to further schemas. All else (`enum`, `const`, `default`, `examples`, unknown
keywords) is data and is never walked, and the keys of a map are names: a property called `default` is no keyword.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
SINGLES = frozenset(
    {
        *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
        *("unevaluatedItems", "unevaluatedProperties", "additionalItems", "contentSchema"),
    }
)
SUBSCHEMAS = MAPS | LISTS | SINGLES
# A boolean says plainly "others are (not) welcome" here; every dialect that knows the keyword reads it.
OPEN_OR_CLOSED = frozenset({"additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems"})
DEFINITIONS = ("$defs", "definitions")
CHOICES = ("anyOf", "oneOf")
ANNOTATIONS = frozenset({"title", "description", "default", "examples", "example", "deprecated", "$comment", "$schema"})

TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
# What people write who think in Python, Java or TypeScript.
NICKNAMES = {
    "str": "string",
    "text": "string",
    "int": "integer",
    "long": "integer",
    "float": "number",
    "double": "number",
    "bool": "boolean",
    "dict": "object",
    "map": "object",
    "struct": "object",
    "list": "array",
    "none": "null",
}


def kinds(node: Schema) -> tuple[str, ...]:
    """The types a node names, in lower case."""
    kind = node.get("type")
    listed = kind if isinstance(kind, list) else [kind]
    return tuple(one.lower() for one in listed if isinstance(one, str))


def is_object(node: Schema) -> bool:
    """An object by its type, or by its keywords if it has none."""
    return "object" in kinds(node) if "type" in node else "properties" in node or "required" in node


def is_null(node: Any) -> bool:
    """A schema that allows null and nothing else."""
    if not isinstance(node, dict):
        return False
    if "const" in node:
        return node["const"] is None
    return kinds(node) == ("null",) or node.get("enum") == [None]


def mapping(node: Schema, key: str) -> dict[str, Any]:
    """A keyword's map, or an empty one when something else stands there."""
    value = node.get(key)
    return value if isinstance(value, dict) else {}


def listing(node: Schema, key: str) -> list[Any]:
    """A keyword's list, or an empty one when something else stands there."""
    value = node.get(key)
    return value if isinstance(value, list) else []


def names(node: Schema, key: str = "required") -> list[str]:
    """The strings of a keyword's list, each once, in order."""
    return list(dict.fromkeys(name for name in listing(node, key) if isinstance(name, str)))


def without(node: Schema, *keys: str) -> Schema:
    """The node, less some keywords."""
    return {key: value for key, value in node.items() if key not in keys}


def rename_keyword(node: Schema, old: str, new: str) -> Schema:
    """The node with one keyword renamed, in its place."""
    return {new if key == old else key: value for key, value in node.items() if key == old or key != new}


def child(at: str, *steps: str | int) -> str:
    """A JSON pointer, some steps further down."""
    return at + "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)
