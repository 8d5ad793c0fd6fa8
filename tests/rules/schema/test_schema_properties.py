"""What holds for every schema in every form."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.offenders import offenders

from dragoman.rules.schema import FORMS, SchemaForm, compile_schema
from dragoman.rules.schema.vocabulary import LISTS, MAPS, SINGLES

KEYWORDS = sorted(
    (MAPS | LISTS | SINGLES)
    | {"type", "enum", "const", "required", "description", "title", "default", "examples", "format", "pattern"}
    | {"$ref", "nullable", "minLength", "maxItems", "minimum", "exclusiveMinimum", "uniqueItems", "any_of", "x-own"}
)
TYPES = ["string", "integer", "number", "boolean", "object", "array", "null", "STRING", "OBJECT", "str", "any", ""]
REFS = [
    "#",
    "#/$defs/a",
    "#/$defs/b",
    "#/definitions/a~1b",
    "#/properties/a",
    "#gone",
    "https://example.com/s",
    "#/$defs/c",
]

scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.sampled_from(["", "a", "b", "x y"])
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*KEYWORDS, "a", "b"]), inner, max_size=4)
    ),
    max_leaves=25,
)
names = st.sampled_from(
    ["a", "b", "c", "a/b", "default", "type", "$ref", "properties", "enum", "name with space", "ü" * 70]
)


def schemas(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Schemas that mostly make sense, so that the steps meet each other and not only nonsense."""
    maps = st.dictionaries(names, inner, max_size=3)
    lists = st.lists(inner, min_size=1, max_size=3)
    return st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(TYPES) | st.lists(st.sampled_from(TYPES), max_size=3),
            "properties": maps | st.sampled_from([[], None]),
            "required": st.lists(names, max_size=3),
            "items": inner | lists,
            **dict.fromkeys(sorted(LISTS), lists),
            **dict.fromkeys(("$defs", "definitions", "patternProperties"), maps),
            **dict.fromkeys(("additionalProperties", "not", "if", "then", "contains"), inner),
            "enum": st.lists(scalars, max_size=3),
            "const": scalars,
            "nullable": st.booleans(),
            "default": anything,
            "description": st.sampled_from(["Words.", "Words", ""]),
            "title": st.just("Title"),
            "format": st.sampled_from(["date-time", "uri", "int32", "email"]),
            "minimum": scalars,
            "exclusiveMaximum": scalars,
            "maxLength": st.sampled_from([3, "3", -1, True]),
            "pattern": st.just("^a+$"),
            "uniqueItems": st.booleans(),
            "$ref": st.sampled_from(REFS),
            "$schema": st.just("https://json-schema.org/draft/2020-12/schema"),
        },
    )


schema = st.recursive(st.booleans() | schemas(st.just({})), schemas, max_leaves=12)
form_names = st.sampled_from(sorted(FORMS))
many = settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))


def encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def nodes(value: Any) -> list[dict[str, Any]]:
    """Every schema inside a schema, by an own walk that knows which keywords hold schemas."""
    if not isinstance(value, dict):
        return []
    inside: list[Any] = []
    for key, each in value.items():
        if key in MAPS and isinstance(each, dict):
            inside += each.values()
        elif key in LISTS and isinstance(each, list):
            inside += each
        elif key in SINGLES:
            inside.append(each)
    return [value, *(node for each in inside for node in nodes(each))]


@many
@given(anything, form_names)
def test_no_json_value_is_too_strange(value: Any, name: str) -> None:
    compiled = compile_schema(encoded(value), FORMS[name])
    assert isinstance(json.loads(compiled.json), dict | bool)
    again = compile_schema(compiled.json, FORMS[name])
    assert again.json is compiled.json, again.notes


@pytest.mark.slow
@many
@example({"anyOf": [{"type": "string", "nullable": True, "not": {}}]}, "gemini-meant")
@given(schema, form_names)
def test_every_schema_settles_in_its_form(value: Any, name: str) -> None:
    source, form = encoded(value), FORMS[name]
    compiled = compile_schema(source, form)
    again = compile_schema(compiled.json, form)
    assert again.notes == ()
    assert again.json is compiled.json
    assert compiled.notes or compiled.json is source
    assert compile_schema(bytes(bytearray(source)), form) == compiled
    if isinstance(value, dict) or form.typing != "free":
        _assert_fits(nodes(json.loads(compiled.json)), form)


def _is_null_list(types: list[str], form: SchemaForm) -> bool:
    return form.null_lists and len(types) == 2 and types[0] != "null" and types[1] == "null"


def _may_be_object(node: dict[str, Any]) -> bool:
    return "type" not in node or "object" in node["type"]


def _assert_fits(written: list[dict[str, Any]], form: SchemaForm) -> None:
    for node in written:
        assert all(form.knows(key) for key in node if key not in ("$defs", "definitions", "$ref"))
        assert form.refs or not node.keys() & {"$ref", "$defs", "definitions"}
        assert not node.keys() & {"anyOf", "oneOf", "allOf"} - form.unions
        assert form.type_lists or not isinstance(node.get("type"), list) or _is_null_list(node["type"], form)
        assert form.typing != "always" or node.keys() & {"type", "anyOf", "$ref"}
        assert not form.string_enums or all(isinstance(one, str) and one for one in node.get("enum", []))
        assert not form.required_exist or set(node.get("required", [])) <= set(node.get("properties", {}))
        assert not form.some_required or not node.get("properties") or node.get("required") or not _may_be_object(node)
        assert form.strict == "off" or node.get("type") != "object" or node["additionalProperties"] is False
        assert form.strict != "all" or node.get("type") != "object" or set(node["required"]) == set(node["properties"])
        assert form.array_items is None or node.get("type") != "array" or "items" in node
    assert form.root_unions or not written[0].keys() & {"anyOf", "oneOf", "allOf"}
    assert form.typing == "free" or written[0]["type"] in ("object", "OBJECT")


@many
@given(st.lists(st.sampled_from(KEYWORDS), min_size=1, unique=True), st.integers(0, 3), form_names)
def test_a_property_named_like_a_keyword_survives(chosen: list[str], depth: int, name: str) -> None:
    value: Any = {"type": "object", "properties": {key: {"type": "string"} for key in chosen}, "required": chosen}
    for key in (*chosen, "default", "type")[:depth]:
        value = {"type": "object", "properties": {key: value}, "required": [key]}
    written = json.loads(compile_schema(encoded(value), FORMS[name]).json)
    renames = {own: new for new, own in compile_schema(encoded(value), FORMS[name]).names}
    for key in (*chosen, "default", "type")[:depth][::-1]:
        written = written["properties"][renames.get(key, key)]
    assert list(written["properties"]) == [renames.get(key, key) for key in chosen]
    plain = {"type": "string", "description": ""} if FORMS[name].documented else {"type": "string"}
    assert all(each == plain for each in written["properties"].values())


@many
@given(anything, form_names)
def test_values_are_data_and_stay_as_they_are(value: Any, name: str) -> None:
    source = {"type": "object", "properties": {"a": {"type": "string", "default": value}}}
    written = json.loads(compile_schema(encoded(source), FORMS[name]).json)["properties"]["a"]
    assert not FORMS[name].knows("default") or written["default"] == value


def chain(length: int, width: int) -> dict[str, Any]:
    """Definitions that each name the next one several times: width ** length nodes when written out."""
    defs: dict[str, Any] = {
        f"d{i}": {"type": "object", "properties": {f"p{j}": {"$ref": f"#/$defs/d{i + 1}"} for j in range(width)}}
        for i in range(length)
    }
    defs[f"d{length}"] = {"type": "string"}
    return {"type": "object", "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": defs}


def nested(depth: int, key: str) -> bytes:
    opening = {"items": b'{"type":"array","items":', "anyOf": b'{"anyOf":[', "not": b'{"not":', "list": b"["}[key]
    closing = {"items": b"}", "anyOf": b"]}", "not": b"}", "list": b"]"}[key]
    return opening * depth + b'{"type":"string"}' + closing * depth


BOMBS = {
    "expansion": encoded(chain(30, 10)),
    "long-chain": encoded(chain(2000, 1)),
    "circle": encoded(
        {"$defs": {f"d{i}": {"$ref": f"#/$defs/d{(i + 1) % 3000}"} for i in range(3000)}, "$ref": "#/$defs/d0"}
    ),
    "all-of": encoded({"allOf": [{"allOf": [{"$ref": "#"}, {"$ref": "#"}]}] * 50}),
    "distributed": encoded({"properties": {"a": {"items": {}, "anyOf": [{"anyOf": [{}, {"a": 1}] * 20}] * 50}}}),
    "many-properties": encoded({"properties": {f"p {i}": {"const": i} for i in range(2000)}}),
    "open-brackets": b"[" * 100_000,
    **{
        f"{key}-{depth}": nested(depth, key)
        for key in ("items", "anyOf", "not", "list")
        for depth in (60, 90, 180, 50_000)
    },
}


@pytest.mark.slow
def test_bombs_do_no_harm() -> None:
    forms = ("json-schema", "anthropic", "openai-strict", "gemini-proto", "minimal")
    assert not offenders(check_bomb, product(sorted(BOMBS), forms))


def check_bomb(bomb: str, name: str) -> None:
    compiled = compile_schema(BOMBS[bomb], FORMS[name])
    assert len(compiled.json) < 3_000_000
    assert len(compiled.notes) < 2000
    assert compile_schema(compiled.json, FORMS[name]).json is compiled.json
