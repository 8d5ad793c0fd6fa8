"""Every change names a place in the client's own body, whatever the client's dialect calls it."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from tests.shapes.wellformed import SAMPLES
from tests.strategies import SHAPES, request
from tests.targets import ONE_OF_EACH, SEEDS, signer

from dragoman.conversation.changes import Change
from dragoman.dialects.registry import dialect
from dragoman.engine.library.adapt import adapt

TARGETS = (
    *ONE_OF_EACH,
    "bedrock/us.amazon.nova-lite-v1:0",
    "bedrock/meta.llama3-3-70b-instruct-v1:0",
    "groq/llama-3.3-70b-versatile",
    "openai/o3",
)
MAKERS = frozenset({"undeclared-tools", "refused-format"})
"""Rules that make up tools and a choice among them. Rules after them speak of those where they would stand."""
WEATHER = {"type": "object", "properties": {"city": {"type": "string", "default": "Paris"}}}
ODD = {"type": "object", "properties": {"odd name": {"type": "string"}}, "anyOf": [{"required": ["odd name"]}]}


def test_every_change_names_a_place_in_the_clients_body() -> None:
    """It is there; or the change added something, and names where that would stand in this dialect."""
    wrong = [
        (source, target, change.rule, change.at)
        for target in TARGETS
        for source in SHAPES
        for body in _bodies(source, target)
        for change in _misplaced(body, source, adapt(body, source=source, target=target).changes)
    ]
    assert wrong == []


def _bodies(source: str, target: str) -> list[bytes]:
    made = [request(source, seed, signer(target)).body for seed in range(SEEDS)]
    return made + [orjson.dumps(sample) for sample in SAMPLES.get(source, ())]


def _misplaced(body: bytes, source: str, changes: tuple[Change, ...]) -> list[Change]:
    places = dialect(source).requests.places
    settings = {name: places.settings.get(name, (f"/{name}",)) for name in ("max_tokens", "thinking", "include")}
    added = {places.tools[0], *(pointers[0] for pointers in settings.values())}
    made_up = {places.tools[0], *places.settings.get("tool_choice", ("/tool_choice",))}
    wire, rules, wrong = orjson.loads(body), set[str](), []
    for change in changes:
        absent = (added if change.kind != "repair" else set()) | (made_up if rules & MAKERS else set())
        if change.at not in absent and not _resolves(wire, change.at):
            wrong.append(change)
        rules.add(change.rule)
    return wrong


def _resolves(value: Any, at: str) -> bool:
    for step in at.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return False
    return True


def _gemini(**more: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], **more}


def _converse(**more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], **more}


def _messages(**more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 64, **more}


@pytest.mark.parametrize(
    ("source", "body", "target", "places"),
    [
        ("gemini", _gemini(generationConfig={"topK": 3}), "openai/gpt-4o", ["/generationConfig/topK"]),
        ("gemini", _gemini(generation_config={"top_k": 3}), "openai/gpt-4o", ["/generation_config/top_k"]),
        ("gemini", _gemini(top_k=3), "openai/gpt-4o", ["/top_k"]),
        ("bedrock", _converse(inferenceConfig={"temperature": 1}), "openai/o3", []),
        ("bedrock", _converse(inferenceConfig={"topP": 0.5}), "openai/o3", ["/inferenceConfig/topP"]),
        (
            "bedrock",
            _converse(additionalModelRequestFields={"top_k": 3}),
            "openai/gpt-4o",
            ["/additionalModelRequestFields/top_k"],
        ),
        ("ollama", {**_messages(), "options": {"top_k": 3}}, "openai/gpt-4o", ["/max_tokens", "/options/top_k"]),
        ("cohere", _messages(k=3), "openai/gpt-4o", ["/k"]),
        ("anthropic", _messages(top_k=3), "openai/gpt-4o", ["/top_k"]),
        ("anthropic", _messages(stop_sequences=["END"]), "openai/o3", ["/stop_sequences"]),
        (
            "openai-responses",
            {"input": "Hi", "text": {"verbosity": "low"}},
            "groq/llama-3.3-70b-versatile",
            ["/text/verbosity"],
        ),
        ("openai-chat", _messages(top_k=3), "openai/gpt-4o", ["/top_k"]),
    ],
)
def test_a_setting_is_named_where_the_client_wrote_it(
    source: str, body: dict[str, Any], target: str, places: list[str]
) -> None:
    changes = adapt(orjson.dumps(body), source=source, target=target).changes
    assert sorted({change.at for change in changes}) == places


@pytest.mark.parametrize("key", ["functionDeclarations", "function_declarations"])
def test_a_declaration_of_gemini_is_named_inside_its_entry(key: str) -> None:
    functions = [{"name": name, "parametersJsonSchema": WEATHER} for name in ("weather", "odd.name", "odder.name")]
    body = _gemini(tools=[{key: functions[:1]}, {key: functions[1:]}])
    changes = adapt(orjson.dumps(body), source="gemini", target="openai/gpt-4o").changes
    renamed = [change.at for change in changes if change.rule == "tool-name-form"]
    assert renamed == [f"/tools/1/{key}/0", f"/tools/1/{key}/1"]


def test_a_tool_of_converse_is_named_inside_its_entry() -> None:
    spec = {"toolSpec": {"name": "weather", "inputSchema": {"json": ODD}}}
    body = _converse(toolConfig={"tools": [{"toolSpec": {**spec["toolSpec"], "name": "plain"}}, spec]})
    changes = adapt(orjson.dumps(body), source="bedrock", target="openai/gpt-4o").changes
    assert {change.at for change in changes} == {f"/toolConfig/tools/{place}/toolSpec" for place in (0, 1)}


def test_a_legacy_function_is_named_among_the_functions() -> None:
    body = _messages(functions=[{"name": "odd.name", "parameters": WEATHER}])
    changes = adapt(orjson.dumps(body), source="openai-chat", target="anthropic/claude-sonnet-4-5").changes
    assert "/functions/0" in {change.at for change in changes if change.rule == "tool-name-form"}


def test_a_system_text_is_named_as_the_client_spelled_it() -> None:
    body = _gemini(system_instruction={"parts": [{"text": "One."}, {"text": ""}]})
    changes = adapt(orjson.dumps(body), source="gemini", target="anthropic/claude-sonnet-4-5").changes
    assert {change.at for change in changes if change.rule == "empty-content"} == {"/system_instruction"}


def test_a_text_in_place_of_a_list_has_no_places_inside() -> None:
    body = orjson.dumps({"input": "Hi", "text": {"format": {"type": "json_object"}}})
    changes = adapt(body, source="openai-responses", target="openai/gpt-4o").changes
    assert [(change.rule, change.at) for change in changes] == [("json-word", "/input")]


def test_citations_of_a_chat_answer_are_named_one_by_one() -> None:
    cited = [{"type": "url_citation", "url_citation": {"url": f"https://{n}.example"}} for n in range(2)]
    said = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": said, "annotations": cited}]
    done = adapt({"messages": [*messages, {"role": "user", "content": "So?"}]}, target="gemini/gemini-2.5-flash")
    assert [change.at for change in done.changes] == ["/messages/1/annotations/0", "/messages/1/annotations/1"]


def test_a_result_that_two_rules_changed_is_named_among_the_others_of_its_turn() -> None:
    """X16."""
    calls = [{"type": "tool_use", "id": one, "name": "f", "input": {}} for one in ("t1", "t2")]
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    bad = {"type": "tool_result", "tool_use_id": "t1", "is_error": True, "content": [picture]}
    turn = [bad, {"type": "text", "text": "and"}, {"type": "tool_result", "tool_use_id": "t2", "content": "12"}]
    messages = [
        {"role": role, "content": content} for role, content in (("user", "Hi"), ("assistant", calls), ("user", turn))
    ]
    adapted = adapt({"max_tokens": 9, "messages": messages}, source="anthropic", target="ollama/llama3")
    places = {change.rule: change.at for change in adapted.changes}
    assert (places["refused-part"], places["error-mark"]) == ("/messages/2/content/0", "/messages/2/content/0")
