"""`refused-format`: a form of the answer that the model does not take (K32)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judges import judge
from tests.rules.runs import CHAT, Run, facts, run, sent

from dragoman.engine.library.adapt import adapt
from dragoman.rules.clean.refused_format import refused_format

SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
WORDS = "Answer with JSON that follows this JSON schema, and with nothing else: "


def by_schema(schema: Any = SCHEMA, **more: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "city", "schema": schema, **more}}


def asked(form: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    return {"model": "m", "messages": messages, "response_format": form or by_schema(), **more}


def through(body: dict[str, Any], choice: str | None = None, **stated: Any) -> Run:
    return run(refused_format, body, facts(**stated), choice=choice)


NO_SCHEMA: dict[str, Any] = {"response_formats": ["text", "json"]}
NOTHING: dict[str, Any] = {"response_formats": ["text"]}


def test_a_tool_that_must_be_called() -> None:
    done = through(asked(), **NO_SCHEMA)
    tool = {"name": "city", "description": "Give the answer by calling this tool.", "parameters": SCHEMA}
    assert done.json["tools"] == [{"type": "function", "function": tool}]
    assert done.json["tool_choice"] == {"type": "function", "function": {"name": "city"}}
    assert "response_format" not in done.json
    assert done.undo.answer == "city"
    assert done.changes == [("/response_format", "metadata", False)]
    assert done.did == ["asked for the answer as a call of the tool city"]


def test_its_description_is_that_of_the_schema() -> None:
    done = through(asked(by_schema(description="A city.")), **NO_SCHEMA)
    assert done.json["tools"][0]["function"]["description"] == "A city."


def test_its_name_is_nobody_elses() -> None:
    taken = {"type": "function", "function": {"name": "city", "parameters": {"type": "object", "properties": {}}}}
    done = through(asked(tools=[taken]), **NO_SCHEMA)
    assert [tool["function"]["name"] for tool in done.json["tools"]] == ["city", "city_answer"]
    assert done.undo.answer == "city_answer"


@pytest.mark.parametrize(
    ("choice", "offered", "said"),
    [
        (None, ["required", "named"], "required"),
        ("auto", ["required", "named"], "required"),
        ("none", ["required", "named"], {"type": "function", "function": {"name": "city"}}),
    ],
)
def test_beside_the_clients_tools_one_must_be_called(choice: str | None, offered: list[str], said: Any) -> None:
    more = {} if choice is None else {"tool_choice": choice}
    done = through(asked(tools=[TOOL], **more), tool_choices=offered, **NO_SCHEMA)
    assert done.json["tool_choice"] == said
    assert [tool["function"]["name"] for tool in done.json["tools"]] == ["look", "city"]


BY_WORDS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (asked(by_schema({"type": "array", "items": SCHEMA})), {}),
    (asked(by_schema({"anyOf": [SCHEMA]})), {}),
    (asked(), {"tools": "refuses"}),
    (asked(), {"flat_tools": True}),
    (asked(), {"tool_choices": ["auto", "none"]}),
    (asked(), {"forced_choice_thinking": "refuses", "reasoning_default": True}),
    (asked(tools=[TOOL]), {"tool_choices": ["auto", "named"]}),
    (asked(tools=[TOOL], tool_choice="required"), {}),
]


@pytest.mark.parametrize(("body", "stated"), BY_WORDS)
def test_json_and_the_schema_in_words(body: dict[str, Any], stated: dict[str, Any]) -> None:
    done = through(body, **NO_SCHEMA, **stated)
    assert done.json["response_format"] == {"type": "json_object"}
    first, second, _ = done.json["messages"]
    assert first == body["messages"][0]
    assert second["role"] == "system"
    assert second["content"].startswith(WORDS + '{"')
    assert done.json.get("tools") == body.get("tools")
    assert done.changes == [("/response_format", "metadata", True)]
    assert done.did == ["asked for JSON, and for the schema in words"]
    assert not done.undo


def test_a_tool_can_be_forced_if_thinking_is_off() -> None:
    body = asked(reasoning_effort="none")
    done = through(body, forced_choice_thinking="refuses", reasoning_default=True, **NO_SCHEMA)
    assert done.undo.answer == "city"


def test_the_schema_in_words_alone() -> None:
    done = through(asked(), tools="refuses", **NOTHING)
    assert "response_format" not in done.json
    assert done.json["messages"][1]["content"].startswith(WORDS)
    assert done.did == ["asked for the answer's form in words"]


def test_json_in_words() -> None:
    done = through(asked({"type": "json_object"}), **NOTHING)
    assert done.json["messages"][1] == {"role": "system", "content": "Answer with one JSON object and nothing else."}
    assert "response_format" not in done.json


@pytest.mark.parametrize(
    ("choice", "format_", "tools"),
    [("auto", None, True), ("tool", None, True), ("json", "json_object", False), ("words", None, False)],
)
def test_every_option(choice: str, format_: str | None, tools: bool) -> None:
    done = through(asked(), choice, **NO_SCHEMA)
    assert (done.json.get("response_format") or {}).get("type") == format_
    assert ("tools" in done.json) is tools


def test_beside_tools_if_that_is_refused() -> None:
    stated = {"format_with_tools": "refuses"}
    assert through(asked(tools=[TOOL]), **stated).undo.answer == "city"
    assert through(asked(), **stated).untouched
    words = through(asked({"type": "json_object"}, tools=[TOOL]), **stated)
    assert words.did == ["asked for the answer's form in words"]


@pytest.mark.parametrize(("kind", "way"), [("googleSearch", "words"), ("codeExecution", "tool")])
def test_beside_a_tool_of_the_targets_own(kind: str, way: str) -> None:
    """No function goes beside a tool that the target takes only alone."""
    body = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
        "tools": [{kind: {}}],
    }
    made = adapt(body, source="gemini", target="gemini/gemini-2.5-flash")
    assert judge("gemini", "gemini-2.5-flash", made.path, made.headers, made.body) is None
    assert made.json["tools"][0] == {kind: {}}
    assert ("functionDeclarations" in made.json["tools"][-1]) is (way == "tool")
    assert ("systemInstruction" in made.json) is (way == "words")


def test_beside_tools_that_will_be_declared() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    body = asked()
    body["messages"] += [
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "a"},
    ]
    assert through(body, format_with_tools="refuses", undeclared_tools="refuses").undo.answer == "city"
    assert through(body, format_with_tools="refuses", undeclared_tools="accepts").untouched


DOCUMENTED = {
    "messages": [{"role": "user", "content": "Hi"}],
    "documents": [{"id": "d1", "data": {"text": "Dock Seven is painted amber."}}],
    "response_format": {"type": "json_object", "json_schema": SCHEMA},
}


def test_beside_documents_of_the_request() -> None:
    """The documents stay. The answer comes as a call, which Cohere takes beside them."""
    done = sent(DOCUMENTED, "cohere/command-a-03-2025")
    assert done.undo.answer == "answer"
    assert "response_format" not in done.json
    assert done.json["documents"] == DOCUMENTED["documents"]
    assert done.json["tool_choice"] == "REQUIRED"
    assert done.changes[0] == ("refused-format", "/response_format", "metadata", False)
    alone = {key: value for key, value in DOCUMENTED.items() if key != "documents"}
    assert sent(alone, "cohere/command-a-03-2025").changes == []


@pytest.mark.parametrize("form", [{"type": "text"}, {"type": "json_object"}])
def test_what_the_target_takes_stays(form: dict[str, Any]) -> None:
    assert through(asked(form), **NO_SCHEMA).untouched
    assert run(refused_format, {"messages": [], "temperature": 1}, facts(**NO_SCHEMA)).untouched


TARGETS = [
    # a target, and how it is asked for an answer by a schema: alone, beside a tool
    ("openai/gpt-4o", "native", "native"),
    ("openai/gpt-4-turbo", "tool", "tool"),
    ("openai-responses/gpt-5", "native", "native"),
    ("anthropic/claude-sonnet-4-5", "native", "native"),
    ("anthropic/claude-sonnet-4-20250514", "tool", "tool"),
    ("anthropic/claude-3-5-haiku-20241022", "tool", "tool"),
    ("gemini/gemini-3-flash-preview", "native", "native"),
    ("gemini/gemini-2.5-flash", "native", "tool"),
    ("mistral/mistral-large-latest", "native", "native"),
    ("groq/llama-3.3-70b-versatile", "tool", "tool"),
    ("groq/openai/gpt-oss-20b", "native", "tool"),
    ("deepseek/deepseek-v4-flash", "json", "json"),
    ("deepseek/deepseek-chat", "tool", "tool"),
    ("zai/glm-4.7", "json", "json"),
    ("openrouter/anthropic/claude-3.5-sonnet", "tool", "tool"),
    ("openrouter/anthropic/claude-haiku-4.5", "native", "native"),
    ("vllm/llama", "native", "native"),
]


@pytest.mark.parametrize(("target", "alone", "beside"), TARGETS)
def test_how_real_models_are_asked(target: str, alone: str, beside: str) -> None:
    assert way(asked(), target) == alone
    assert way(asked(tools=[TOOL]), target) == beside


def way(body: dict[str, Any], target: str) -> str:
    adapted = adapt(body, source=CHAT, target=target)
    profile, model = target.split("/", 1)
    assert judge(profile, model, adapted.path, adapted.headers, adapted.body) is None
    again = adapt(adapted.body, source=adapted.dialect, target=target)
    assert (again.body, again.changes) == (adapted.body, ())
    if adapted.undo.answer:
        return "tool"
    told = [change.did for change in adapted.changes if change.rule == "refused-format"]
    return {"asked for JSON, and for the schema in words": "json"}.get(told[0], "words") if told else "native"


def test_thinking_and_a_schema_on_an_old_claude() -> None:
    done = sent(asked(reasoning_effort="high", max_tokens=9000), "anthropic/claude-sonnet-4-20250514", source=CHAT)
    assert done.json["thinking"]["type"] == "enabled"
    assert WORDS in done.json["system"]
    assert "tool_choice" not in done.json


def test_a_schema_for_a_stream_if_that_is_refused() -> None:
    whole = sent(asked(), "groq/openai/gpt-oss-120b")
    assert "response_format" in whole.json
    assert whole.changes == []
    streamed = sent(asked(stream=True), "groq/openai/gpt-oss-120b")
    assert "response_format" not in streamed.json
    assert streamed.json["tool_choice"] == {"type": "function", "function": {"name": "city"}}
    assert [change[:2] for change in streamed.changes] == [("refused-format", "/response_format")]
    as_json = sent(asked({"type": "json_object"}, stream=True), "groq/openai/gpt-oss-120b")
    assert as_json.json["response_format"] == {"type": "json_object"}
    assert [change[0] for change in as_json.changes] == ["json-word"]
    assert sent(asked(stream=True), "openai/gpt-4o").json["response_format"] == by_schema()


CHAT_MODELS = (
    *("groq/llama-3.3-70b-versatile", "groq/openai/gpt-oss-120b", "groq/qwen/qwen3-32b", "deepseek/deepseek-chat"),
    *("deepseek/deepseek-reasoner", "deepseek/deepseek-v4", "mistral/mistral-large-latest", "openrouter/openai/gpt-4o"),
)


@pytest.mark.parametrize("target", CHAT_MODELS)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("choice", [None, "auto", "required", "none"])
def test_the_ladder_ends_in_what_the_model_takes(target: str, stream: bool, choice: str | None) -> None:
    """Each form of the answer, with and without tools, in the client's own dialect (K32)."""
    for form in (by_schema(), by_schema(strict=True), {"type": "json_object"}):
        chosen = {} if choice is None else {"tool_choice": choice}
        for more in ({}, {"tools": [TOOL], **chosen}):
            adapted = adapt(asked(form, stream=stream, **more), source=CHAT, target=target)
            name, _, model = target.partition("/")
            assert judge(name, model, adapted.path, adapted.headers, adapted.body) is None


NAMED_ONLY = {"type": "json_schema", "json_schema": {"name": "city"}}


def test_a_schema_that_is_not_given_is_any_json() -> None:
    done = through(asked(NAMED_ONLY), format_without_schema="refuses")
    assert done.json["response_format"] == {"type": "json_object"}
    assert done.changes == [("/response_format", "metadata", False)]
    assert done.did == ["asked for any JSON, since no schema is given"]
    assert through(asked(NAMED_ONLY)).untouched
    assert through(asked(), format_without_schema="refuses").untouched


def test_it_is_asked_for_in_words_if_json_is_not_taken() -> None:
    done = through(asked(NAMED_ONLY), format_without_schema="refuses", response_formats=["schema"])
    assert "response_format" not in done.json
    assert done.did == ["asked for the answer's form in words"]


@pytest.mark.parametrize(
    "target",
    [
        "openai-responses/gpt-5",
        "anthropic/claude-sonnet-4-5",
        "gemini/gemini-2.5-flash",
        "mistral/mistral-large-latest",
        "ollama/some-model",
    ],
)
def test_no_target_that_needs_the_schema_is_sent_a_format_without_it(target: str) -> None:
    adapted = adapt(asked(NAMED_ONLY), source=CHAT, target=target)
    profile, _, model = target.partition("/")
    assert judge(profile, model, adapted.path, adapted.headers, adapted.body) is None
    assert "refused-format" in [change.rule for change in adapted.changes]
