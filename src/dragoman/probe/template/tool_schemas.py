"""Which part of JSON Schema a chat template can write: some walk through a schema and fail if it is rich."""

from __future__ import annotations

import msgspec

from dragoman.probe.question import JsonObject
from dragoman.probe.template.prompts import PromptMaker
from dragoman.probe.template.renderer import Rendering
from dragoman.probe.template.trials import TemplateForms, body, tool
from dragoman.rules.schema import FORMS, compile_schema

LADDER = ("object", "minimal", "documented")
"""Schema dialects from the richest to the poorest."""

RICH_SCHEMAS: tuple[JsonObject, ...] = (
    {"type": "object"},
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {"a": {}, "b": True, "c": {"description": "Anything."}}},
    {"type": "object", "properties": {"a": {"type": ["string", "null"]}, "b": {"type": ["integer", "string"]}}},
    {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}}},
    {"type": "object", "properties": {"a": {"oneOf": [{"type": "object"}, {"const": 3}]}, "b": {"allOf": [{}]}}},
    {"type": "object", "properties": {"a": {"type": "array"}, "b": {"type": "array", "items": {}}}},
    {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"b": {}}}}}},
    {"type": "object", "properties": {"a": {"enum": ["x", 1, None]}, "b": {"type": "string", "enum": ["y"]}}},
    {"type": "object", "properties": {"a": {"const": "x"}, "b": {"type": "number", "default": 1.5}}},
    {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/node"}},
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    },
    {"type": "object", "properties": {"a": {"type": "object", "additionalProperties": {"type": "string"}}}},
    {"type": "object", "properties": {"items": {"type": "string"}, "type": {"type": "string"}}, "required": []},
    {"type": "object", "additionalProperties": False, "properties": {"a": {"type": "boolean", "default": True}}},
)


def schema_form_for(prompts: PromptMaker, forms: TemplateForms) -> tuple[str, Rendering | None]:
    """The first dialect of the ladder in which the template writes every schema, and how it fails with the ones before
    it. The last one is as poor as a schema can be."""
    failed: Rendering | None = None
    for name in LADDER:
        failure = next((one for one in _renderings(prompts, forms, name) if not one.ok), None)
        if failure is None:
            return name, failed
        failed = failed or failure
    return LADDER[-1], failed


def _renderings(prompts: PromptMaker, forms: TemplateForms, name: str) -> list[Rendering]:
    asked = [compile_schema(msgspec.json.encode(schema), FORMS[name]).json for schema in RICH_SCHEMAS]
    return [prompts.make(body(forms.user(), tools=(tool(parameters=msgspec.json.decode(schema)),))) for schema in asked]
