"""One line per transformation: the form, the schema, what it becomes."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest
from tests.offenders import offenders

from dragoman.rules.schema import FORMS, compile_schema, rename_arguments

STR = {"type": "string"}
INT = {"type": "integer"}


def outcome(form: str, schema: Any) -> Any:
    return json.loads(compile_schema(json.dumps(schema).encode(), FORMS[form]).json)


def of(value: Any, **more: Any) -> dict[str, Any]:
    """Parameters with one property, the usual place of a subschema."""
    return {"type": "object", "properties": {"a": value}, **more}


PROTO_VALUES: dict[str, tuple[Any, Any]] = {
    "const": ({"const": "x"}, {"type": "string", "enum": ["x"]}),
    "const number": ({"const": 5}, {"type": "integer", "description": "Must be 5."}),
    "numeric enum": ({"type": "integer", "enum": [1, 2]}, {"type": "integer", "description": "One of: 1, 2."}),
    "string enum": ({"type": "string", "enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
    "enum without type": ({"enum": ["a"]}, {"type": "string", "enum": ["a"]}),
    "enum with empty": ({**STR, "enum": ["", "a"]}, {**STR, "enum": ["a"], "description": 'May be "".'}),
    "enum with null": ({"enum": ["a", None]}, {"type": "string", "enum": ["a"], "nullable": True}),
    "type list with null": ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
    "type list": (
        {"type": ["string", "integer"], "minLength": 2, "minimum": 1},
        {"anyOf": [{"type": "string", "minLength": 2}, {"type": "integer", "minimum": 1}]},
    ),
    "nullable anyOf": ({"anyOf": [STR, {"type": "null"}], "default": None}, {**STR, "nullable": True, "default": None}),
    "union": ({"anyOf": [STR, INT]}, {"anyOf": [STR, INT]}),
    "union beside default": ({"anyOf": [STR, INT], "default": 1}, {"anyOf": [STR, INT], "description": "Default: 1."}),
    "oneOf": ({"oneOf": [STR, INT]}, {"anyOf": [STR, INT]}),
    "allOf": ({"allOf": [STR, {"minLength": 1}, {"minLength": 3}]}, {"type": "string", "minLength": 3}),
    "format kept": ({**STR, "format": "date-time"}, {**STR, "format": "date-time"}),
    "format dropped": ({**STR, "format": "uri"}, {**STR, "description": "Format: uri."}),
    "pattern kept": ({**STR, "pattern": "^a+$"}, {**STR, "pattern": "^a+$"}),
    "exclusive bound": ({**INT, "exclusiveMinimum": 0}, {**INT, "description": "Greater than 0."}),
    "array without items": ({"type": "array"}, {"type": "array", "items": STR}),
    "tuple": (
        {"type": "array", "prefixItems": [INT, INT]},
        {
            "type": "array",
            "items": INT,
            "description": 'Items in order: {"type":"integer"}, {"type":"integer"}.',
        },
    ),
    "true": (True, {**STR, "description": "Any JSON value, written as JSON."}),
    "upper case": ({"type": "STRING"}, {"type": "STRING"}),
    "snake case": ({"any_of": [STR, INT]}, {"anyOf": [STR, INT]}),
    "nested object": (
        {"type": "object", "properties": {"b": STR}, "additionalProperties": False, "required": ["b", "gone"]},
        {"type": "object", "properties": {"b": STR}, "required": ["b"]},
    ),
    "map": (
        {"type": "object", "additionalProperties": INT},
        {"type": "object", "description": 'Other properties follow {"type":"integer"}.'},
    ),
    "empty type": ({"type": "", "enum": ["a"]}, {"type": "string", "enum": ["a"]}),
}


@pytest.mark.parametrize("case", PROTO_VALUES)
def test_values_for_protocol_buffers(case: str) -> None:
    before, after = PROTO_VALUES[case]
    assert outcome("gemini-proto", of(before)) == of(after)


MINIMAL_VALUES: dict[str, tuple[Any, str]] = {
    "pattern": ({**STR, "pattern": "^a+$"}, "Must match pattern ^a+$."),
    "maxItems": ({"type": "array", "items": STR, "maxItems": 5}, "At most 5 items."),
    "one item": ({"type": "array", "items": STR, "minItems": 1}, "At least 1 item."),
    "default": ({**INT, "default": 3}, "Default: 3."),
    "examples": ({**INT, "examples": [1, 2]}, "Examples: 1, 2."),
    "minimum": ({**INT, "minimum": 1, "maximum": 9}, "At least 1. At most 9."),
    "unique": ({"type": "array", "items": STR, "uniqueItems": True}, "No item twice."),
    "nullable": ({**STR, "nullable": True}, "May be null."),
    "after words": ({**STR, "description": "A name", "maxLength": 1}, "A name. At most 1 character."),
    "after a sentence": ({**STR, "description": "A name.", "minLength": 2}, "A name. At least 2 characters."),
    "not": ({**STR, "not": {"const": "a"}}, 'Must not match {"const":"a"}.'),
    "pairs": ({"type": "object", "patternProperties": {"^x": INT}},
              'Properties whose name matches ^x follow {"type":"integer"}.'),
}  # fmt: skip


@pytest.mark.parametrize("case", MINIMAL_VALUES)
def test_constraints_become_words(case: str) -> None:
    before, words = MINIMAL_VALUES[case]
    after = outcome("minimal", of(before))["properties"]["a"]
    assert after["description"] == words
    assert after.keys() <= {"type", "description", "items", "properties"}


ROOTS: dict[str, tuple[str, Any, Any]] = {
    "any of objects": (
        "anthropic",
        {"anyOf": [of(STR, required=["a"]), {"type": "object", "properties": {"b": INT}, "required": ["b"]}]},
        {
            "type": "object",
            "properties": {"a": STR, "b": INT},
            "description": "Give one of these groups of fields: a; or b.",
        },
    ),
    "common field": (
        "openai",
        {"oneOf": [of({"const": "x"}, required=["a"]), of({"const": "y"}, required=["a"])]},
        {"type": "object", "properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"]},
    ),
    "differing field": ("anthropic", {"anyOf": [of(STR), of(INT)]}, of({"anyOf": [STR, INT]})),
    "groups of required": (
        "anthropic",
        {"type": "object", "properties": {"a": STR, "b": STR}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {
            "type": "object",
            "properties": {"a": STR, "b": STR},
            "description": "Give one of these groups of fields: a; or b.",
        },
    ),
    "all of": ("anthropic", {"allOf": [of(STR), of(STR, required=["a"])]}, of(STR, required=["a"])),
    "reference": ("anthropic", {"$ref": "#/$defs/A", "$defs": {"A": of(STR), "b": INT}}, of(STR)),
    "reference to itself": (
        "anthropic",
        {"$ref": "#/definitions/A", "definitions": {"A": of({"$ref": "#/definitions/A"})}},
        of({"$ref": "#/definitions/A"}, definitions={"A": of({"$ref": "#/definitions/A"})}),
    ),
    "reference to others": (
        "anthropic",
        {"$ref": "#/$defs/A", "$defs": {"A": of({"$ref": "#/$defs/b~1c"}), "b/c": of({"$ref": "#/$defs/d"}), "d": INT}},
        of({"$ref": "#/$defs/b~1c"}, **{"$defs": {"b/c": of({"$ref": "#/$defs/d"}), "d": INT}}),
    ),
    "reference beside one to the whole": (
        "anthropic",
        {"$ref": "#/$defs/A", "$defs": {"A": of({"$ref": "#"}), "b": INT}},
        of({"$ref": "#"}, **{"$defs": {"A": of({"$ref": "#"}), "b": INT}}),
    ),
    "no type": ("anthropic", {"properties": {"a": STR}}, of(STR)),
    "nothing": ("openai", {}, {"type": "object", "properties": {}}),
    "php": ("openai", {"type": "object", "properties": []}, {"type": "object", "properties": {}}),
    "null properties": ("anthropic", {"type": "object", "properties": None}, {"type": "object", "properties": {}}),
    "nullable object": ("anthropic", {"type": ["object", "null"]}, {"type": "object"}),
    "upper case": (
        "anthropic",
        {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True}}},
        of({"type": ["string", "null"]}),
    ),
    "upper case for openai": (
        "openai",
        {"type": "OBJECT", "properties": {"a": {"type": "STRING", "nullable": True}}},
        of({"type": ["string", "null"]}),
    ),
    "array items": ("openai", of({"type": "array"}), of({"type": "array", "items": {}})),
    "old drafts": (
        "anthropic",
        of({"type": "number", "minimum": 1, "exclusiveMinimum": True, "required": True}),
        of({"type": "number", "exclusiveMinimum": 1}),
    ),
    "numbers in quotes": ("anthropic", of({"type": "array", "maxItems": "3"}), of({"type": "array", "maxItems": 3})),
    "nicknames": ("anthropic", of({"type": "str"}), of(STR)),
    "type as schema": ("anthropic", of("string"), of(STR)),
    "remote": (
        "gemini-json",
        of({"$ref": "https://example.com/x"}),
        of({"description": "See https://example.com/x."}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ROOTS)
def test_whole_schemas(case: str) -> None:
    form, before, after = ROOTS[case]
    assert outcome(form, before) == after


def test_C13_parameters_that_are_no_object_become_an_empty_one() -> None:
    odd = (None, True, [], "string", 3, {"type": "string"}, {"type": "array", "items": {}})
    answers = {"json-schema", "grammar", "grammar-words", *(name for name in FORMS if name.endswith("-answer"))} - {
        "cohere-answer"
    }
    assert not offenders(check_empty, product(odd, sorted(FORMS.keys() - answers)))


def check_empty(parameters: Any, form: str) -> None:
    written = outcome(form, parameters)
    assert written["type"] == "object"
    assert written["properties"] == {}


LOCAL: dict[str, tuple[Any, Any]] = {
    "plain": ({"$ref": "#/$defs/A"}, STR),
    "escaped": ({"$ref": "#/$defs/x~1y~0z"}, INT),
    "percent": ({"$ref": "#/$defs/a%20b"}, INT),
    "older": ({"$ref": "#/definitions/A"}, INT),
    "anchor": ({"$ref": "#here"}, {"type": "boolean"}),
    "chain": ({"$ref": "#/$defs/C"}, STR),
    "siblings": ({"$ref": "#/$defs/D", "description": "Mine."}, {**STR, "description": "Mine."}),
    "property": ({"$ref": "#/properties/z"}, STR),
    "nowhere": ({"$ref": "#/$defs/Z"}, {**STR, "description": "See #/$defs/Z. Any JSON value, written as JSON."}),
    "recursive": (
        {"$ref": "#/$defs/R"},
        {"type": "object", "properties": {"r": {"type": "object", "description": "Same shape as R."}}},
    ),
    "in allOf": ({"allOf": [{"$ref": "#/$defs/D"}], "description": "Mine."}, {**STR, "description": "Mine."}),
}


@pytest.mark.parametrize("case", LOCAL)
def test_references_are_written_out(case: str) -> None:
    before, after = LOCAL[case]
    definitions = {
        "A": STR,
        "x/y~z": INT,
        "a b": INT,
        "B": {"$anchor": "here", "type": "boolean"},
        "C": {"$ref": "#/$defs/A"},
        "D": {**STR, "description": "Theirs."},
        "R": {"type": "object", "properties": {"r": {"$ref": "#/$defs/R"}}},
    }
    source = {"type": "object", "properties": {"a": before, "z": STR}, "$defs": definitions, "definitions": {"A": INT}}
    assert outcome("gemini-proto", source) == {"type": "object", "properties": {"a": after, "z": STR}}


def test_a_cut_recursion_is_reported_as_a_loss() -> None:
    source = json.dumps(of({"$ref": "#"})).encode()
    compiled = compile_schema(source, FORMS["gemini-proto"])
    assert compiled.loses == "content"
    assert next(note.at for note in compiled.notes if note.loses == "content") == "/properties/a"


def test_C17_compatible_servers_get_no_default_and_properties_keep_their_names() -> None:
    source = of({**STR, "default": "x", "examples": ["y"]}, additionalProperties=False)
    source["properties"]["default"] = {"type": "object", "properties": {"additionalProperties": INT}}
    written = outcome("anthropic-compatible", source)
    assert written == {
        "type": "object",
        "properties": {
            "a": {**STR, "description": 'Default: "x". Examples: "y".'},
            "default": {"type": "object", "properties": {"additionalProperties": INT}},
        },
    }


def test_the_first_party_keeps_additional_properties() -> None:
    """X12."""
    source = json.dumps(of({**STR, "default": "x"}, additionalProperties=False)).encode()
    assert compile_schema(source, FORMS["anthropic"]).json is source


def test_names_in_maps_and_values_are_never_keywords() -> None:
    value = {"$ref": "#/nowhere", "type": "STRING", "default": 1, "anyOf": []}
    source = {
        "type": "object",
        "properties": {"$ref": STR, "type": {**STR, "enum": [value], "default": value, "const": value}},
        "patternProperties": {"default": STR},
        "$defs": {"oneOf": STR, "$defs": {"type": "object", "examples": [value]}},
    }
    encoded = json.dumps(source).encode()
    assert compile_schema(encoded, FORMS["mistral"]).json is encoded


def test_odd_property_names_are_renamed_and_found_again() -> None:
    source = {"type": "object", "properties": {"my name": STR, "my_name": STR}, "required": ["my name"]}
    compiled = compile_schema(json.dumps(source).encode(), FORMS["anthropic"])
    assert json.loads(compiled.json)["required"] == ["my_name_2"]
    assert compiled.names == (("my_name_2", "my name"),)
    assert rename_arguments(b'{"my_name_2":[{"my_name_2":1}]}', dict(compiled.names)) == b'{"my name":[{"my name":1}]}'
    untouched = b'{"my_name":1}'
    assert rename_arguments(untouched, dict(compiled.names)) is untouched


STRICT: dict[str, tuple[Any, Any]] = {
    "plain": (STR, {"type": ["string", "null"]}),
    "enum": ({**STR, "enum": ["a"]}, {"type": ["string", "null"], "enum": ["a", None]}),
    "const": ({**STR, "const": "a"}, {"anyOf": [{**STR, "const": "a"}, {"type": "null"}]}),
    "union": ({"anyOf": [STR, INT]}, {"anyOf": [STR, INT, {"type": "null"}]}),
    "array": ({"type": "array", "items": STR}, {"type": ["array", "null"], "items": STR}),
    "reference": ({"$ref": "#/$defs/A"}, {"anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]}),
    "described reference": (
        {"$ref": "#/$defs/A", "description": "Mine."},
        {"description": "Mine.", "anyOf": [{"$ref": "#/$defs/A"}, {"type": "null"}]},
    ),
    "object": (
        {"type": "object", "properties": {"b": STR}, "required": ["b"]},
        {"type": ["object", "null"], "properties": {"b": STR}, "required": ["b"], "additionalProperties": False},
    ),
}


@pytest.mark.parametrize("case", STRICT)
def test_A21_optional_is_nullable_in_strict_mode(case: str) -> None:
    before, after = STRICT[case]
    source = {"type": "object", "properties": {"a": before, "z": STR}, "required": ["z"], "$defs": {"A": STR}}
    strict = compile_schema(json.dumps(source).encode(), FORMS["openai-strict"])
    assert json.loads(strict.json) == {
        "type": "object",
        "properties": {"a": after, "z": STR},
        "required": ["a", "z"],
        "$defs": {"A": STR},
        "additionalProperties": False,
    }
    assert strict.loses == "nothing"


def test_an_empty_list_of_values_does_not_become_null_alone() -> None:
    source = {"type": "object", "properties": {"a": {"type": "string", "enum": []}}}
    strict = compile_schema(json.dumps(source).encode(), FORMS["openai-strict"])
    assert json.loads(strict.json)["properties"] == {"a": {"type": ["string", "null"]}}


@pytest.mark.parametrize("before", ["any", ["any", "null"], ["unknown", "null"]])
def test_a_type_that_nobody_knows_does_not_become_null_alone(before: Any) -> None:
    source = {"type": "object", "properties": {"a": {"type": before, "description": "Any."}}}
    plain = compile_schema(json.dumps(source).encode(), FORMS["openai"])
    assert json.loads(plain.json)["properties"] == {"a": {"description": "Any."}}
    assert compile_schema(json.dumps(source).encode(), FORMS["openai-strict"]).loses == "content"


def test_A21_required_is_omitted_when_empty() -> None:
    assert "required" not in outcome("anthropic-compatible", of(STR, required=[]))
    assert "required" not in outcome("gemini-proto", of(STR, required=["gone"]))


@pytest.mark.parametrize("source", [b"", b"{", b"nonsense", b'{"a": NaN}', b'"\\ud800"', b"\xff", b'{"type":"object"'])
def test_what_is_no_json_becomes_an_empty_object_with_a_note(source: bytes) -> None:
    compiled = compile_schema(source, FORMS["openai"])
    assert json.loads(compiled.json) == {"type": "object", "properties": {}}
    assert compiled.loses == "content"


def test_numbers_beyond_64_bits_stay_exact() -> None:
    source = b'{"properties":{"a":{"type":"integer","maximum":123456789012345678901234567890}}}'
    assert b'"maximum":123456789012345678901234567890' in compile_schema(source, FORMS["openai"]).json


def test_an_answer_of_cohere_requires_something_of_every_object() -> None:
    source = {
        "type": "object",
        "properties": {"a": {**STR, "minLength": 2}, "b": {"type": "object", "properties": {"c": INT}}},
    }
    made = outcome("cohere-answer", source)
    assert made["required"] == ["a", "b"]
    assert made["properties"]["b"]["required"] == ["c"]
    assert "minLength" not in made["properties"]["a"]
    kept = {"type": "object", "properties": {"a": STR, "b": INT}, "required": ["a"], "additionalProperties": False}
    assert outcome("cohere-answer", kept) == kept


MOONSHOT_VALUES: dict[str, tuple[Any, Any]] = {
    "null beside a type": ({**STR, "enum": ["x", None]}, {**STR, "enum": ["x"]}),
    "null of a list of types": ({"type": ["string", "null"], "enum": ["x", None]},) * 2,
    "a type implied": ({"enum": ["x", None]}, {"type": ["string", "null"], "enum": ["x", None]}),
    "integers are numbers": ({"type": "number", "enum": [1, 1.5]},) * 2,
    "several types": (
        {"enum": ["x", 1, True], "description": "D."},
        {
            "anyOf": [{"type": "boolean", "enum": [True]}, {**INT, "enum": [1]}, {**STR, "enum": ["x"]}],
            "description": "D.",
        },
    ),
    "of another type": ({**STR, "enum": [1]}, {**STR, "description": "Must be 1."}),
    "oneOf": ({"oneOf": [STR, INT]}, {"anyOf": [STR, INT]}),
    "allOf": ({"allOf": [STR, {"minLength": 1}]}, {**STR, "minLength": 1}),
}


@pytest.mark.parametrize("case", MOONSHOT_VALUES)
def test_moonshot_wants_a_type_at_every_node_and_values_of_it(case: str) -> None:
    before, after = MOONSHOT_VALUES[case]
    assert outcome("moonshot", of(before)) == of(after)


def test_values_of_several_types_lose_nothing_as_choices() -> None:
    compiled = compile_schema(json.dumps(of({"enum": ["x", 1]})).encode(), FORMS["moonshot"])
    assert [(note.did, note.loses) for note in compiled.notes] == [
        ("wrote values of several types as anyOf", "nothing")
    ]


LIST = {"type": "array", "items": STR}
LIMITS: dict[str, tuple[Any, Any]] = {
    "of a number": (
        {**INT, "minimum": 1, "exclusiveMaximum": 9, "multipleOf": 2},
        {**INT, "description": "At least 1. Less than 9. A multiple of 2."},
    ),
    "of a list": (
        {**LIST, "maxItems": 4, "uniqueItems": True, "minItems": 2},
        {**LIST, "description": "At most 4 items. No item twice. At least 2 items."},
    ),
    "a list that may not be empty": ({**LIST, "minItems": 1}, {**LIST, "minItems": 1}),
    "any list": ({**LIST, "minItems": 0}, {**LIST, "minItems": 0}),
    "of an object": (
        {"type": "object", "properties": {}, "additionalProperties": False, "maxProperties": 2},
        {"type": "object", "properties": {}, "additionalProperties": False, "description": "At most 2 properties."},
    ),
    "of a text": ({**STR, "minLength": 2, "pattern": "^a"}, {**STR, "minLength": 2, "pattern": "^a"}),
}


@pytest.mark.parametrize("case", LIMITS)
def test_limits_that_claudes_grammar_does_not_know_are_said(case: str) -> None:
    """https://github.com/agentjido/req_llm/issues/302, https://github.com/BerriAI/litellm/pull/33981"""
    source, fitting = LIMITS[case]
    closed = {"additionalProperties": False}
    assert outcome("anthropic-strict", of(source, **closed)) == of(fitting, **closed)
    assert outcome("anthropic", of(source)) == of(source)
    done = compile_schema(json.dumps(of(source, **closed)).encode(), FORMS["anthropic-strict"])
    assert done.loses == ("nothing" if source == fitting else "metadata")
    assert outcome("anthropic-answer", of(source)) == of(fitting)


EMAIL = r"^(?!\.)(?!.*\.\.)[a-z.]+@x$"
PATTERNS: dict[str, tuple[str, bool, bool]] = {
    "plain": ("^a[b-d]+$", True, True),
    "looks ahead": (EMAIL, False, False),
    "looks behind": ("a(?<=a)b", False, False),
    "not behind": ("a(?<!b)c", False, False),
    "a group": ("(?:a|b)(?P<name>c)", True, True),
    "an escaped bracket": (r"a\(?=b", True, True),
    "an escaped backslash before a bracket": (r"a\\(?=b)", False, False),
    "the edge of a word": (r"\bParis\b", True, False),
    "an escaped backslash before a letter": (r"a\\b", True, True),
    "refers back": (r"^(a)\1$", True, False),
}


@pytest.mark.parametrize("case", PATTERNS)
def test_a_pattern_that_is_not_read_is_said(case: str) -> None:
    """https://github.com/vercel/ai/pull/21037, https://github.com/ENTERPILOT/GoModel/pull/963"""
    pattern, forward, regular = PATTERNS[case]
    kept, said = {**STR, "pattern": pattern}, {**STR, "description": f"Must match pattern {pattern}."}
    assert outcome("openai", of(kept)) == of(kept if forward else said)
    assert outcome("anthropic-answer", of(kept)) == of(kept if regular else said)
    assert outcome("anthropic", of(kept)) == of(kept)
    assert outcome("grammar", of(kept)) == of(kept if regular else said)
    assert outcome("grammar-words", of({**kept, "format": "x"}))["properties"]["a"].keys() == {"type", "description"}
    source = of(kept, required=["a"], additionalProperties=False)
    fitting = of(kept if forward else said, required=["a"], additionalProperties=False)
    assert outcome("openai-strict", source) == fitting


UNCOMMON = {
    r"^[^\p{Cc}\p{Zl}]+$": False,
    r"\P{L}": False,
    r"(?<year>\d{4})": False,
    r"\cA": False,
    r"\\p{Cc}": True,
    r"\d\w\s\t\u00e4\x41\b(?P<year>a)[^\]]": True,
    "^(?!a)": True,
}


@pytest.mark.parametrize("pattern", UNCOMMON)
def test_a_pattern_that_javascript_alone_reads_is_said(pattern: str) -> None:
    """https://github.com/anthropics/claude-code/issues/92964"""
    kept, said = {**STR, "pattern": pattern}, {**STR, "description": f"Must match pattern {pattern}."}
    for form in ("common-object", "anthropic-compatible"):
        assert outcome(form, of(kept)) == of(kept if UNCOMMON[pattern] else said)
    assert outcome("anthropic", of(kept)) == of(kept)
    assert outcome("openai", of(kept)) == of(kept if UNCOMMON[pattern] and "(?!" not in pattern else said)


def test_names_of_properties_that_look_around_are_said() -> None:
    odd = {"type": "object", "patternProperties": {"^(?!x)": STR}}
    assert "patternProperties" not in outcome("openai", of(odd))["properties"]["a"]
    even = {"type": "object", "patternProperties": {"^x": STR}}
    assert outcome("openai", of(even)) == of(even)
