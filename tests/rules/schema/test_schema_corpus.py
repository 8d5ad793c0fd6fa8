"""Every recorded tool schema: what its own provider took comes back untouched, and all settle in every form."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from dragoman.rules.schema import FORMS, compile_schema

CORPUS = Path(os.environ.get("DRAGOMAN_CORPUS") or Path(__file__).parents[4] / "shared" / "corpus")
PARAMETERS = ("parameters", "parametersJsonSchema", "parameters_json_schema")
TAKEN_BY = {
    ("anthropic", "input_schema"): "anthropic",
    ("anthropic", "input_schema strict"): "anthropic-strict",
    ("bedrock", "input_schema"): "anthropic",
    ("openai", "function"): "openai",
    ("openai", "function strict"): "openai-strict",
    ("azure-openai", "function"): "openai",
    ("gemini", "parameters"): "gemini-proto",
    ("vertex", "parameters"): "gemini-proto",
    ("gemini", "parametersJsonSchema"): "gemini-json",
    ("gemini", "parameters_json_schema"): "gemini-json",
    ("vertex", "parametersJsonSchema"): "gemini-json",
    ("mistral", "function"): "mistral",
}

pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"no recorded traffic at {CORPUS}; set DRAGOMAN_CORPUS")


def declared(body: Any) -> Iterator[tuple[str, Any]]:
    """The schemas of a request's tools, with the field each stood in."""
    tools = body.get("tools") if isinstance(body, dict) else None
    for tool in tools if isinstance(tools, list) else [tools]:
        if not isinstance(tool, dict):
            continue
        strict = " strict" if tool.get("strict") is True else ""
        if "input_schema" in tool:
            yield "input_schema" + strict, tool["input_schema"]
        if tool.get("type") == "function" and "parameters" in tool:
            yield "function" + strict, tool["parameters"]
        function = tool.get("function")
        if isinstance(function, dict) and "parameters" in function:
            yield "function" + (" strict" if function.get("strict") is True else ""), function["parameters"]
        for each in tool.get("functionDeclarations") or tool.get("function_declarations") or []:
            yield from ((key, each[key]) for key in PARAMETERS if key in each)


@lru_cache(maxsize=1)
def recorded() -> dict[tuple[str, str, bool], set[bytes]]:
    """All schemas by provider, field, and whether the request was accepted."""
    found: dict[tuple[str, str, bool], set[bytes]] = {}
    for path in sorted(CORPUS.glob("*.jsonl")):
        for line in path.read_bytes().splitlines():
            if b'"tools"' not in line:
                continue
            exchange = json.loads(line)
            accepted = exchange["response"]["status"] < 300
            for field, schema in declared((exchange["request"] or {}).get("body")):
                key = (exchange["provider"], field, accepted)
                found.setdefault(key, set()).add(json.dumps(schema).encode())
    return found


@pytest.mark.parametrize(("provider", "field"), TAKEN_BY)
def test_what_the_provider_took_is_not_touched(provider: str, field: str) -> None:
    form = FORMS[TAKEN_BY[provider, field]]
    schemas = recorded().get((provider, field, True), set())
    if not schemas:
        pytest.skip(f"no schema of {provider} in {field} was recorded as accepted")
    touched = {schema: compile_schema(schema, form).notes for schema in sorted(schemas)}
    assert {schema: notes for schema, notes in touched.items() if notes} == {}


@pytest.mark.parametrize("name", sorted(FORMS))
def test_every_recorded_schema_settles_in_every_form(name: str) -> None:
    schemas = set().union(*recorded().values())
    assert schemas
    for schema in sorted(schemas):
        compiled = compile_schema(schema, FORMS[name])
        again = compile_schema(compiled.json, FORMS[name])
        assert again.json is compiled.json, (schema, again.notes)
