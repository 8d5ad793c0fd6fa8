"""`schema-label`: a name or a description of the answer's schema that the target does not take."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judges import judge
from tests.rules.runs import CHAT, facts, run

from dragoman.engine.library.adapt import AdaptedRequest, adapt
from dragoman.rules.name.schema_label import schema_label

NO_LABELS = facts(format_labels="refuses")
PATTERN = "[a-zA-Z0-9_-]{1,64}"
PLAIN: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}


def asked(schema: Any = PLAIN, name: str = "city", **more: Any) -> dict[str, Any]:
    form = {"type": "json_schema", "json_schema": {"name": name, "schema": schema, **more}}
    return {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "response_format": form}


INSIDE: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "a name": (asked(), {"title": "city", **PLAIN}, ["nothing"]),
    "a description": (
        asked(description="Where."),
        {"title": "city", "description": "Where.", **PLAIN},
        ["nothing", "nothing"],
    ),
    "two descriptions": (
        asked({"description": "A city.", "type": "object"}, description="Where."),
        {"title": "city", "description": "Where.\n\nA city.", "type": "object"},
        ["nothing", "nothing"],
    ),
    "the same description": (
        asked({"description": "Where. A city.", "type": "object"}, "response", description="A city."),
        {"description": "Where. A city.", "type": "object"},
        ["nothing"],
    ),
    "the same title": (asked({"title": "city"}), {"title": "city"}, ["nothing"]),
    "another title": (asked({"title": "town"}), {"title": "town"}, ["metadata"]),
    "a title that is no text": (asked({"title": 7}), {"title": 7}, ["metadata"]),
}


@pytest.mark.parametrize("case", INSIDE)
def test_labels_move_into_the_schema(case: str) -> None:
    body, schema, losses = INSIDE[case]
    done = run(schema_label, body, NO_LABELS)
    assert done.json["response_format"]["json_schema"] == {"name": "response", "schema": schema}
    assert [loses for _, loses, _ in done.changes] == losses
    assert {at for at, _, _ in done.changes} == {"/response_format"}


def test_labels_without_a_place_are_left_out() -> None:
    body = asked(description="Where.")
    del body["response_format"]["json_schema"]["schema"]
    done = run(schema_label, body, NO_LABELS)
    assert done.did == ["left out the name of the answer's schema", "left out the description of the answer's schema"]
    assert [loses for _, loses, _ in done.changes] == ["metadata", "metadata"]


NAMES = {
    "city info!": "city_info_",
    "intent/1.0": "intent_1_0",
    "시말서": "___",
    "x" * 65: "x" * 55 + "_",
}


@pytest.mark.parametrize(("given", "written"), NAMES.items())
def test_a_name_gets_the_form_of_the_target(given: str, written: str) -> None:
    done = run(schema_label, asked(name=given), facts(format_name_pattern=PATTERN))
    name = done.json["response_format"]["json_schema"]["name"]
    assert name.startswith(written)
    assert len(name) == (64 if len(given) > 64 else len(given))
    assert done.changes == [("/response_format", "nothing", False)]


@pytest.mark.parametrize("known", [facts(), facts(format_name_pattern=PATTERN)])
def test_a_name_that_fits_stays(known: Any) -> None:
    assert run(schema_label, asked(name="x" * 64, description="Where."), known).untouched


def test_the_name_that_stands_for_none_is_no_name() -> None:
    assert run(schema_label, asked(name="response"), NO_LABELS).conversation.settings.response_format is not None
    assert not run(schema_label, asked(name="response"), NO_LABELS).changes


def accepted(body: dict[str, Any], target: str) -> AdaptedRequest:
    adapted = adapt(body, source=CHAT, target=target)
    name, _, model = target.partition("/")
    assert judge(name, model, adapted.path, adapted.headers, adapted.body) is None
    return adapted


@pytest.mark.parametrize("target", ["openai/gpt-4o", "openai-responses/gpt-5", "azure-openai/gpt-4o"])
@pytest.mark.parametrize("name", ["city info!", "x" * 65, ""])
def test_openai_takes_the_name_at_the_first_send(target: str, name: str) -> None:
    accepted(asked(name=name), target)


@pytest.mark.parametrize(
    "target", ["gemini/gemini-2.5-flash", "ollama/qwen3", "anthropic/claude-opus-4-8", "cohere/command-a-03-2025"]
)
def test_nothing_of_the_labels_is_lost(target: str) -> None:
    adapted = accepted(asked({**PLAIN, "additionalProperties": False}, description="Where."), target)
    assert b'"city"' in adapted.body
    assert b'"Where."' in adapted.body
    assert [change.rule for change in adapted.changes].count("schema-label") == 2
