"""Optional members that do not fit are left out and reported; what cannot be left out is refused with its place."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.dialects.dialect import Dialect
from dragoman.dialects.near_misses import lists, turns
from dragoman.dialects.near_misses.turns import TurnReader
from dragoman.dialects.registry import list_dialects
from dragoman.engine.library.adapt import adapt
from dragoman.errors import MalformedRequest

LENIENT = "openai-compatible-lenient/m"
CHAT, CLAUDE = "openai/gpt-4o", "anthropic/claude-sonnet-4-5"


def chat(part: Any, **members: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}, part]}], **members}


def image(**members: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": "https://e.test/a.png", **members}}


def claude(block: dict[str, Any], **members: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": [block]}], "max_tokens": 9, **members}


HI = {"role": "user", "content": "Hi"}
LEFT_OUT: list[tuple[str, str, dict[str, Any], dict[str, Any], str, str]] = [
    ("openai-chat", CHAT, chat(image(detail=None)), chat(image()), "/messages/0/content/1/image_url/detail", "nothing"),
    ("openai-chat", CHAT, chat(image(detail=7)), chat(image()), "/messages/0/content/1/image_url/detail", "metadata"),
    ("openai-chat", CHAT, chat(image(odd=1)), chat(image()), "/messages/0/content/1/image_url/odd", "metadata"),
    ("openai-chat", CHAT, {"messages": [HI], "metadata": 7}, {"messages": [HI]}, "/metadata", "metadata"),
    ("openai-chat", CHAT, {"messages": [HI], "logit_bias": "x"}, {"messages": [HI]}, "/logit_bias", "metadata"),
    (
        "openai-chat",
        CHAT,
        {"messages": [HI], "stream_options": {"include_usage": True}},
        {"messages": [HI]},
        "/stream_options",
        "nothing",
    ),
    (
        "anthropic",
        CLAUDE,
        claude({"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral", "ttl": 7}}),
        claude({"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}),
        "/messages/0/content/0/cache_control/ttl",
        "metadata",
    ),
    (
        "anthropic",
        CLAUDE,
        claude({"type": "text", "text": "Hi", "cache_control": {"type": 7}}),
        claude({"type": "text", "text": "Hi"}),
        "/messages/0/content/0/cache_control/type",
        "metadata",
    ),
    (
        "anthropic",
        CLAUDE,
        claude({"type": "text", "text": "Hi"}, tool_choice={"type": "none", "odd": 1}, tools=[]),
        claude({"type": "text", "text": "Hi"}, tools=[]),
        "/tool_choice/odd",
        "metadata",
    ),
]


@pytest.mark.parametrize(("source", "target", "wrong", "right", "at", "loses"), LEFT_OUT)
def test_an_optional_member_that_does_not_fit_is_left_out(
    source: str, target: str, wrong: dict[str, Any], right: dict[str, Any], at: str, loses: str
) -> None:
    done = adapt(wrong, source=source, target=target)
    assert done.json["messages"] == right["messages"]
    assert done.json.keys() - {"model"} == right.keys()
    found = [change for change in done.changes if change.at == at]
    assert [(change.rule, str(change.loses)) for change in found] == [("off-schema", loses)]


@pytest.mark.parametrize("body", [chat(image(detail=7)), {"messages": [HI], "metadata": {"k": 7}}])
def test_a_target_that_does_not_check_gets_what_the_client_wrote(body: dict[str, Any]) -> None:
    done = adapt(body, target=LENIENT)
    assert {key: value for key, value in done.json.items() if key != "model"} == body
    assert done.changes == ()


READ_AS_MEANT: list[tuple[str, Any, str]] = [
    ("openai-chat", {"type": "text", "text": 7}, "7"),
    ("openai-chat", {"type": "text", "text": {"text": "So"}}, "So"),
    ("openai-chat", {"type": "text", "text": ["So"]}, "So"),
    ("gemini", {"text": 7}, "7"),
    ("gemini", {"text": {"text": "So"}}, "So"),
    ("gemini", {"text": None}, ""),
]


@pytest.mark.parametrize(("source", "part", "text"), READ_AS_MEANT)
def test_a_text_of_another_type_is_read_as_what_is_meant(source: str, part: Any, text: str) -> None:
    whole = {"type": "text", "text": text} if source == "openai-chat" else {"text": text}
    target = CHAT if source == "openai-chat" else "gemini/gemini-2.5-flash"
    found = [adapt(_holding(source, one), source=source, target=target).json for one in (part, whole)]
    assert found[0] == found[1]


def _holding(source: str, part: Any) -> dict[str, Any]:
    return chat(part) if source == "openai-chat" else {"contents": [{"role": "user", "parts": [{"text": "Hi"}, part]}]}


def test_a_format_of_sound_is_read_from_its_bytes() -> None:
    sound = {"type": "input_audio", "input_audio": {"data": "UklGRgAAAABXQVZF"}}
    done = adapt(chat(sound), target="openrouter/openai/gpt-4o-audio-preview")
    assert done.json["messages"][0]["content"][1]["input_audio"]["format"] == "wav"


def test_top_logprobs_alone_asks_for_logprobs() -> None:
    done = adapt({"messages": [HI], "top_logprobs": 2}, source="openai-chat", target=CHAT)
    assert done.json["logprobs"] is True


def test_a_responses_call_without_an_id_is_paired_by_its_place() -> None:
    call = {"type": "function_call", "id": "fc_1", "name": "look", "arguments": "{}", "status": 7}
    output = {"type": "function_call_output", "call_id": "call_1", "output": "sunny"}
    done = adapt({"input": [HI, call, output]}, source="openai-responses", target="openai-responses/gpt-4o")
    assert done.json["input"][1]["call_id"] == done.json["input"][2]["call_id"] == "call_1"
    assert "status" not in done.json["input"][1]


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("openai-chat", {"messages": [HI], "stream": "yes"}, "/stream"),
    ("openai-chat", chat({"type": "text"}), "/messages/0/content/1/text"),
    ("openai-responses", {"input": None}, "/input"),
    ("openai-responses", {"input": {"0": [HI]}}, "/input"),
    ("openai-responses", {"input": [HI], "text": {"format": {"type": "json_schema"}}}, "/text/format"),
    ("gemini", {"contents": [{"role": "user", "parts": [{"inlineData": 7}]}]}, "/contents/0/parts/0/inlineData"),
    ("gemini", {"contents": [{"parts": [{"fileData": {"fileUri": 7}}]}]}, "/contents/0/parts/0/fileData/fileUri"),
    ("anthropic", claude({"type": "text", "text": "Hi"}, tool_choice={"type": "tool"}), "/tool_choice"),
    ("openai-chat", chat({"type": "image_url", "image_url": None}), "/messages/0/content/1/image_url"),
    ("openai-chat", chat({"type": "image_url", "image_url": {"url": 7}}), "/messages/0/content/1/image_url/url"),
    ("openai-chat", chat({"type": "file", "file": {"file_data": 7}}), "/messages/0/content/1/file/file_data"),
    ("openai-chat", {"messages": [HI], "tool_choice": 7}, "/tool_choice"),
    ("openai-chat", {"messages": [HI], "response_format": {"type": "json_schema"}}, "/response_format"),
    ("openai-chat", {"messages": [HI], "stream": 7}, "/stream"),
    ("anthropic", claude({"type": "image", "source": [1]}), "/messages/0/content/0/source"),
    ("anthropic", claude({"type": "image", "source": {"type": "url"}}), "/messages/0/content/0/source/url"),
    (
        "anthropic",
        claude({"type": "image", "source": {"type": "base64", "media_type": None, "data": "aGk="}}),
        "/messages/0/content/0/source/media_type",
    ),
    ("anthropic", claude({"type": "text", "text": "Hi"}, thinking={"budget_tokens": 9}), "/thinking"),
]


@pytest.mark.parametrize(("source", "body", "at"), REFUSED)
def test_what_means_nothing_is_refused_with_its_place(source: str, body: dict[str, Any], at: str) -> None:
    with pytest.raises(MalformedRequest) as caught:
        adapt(body, source=source, target=CHAT if source == "openai-chat" else CLAUDE)
    assert caught.value.at == at


def users(*contents: list[Any]) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content} for content in contents]


TOO_ODD = {
    "parts of one message": users([{"a": 1}] * 101),
    "parts of a list in place of a part": users([["a"] * 101]),
    "parts of several messages": users(*[[{"type": "text", "text": 1}] * 40] * 3),
    "messages": ["a"] * 101,
}


@pytest.mark.parametrize("messages", TOO_ODD.values(), ids=TOO_ODD)
def test_more_odd_parts_than_a_client_slips_into_are_refused(
    messages: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (lists, turns):
        monkeypatch.setattr(module, "MOST_ODD", 100)
    with pytest.raises(MalformedRequest, match="do not fit the schema"):
        adapt({"model": "m", "messages": messages}, source="openai-chat", target=CHAT)


@pytest.mark.parametrize("source", list_dialects(), ids=lambda one: one.name)
def test_what_is_no_message_in_any_form_is_refused_at_once(source: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are not read before."""
    read: list[bytes] = []
    monkeypatch.setattr(TurnReader, "read", lambda self, item: read.append(item))
    with pytest.raises(MalformedRequest):
        adapt({source.list_name: [{"odd": 1}] * 50 + [1]}, source=source.name, target=CHAT)
    assert read == []


RESPONSES, GEMINI = "openai-responses/gpt-5.1", "gemini/gemini-2.5-flash"
NOVA = "bedrock/us.amazon.nova-lite-v1:0"
SAID: dict[str, dict[str, Any]] = {
    "openai-chat": {"messages": [HI]},
    "openai-responses": {"input": "Hi"},
    "anthropic": {"messages": [HI], "max_tokens": 9},
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]},
    "bedrock": {"messages": [{"role": "user", "content": [{"text": "Hi"}]}]},
}
SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
TOOL: dict[str, Any] = {"name": "look", "input_schema": SCHEMA}
FUNCTION: dict[str, Any] = {"type": "function", "name": "look", "parameters": SCHEMA, "strict": False}
CALLING = {"functionCallingConfig": {"mode": None}}
NULLS: list[tuple[str, str, dict[str, Any], dict[str, Any], str]] = [
    (
        "openai-chat",
        CHAT,
        {"response_format": {"type": "text", "json_schema": None}},
        {},
        "/response_format/json_schema",
    ),
    ("openai-responses", RESPONSES, {"text": {"format": None, "verbosity": "low"}}, {}, "/text/format"),
    (
        "openai-responses",
        RESPONSES,
        {"reasoning": {"effort": "low", "generate_summary": None}},
        {"reasoning": {"effort": "low"}},
        "/reasoning/generate_summary",
    ),
    (
        "openai-responses",
        RESPONSES,
        {"tools": [{**FUNCTION, "defer_loading": None}]},
        {"tools": [FUNCTION]},
        "/tools/0",
    ),
    ("anthropic", CLAUDE, {"thinking": {"type": "disabled", "budget_tokens": None}}, {}, "/thinking/budget_tokens"),
    ("anthropic", CLAUDE, {"cache_control": {"type": "ephemeral", "ttl": None}}, {}, "/cache_control/ttl"),
    ("anthropic", CLAUDE, {"tools": [{**TOOL, "allowed_callers": None}]}, {"tools": [TOOL]}, "/tools/0"),
    ("gemini", GEMINI, {"toolConfig": CALLING}, {}, "/toolConfig/functionCallingConfig/mode"),
    ("bedrock", NOVA, {"inferenceConfig": {"topP": 1, "maxTokens": None}}, {}, "/inferenceConfig/maxTokens"),
    (
        "bedrock",
        NOVA,
        {"additionalModelRequestFields": {"thinking": None}},
        {},
        "/additionalModelRequestFields/thinking",
    ),
]


@pytest.mark.parametrize(("source", "target", "nulls", "right", "at"), NULLS)
def test_a_null_inside_a_setting_is_left_out(
    source: str, target: str, nulls: dict[str, Any], right: dict[str, Any], at: str
) -> None:
    done = adapt({**SAID[source], **nulls}, source=source, target=target)
    assert b"null" not in done.body
    assert [done.json[key] for key in right] == [*right.values()]
    found = [change for change in done.changes if change.at.startswith(at)]
    assert [(change.rule, str(change.loses)) for change in found] == [("off-schema", "nothing")]


def test_a_stream_option_that_is_null_is_left_out() -> None:
    options = {"include_obfuscation": None}
    done = adapt({"input": "Hi", "stream": True, "stream_options": options}, target=RESPONSES)
    assert "stream_options" not in done.json
    assert [(change.rule, change.at) for change in done.changes] == [("off-schema", "/stream_options")]


@pytest.mark.parametrize("form", [{"type": "json_schema", "json_schema": None}, {"type": None}])
def test_a_null_that_leaves_no_meaning_is_refused(form: dict[str, Any]) -> None:
    with pytest.raises(MalformedRequest):
        adapt({"messages": [HI], "response_format": form}, target=CHAT)
