"""What one vendor of a dialect takes and another refuses: the classes of things that recorded clients send."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.engine.adapt import Adapted, adapt

HI = {"role": "user", "content": "Hi"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
PDF = "data:application/pdf;base64,JVBERi0="


def chat(target: str, *messages: dict[str, Any], **more: Any) -> Adapted:
    return adapt({"model": "m", "messages": list(messages) or [HI], **more}, target=target)


def did(adapted: Adapted) -> list[tuple[str, str]]:
    return [(change.rule, change.at) for change in adapted.changes]


@pytest.mark.parametrize(
    ("field", "value"),
    [("venice_parameters", {}), ("search_context_size", "low"), ("grammar", "x"), ("repetition_penalty", None)],
)
def test_another_vendors_field_goes_where_unknown_ones_are_refused(field: str, value: Any) -> None:
    adapted = chat("openai/gpt-4o", **{field: value})
    assert field not in adapted.json
    assert did(adapted) == [("refused-setting", f"/{field}")]
    assert chat("together/some-model", **{field: value}).json[field] == value


def test_X8_a_field_that_nobody_knows_goes_through() -> None:
    adapted = chat("openai/gpt-4o", frobnicate=1)
    assert adapted.json["frobnicate"] == 1
    assert not adapted.changes


@pytest.mark.parametrize(
    ("choice", "own"),
    [
        ("any", "required"),
        ({"function": {"name": "f"}}, {"type": "function", "function": {"name": "f"}}),
    ],
)
def test_a_tool_choice_in_another_vendors_words(choice: Any, own: Any) -> None:
    adapted = chat("openai/gpt-4o", tools=[TOOL], tool_choice=choice)
    assert adapted.json["tool_choice"] == own
    assert [change.loses for change in adapted.changes] == ["nothing"]
    assert chat("mistral/mistral-small-latest", tools=[TOOL], tool_choice=choice).json["tool_choice"] == choice


def test_any_is_understood_elsewhere_without_a_word() -> None:
    adapted = chat("anthropic/claude-sonnet-4-5", tools=[TOOL], tool_choice="any", max_tokens=9)
    assert adapted.json["tool_choice"] == {"type": "any"}
    assert did(adapted) == []


@pytest.mark.parametrize(
    ("part", "own"),
    [
        (
            {"type": "document_url", "document_url": PDF},
            {"type": "file", "file": {"file_data": PDF, "filename": "untitled"}},
        ),
        (
            {"type": "image_url", "image_url": "https://example.com/a.png"},
            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
        ),
        (
            {"type": "file", "file": {"file_data": PDF}},
            {"type": "file", "file": {"file_data": PDF, "filename": "untitled"}},
        ),
        ({"type": "text", "text": "See?", "image_url": None}, {"type": "text", "text": "See?"}),
    ],
)
def test_a_part_in_another_vendors_shape(part: dict[str, Any], own: dict[str, Any]) -> None:
    words = {"type": "text", "text": "Read it."}
    adapted = chat("openai/gpt-4o", {"role": "user", "content": [words, part]})
    assert adapted.json["messages"][0]["content"] == [words, own]
    assert [change.loses for change in adapted.changes] == ["nothing"]
    lenient = chat("openrouter/openai/gpt-4o", {"role": "user", "content": [words, part]})
    assert lenient.json["messages"][0]["content"] == [words, part]


@pytest.mark.parametrize("target", ["openai/gpt-4o", "deepseek/deepseek-chat", "llamacpp/some-model", "ollama/x"])
def test_a_part_of_a_kind_that_the_target_does_not_know(target: str) -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}
    spoken = {"role": "assistant", "content": [thought, {"type": "text", "text": "Hello"}]}
    adapted = chat(target, HI, spoken, HI)
    assert "thinking" not in str(adapted.json["messages"][1])
    assert did(adapted)[0] == ("refused-part", "/messages/1/content/0")


@pytest.mark.parametrize(
    "target", ["groq/llama-3.3-70b-versatile", "openai-compatible/x", "mistral/mistral-large-latest"]
)
@pytest.mark.parametrize("field", ["tool_calls", "tool_call_id", "name", "refusal"])
def test_null_members_of_a_message(target: str, field: str) -> None:
    adapted = chat(target, {**HI, field: None})
    assert adapted.json["messages"] == [HI]
    assert [(change.rule, change.loses) for change in adapted.changes] == [("null-field", "nothing")]
    assert chat("together/some-model", {**HI, field: None}).json["messages"] == [{**HI, field: None}]


def test_an_empty_list_of_calls() -> None:
    spoken = {"role": "assistant", "content": "Hello", "tool_calls": []}
    assert chat("openai/gpt-4o", HI, spoken, HI).json["messages"][1] == {"role": "assistant", "content": "Hello"}
    assert chat("mistral/mistral-large-latest", HI, spoken, HI).json["messages"][1] == spoken


@pytest.mark.parametrize("mark", [True, False])
def test_the_mark_of_a_prefill(mark: bool) -> None:
    begun = {"role": "assistant", "content": "Once", "prefix": mark}
    strict = chat("groq/llama-3.3-70b-versatile", HI, begun)
    assert "prefix" not in strict.json["messages"][1]
    assert strict.changes
    assert chat("mistral/mistral-large-latest", HI, begun, HI).json["messages"][1] == begun


def test_a_prefill_that_the_target_cannot_continue_gets_a_user_turn() -> None:
    sent = chat("anthropic/claude-opus-4-8", HI, {"role": "assistant", "content": "Once", "prefix": True}).json
    assert [turn["role"] for turn in sent["messages"]] == ["user", "assistant", "user"]


def test_two_assistant_turns_at_the_end() -> None:
    spoken = {"role": "assistant", "content": "a"}
    sent = chat("llamacpp/some-model", HI, spoken, HI, spoken, spoken).json["messages"]
    assert [turn["content"] for turn in sent] == ["Hi", "a", "Hi", "a\n\na"]


def test_an_effort_that_is_one_vendors_word() -> None:
    assert "reasoning_effort" not in chat("openai/gpt-5", reasoning_effort="default").json
    assert chat("groq/qwen/qwen3-32b", reasoning_effort="default").json["reasoning_effort"] == "default"
    assert chat("openai/gpt-5", reasoning_effort="ultra").json["reasoning_effort"] == "ultra"


def test_an_empty_list_of_stops_is_a_stop_too() -> None:
    assert "stop" not in chat("azure-openai/gpt-5", stop=[]).json
    assert chat("openai/gpt-4o", stop=[]).json["stop"] == []


def responses(*items: dict[str, Any], **more: Any) -> Adapted:
    body = {"model": "m", "input": [HI, *items], **more}
    return adapt(body, source="openai-responses", target="openai-responses/gpt-5")


def test_thinking_that_another_provider_keeps() -> None:
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]}
    spoken = {"type": "message", "role": "assistant", "content": "Hello"}
    own = {**spoken, "id": "msg_1", "content": [{"type": "output_text", "text": "Hello"}], "status": "completed"}
    assert responses({**thought, "id": "76f8b89e"}, own, HI).json["input"] == [HI, own, HI]
    assert responses({**thought, "id": "rs_1"}, spoken, HI).json["input"][1]["role"] == "assistant"
    assert responses({**thought, "id": "rs_1"}, own, HI).json["input"] == [HI, {**thought, "id": "rs_1"}, own, HI]


def test_a_call_under_an_id_of_another_form() -> None:
    call = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
    answer = {"type": "function_call_output", "call_id": "c", "output": "ok"}
    assert responses({**call, "id": "tool_1"}, answer).json["input"][1] == call


def test_probabilities_are_asked_for_among_what_to_include() -> None:
    sent = chat("openai-responses/gpt-4o", logprobs=True).json
    assert sent["include"] == ["message.output_text.logprobs"]
    asked = ["message.output_text.logprobs", "reasoning.encrypted_content"]
    assert responses(include=asked).json["include"] == ["reasoning.encrypted_content"]


def gemini(target: str, content: dict[str, Any], **more: Any) -> Adapted:
    return adapt({"contents": [content], **more}, source="gemini", target=target)


def test_a_content_without_its_role() -> None:
    parts = [{"text": "Hi"}]
    adapted = gemini("vertex/gemini-2.5-flash", {"parts": parts})
    assert adapted.json["contents"] == [{"role": "user", "parts": parts}]
    assert did(adapted) == [("null-field", "/contents/0")]
    assert gemini("gemini/gemini-2.5-flash", {"parts": parts}).json["contents"] == [{"parts": parts}]


def test_labels_are_vertexs() -> None:
    content = {"role": "user", "parts": [{"text": "Hi"}]}
    assert "labels" not in gemini("gemini/gemini-2.5-flash", content, labels={"a": "b"}).json
    assert gemini("vertex/gemini-2.5-flash", content, labels={"a": "b"}).json["labels"] == {"a": "b"}


def test_what_other_hosts_of_claude_want_in_the_body() -> None:
    body = {"anthropic_version": "vertex-2023-10-16", "max_tokens": 9, "messages": [HI]}
    adapted = adapt(body, source="anthropic", target="anthropic/claude-sonnet-4-5")
    assert "anthropic_version" not in adapted.json


@pytest.mark.parametrize(("model", "stays"), [("claude-sonnet-4-5", False), ("claude-opus-4-7", True)])
def test_a_proof_of_thinking_without_its_words(model: str, stays: bool) -> None:
    thought = {"type": "thinking", "thinking": "", "signature": "c2ln"}
    spoken = {"role": "assistant", "content": [thought, {"type": "text", "text": "Hello"}]}
    body = {"model": model, "max_tokens": 9, "messages": [HI, spoken, HI]}
    content = adapt(body, source="anthropic", target=f"anthropic/{model}").json["messages"][1]["content"]
    assert (thought in content) is stays


def test_more_strict_tools_than_the_target_compiles() -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    tools = [{"name": f"t{number}", "input_schema": schema, "strict": True} for number in range(21)]
    body = {"model": "m", "max_tokens": 9, "messages": [HI], "tools": tools}
    adapted = adapt(body, source="anthropic", target="anthropic/claude-sonnet-4-5")
    assert [tool.get("strict") for tool in adapted.json["tools"]] == [True] * 20 + [None]
    assert did(adapted) == [("many-strict", "/tools/20")]


@pytest.mark.parametrize(("fields", "strict"), [(23, True), (24, None)])
def test_a_strict_tool_that_is_too_heavy(fields: int, strict: bool | None) -> None:
    properties = {f"p{number}": {"type": "string"} for number in range(fields)}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    tools = [{"name": "f", "input_schema": schema, "strict": True}]
    body = {"model": "m", "max_tokens": 9, "messages": [HI], "tools": tools}
    sent = adapt(body, source="anthropic", target="anthropic/claude-sonnet-4-5").json
    assert sent["tools"][0].get("strict") is strict


def test_an_image_by_a_url_without_encryption() -> None:
    url = "http://example.com/a.png"
    part = {"type": "image_url", "image_url": {"url": url}}
    adapted = chat("anthropic/claude-sonnet-4-5", {"role": "user", "content": [part]}, max_tokens=9)
    assert adapted.wants == (url,)
    assert adapted.json["messages"][0]["content"] == [{"type": "text", "text": f"[image: {url}]"}]


@pytest.mark.parametrize(
    "target", ["groq/llama-3.3-70b-versatile", "deepseek/deepseek-chat", "openrouter/openai/gpt-4o"]
)
def test_a_user_turn_without_content(target: str) -> None:
    assert chat(target, HI, {"role": "user", "content": None}).json["messages"][1]["content"] == "(empty)"


def test_a_late_result_is_brought_to_its_call_where_it_is_looked_for_there() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asked, answer = {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "ok"}
    sent = chat("minimax/some-model", HI, asked, HI, answer).json["messages"]
    assert [turn["role"] for turn in sent] == ["user", "assistant", "tool", "user"]


@pytest.mark.parametrize("target", ["perplexity/sonar", "strict-template/some-model"])
def test_an_older_call_beside_a_newer_one(target: str) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    older = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    newer = {"role": "assistant", "content": None, "tool_calls": [call]}
    sent = chat(target, HI, newer, older).json["messages"]
    assert sum(len(turn.get("tool_calls", ())) for turn in sent) == 2
    assert "function_call" not in str(sent)
