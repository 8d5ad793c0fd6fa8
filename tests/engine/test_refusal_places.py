"""A request that is refused is told where: at a place of the client's own body, by the client's own names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from tests.shapes.spoiled import spoil
from tests.shapes.wellformed import SAMPLES
from tests.strategies import SHAPES, request
from tests.targets import signer

from dragoman.engine.library.adapt import adapt, read
from dragoman.engine.library.lint import lint
from dragoman.engine.library.policy import Policy
from dragoman.errors import MalformedRequest, RequestError, Unrepresentable
from dragoman.wire.json_pointers import unescape

CLAUDE = "anthropic/claude-sonnet-4-5"
GEMINI = "gemini/gemini-2.5-flash"
CHAT = "openai/gpt-4o"
SEEDS = range(2)
VALUES = frozenset({"args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema"})


def leads_to(value: Any, at: str) -> str:
    """What a pointer finds: "it", "its parent" if an object lacks the last member, or "nothing"."""
    steps = [unescape(step) for step in at.split("/")[1:]]
    for index, step in enumerate(steps):
        if isinstance(value, list) and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return "its parent" if index == len(steps) - 1 and isinstance(value, dict) else "nothing"
    return "it"


def snake_case(value: Any) -> Any:
    """A request of Gemini as its REST examples write it."""
    if isinstance(value, list):
        return [snake_case(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        re.sub(r"(?<!^)([A-Z])", lambda found: f"_{found[1].lower()}", name): (
            inner if name in VALUES else snake_case(inner)
        )
        for name, inner in value.items()
    }


def wrong_bodies(source: str) -> Iterator[tuple[str, Any]]:
    """Every place of many requests once with every kind of wrong value."""
    bodies = [orjson.loads(request(source, seed, signer(CHAT)).body) for seed in SEEDS]
    bodies += SAMPLES.get(source, ())
    if source == "gemini":
        bodies += [snake_case(body) for body in bodies]
    seen: set[tuple[str, str]] = set()
    for body in bodies:
        for one in spoil(body):
            if (one.kind, one.place) not in seen:
                seen.add((one.kind, one.place))
                yield f"{one.kind} {one.place}", one.body


@pytest.mark.sampled(4)
@pytest.mark.parametrize("source", SHAPES)
def test_what_is_malformed_is_named_where_the_client_wrote_it(source: str) -> None:
    """Also, nothing but our own errors is raised. A member that is missing, or null, is named where it would stand."""
    wrong, refused = [], 0
    for what, body in wrong_bodies(source):
        try:
            read(orjson.dumps(body), source=source)
        except RequestError as fault:
            refused += 1
            found = leads_to(body, fault.at)
            absent = what.startswith(("missing", "null")) or fault.at.endswith("/file_data")
            if not fault.at or found == "nothing" or (found == "its parent" and not absent):
                wrong.append((what, fault.at, fault.message))
    assert wrong == []
    assert refused > 10


def contents(**more: Any) -> dict[str, Any]:
    return {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], **more}


def converse(**more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"text": "Hi"}]}], **more}


def chat(**more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "Hi"}], **more}


@pytest.mark.parametrize(
    ("source", "body", "at"),
    [
        ("gemini", contents(generation_config={"top_k": "many"}), "/generation_config/top_k"),
        ("gemini", contents(tool_config={"function_calling_config": {"mode": 7.5}}), None),
        ("gemini", {"request": contents(generation_config={"seed": "x"})}, "/request/generation_config/seed"),
        ("openai-chat", chat(functions=[{"name": 7}]), "/functions/0/name"),
        ("openai-chat", chat(tools=[{"type": "custom", "custom": {}}]), "/tools/0/custom/name"),
        (
            "anthropic",
            {"max_tokens": 9, "input": [{"role": "user", "content": [{"type": "image", "source": 7}]}]},
            None,
        ),
    ],
)
def test_a_place_is_spelled_as_the_client_spelled_it(source: str, body: dict[str, Any], at: str | None) -> None:
    with pytest.raises(MalformedRequest) as raised:
        read(orjson.dumps(body), source=source)
    assert leads_to(body, raised.value.at) != "nothing"
    assert at is None or raised.value.at == at


def test_a_declaration_whose_name_is_a_number_is_left_out_beside_others() -> None:
    body = chat(tools=[{"functionDeclarations": [{"name": "f"}, {"name": 7}]}])
    done = adapt(body, source="openai-chat", target="openai/gpt-4o")
    assert done.json["tools"] == [{"type": "function", "function": {"name": "f"}}]
    assert ("off-schema", "/tools/0", "content") in {(one.rule, one.at, one.loses) for one in done.changes}


@pytest.mark.parametrize("value", [7.5, "high", ["high"], True])
def test_a_reasoning_setting_of_another_type_is_a_field_like_any_other(value: Any) -> None:
    ask = read(orjson.dumps(chat(reasoning=value)), source="openai-chat")
    assert ask.conversation.extras is not None
    assert orjson.loads(ask.conversation.extras.fields["reasoning"]) == value


def test_a_tool_name_that_is_too_long_is_named_inside_its_entry() -> None:
    body = converse(toolConfig={"tools": [{"toolSpec": {"name": "n" * 2000, "inputSchema": {"json": {}}}}]})
    with pytest.raises(MalformedRequest) as raised:
        read(orjson.dumps(body), source="bedrock")
    assert raised.value.at == "/toolConfig/tools/0/toolSpec"


CACHED = {"type": "ephemeral"}


@pytest.mark.parametrize(
    ("source", "body", "target", "rule", "at", "says"),
    [
        (
            "gemini",
            contents(generationConfig={"topK": 3}),
            "openai-responses/gpt-5",
            "refused-setting",
            "/generationConfig/topK",
            "topK in a request of openai-responses",
        ),
        (
            "gemini",
            contents(
                tools=[{"functionDeclarations": [{"name": "f"}]}],
                toolConfig={"functionCallingConfig": {"mode": "ANY"}},
            ),
            "ollama/llama3.1",
            "tool-choice-form",
            "/toolConfig/functionCallingConfig",
            "a tool choice of kind required",
        ),
        (
            "bedrock",
            converse(
                toolConfig={
                    "tools": [{"toolSpec": {"name": "f", "inputSchema": {"json": {"type": "object"}}}}],
                    "toolChoice": {"any": {}},
                }
            ),
            "ollama/llama3.1",
            "tool-choice-form",
            "/toolConfig/toolChoice",
            "a tool choice of kind required",
        ),
        (
            "anthropic",
            chat(max_tokens=9, stop_sequences=["END"]),
            "openai-responses/gpt-5",
            "refused-setting",
            "/stop_sequences",
            "stop_sequences in a request of openai-responses",
        ),
        (
            "anthropic",
            chat(max_tokens=9, metadata={"user_id": "ann"}),
            GEMINI,
            "refused-setting",
            "/metadata/user_id",
            "user_id in a request of gemini",
        ),
        (
            "cohere",
            chat(k=3),
            "openai-responses/gpt-5",
            "refused-setting",
            "/k",
            "k in a request of openai-responses",
        ),
        (
            "ollama",
            chat(options={"top_k": 3}),
            "openai-responses/gpt-5",
            "refused-setting",
            "/options/top_k",
            "top_k in a request of openai-responses",
        ),
        (
            "gemini",
            contents(cached_content="cachedContents/1"),
            CHAT,
            None,
            "/cached_content",
            "cached_content stands for turns that only its provider holds",
        ),
        (
            "openai-responses",
            {"input": [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be brief."}]},
            CLAUDE,
            "late-system",
            "/input/1",
            "anthropic/claude-sonnet-4-5 has no place for a system message among the turns",
        ),
        (
            "anthropic",
            {
                "max_tokens": 9,
                "messages": [
                    {"role": "user", "content": "Hi"},
                    {"role": "assistant", "content": "Hello"},
                    {
                        "role": "user",
                        "content": [
                            {"type": "text", "text": "One."},
                            {"type": "text", "text": "Two.", "cache_control": CACHED},
                        ],
                    },
                ],
            },
            GEMINI,
            "refused-hint",
            "/messages/2/content/1",
            "a cache hint in a Gemini part",
        ),
        (
            "anthropic",
            chat(
                max_tokens=9,
                tools=[
                    {"name": "plain", "input_schema": {"type": "object"}},
                    {"name": "f", "input_schema": {"type": "object"}, "cache_control": CACHED},
                ],
            ),
            GEMINI,
            "refused-hint",
            "/tools/1",
            "a cache hint on the tool f in a Gemini request",
        ),
        (
            "ollama",
            chat(keep_alive="5m", options={"num_ctx": 9}),
            CLAUDE,
            "refused-setting",
            "/keep_alive",
            "fields of ollama in a request of anthropic: keep_alive, options.num_ctx",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("/") else "",
)
def test_what_a_dialect_cannot_express_is_named_where_the_client_wrote_it(
    source: str, body: dict[str, Any], target: str, rule: str | None, at: str, says: str
) -> None:
    rules = {} if rule is None else {rule: "keep"}
    with pytest.raises(Unrepresentable) as raised:
        adapt(orjson.dumps(body), source=source, target=target, policy=Policy(rules=rules))
    assert (raised.value.at, raised.value.message) == (at, says)


def test_lint_names_the_same_place() -> None:
    body = contents(cached_content="cachedContents/1")
    found = [one for one in lint(orjson.dumps(body), source="gemini", targets=CHAT) if one.rule == "unrepresentable"]
    assert [(one.at, one.says.split()[0]) for one in found] == [("/cached_content", "cached_content")]


def test_a_body_without_messages_is_told_its_own_name_for_them() -> None:
    with pytest.raises(MalformedRequest) as raised:
        adapt(orjson.dumps({"messages": []}), source="gemini", target=CHAT)
    assert (raised.value.at, raised.value.message) == ("/messages", '"messages" has no message')


def test_a_body_that_is_not_utf8_is_refused_for_that() -> None:
    with pytest.raises(MalformedRequest, match="the body is not UTF-8: byte 25 is 0xed"):
        adapt(b'{"model":"m","messages":"\xed\xa0\x80"}', source="openai-chat", target="openai/gpt-4o")
