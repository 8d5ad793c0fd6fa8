"""What depends on the model (thinking, structured output) and on lengths, in the provider's words."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import ErrorResponse

Wire = dict[str, Any]
USER: Wire = {"role": "user", "content": "Hi"}
SCHEMA: Wire = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
FORMAT: Wire = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
LONG = "c" * 50


def judged(emulator: str, model: str, more: Wire) -> ErrorResponse | None:
    one = provider(emulator)
    path, example = one.example
    if "generateContent" in path:
        path = path.replace("gemini-2.5-flash", model)
        body = {**example, **more}
    else:
        body = {**example, "model": model, **more}
    received = one.parse_request("POST", path, {}, {}, orjson.dumps(body))
    return received if isinstance(received, ErrorResponse) else one.judge(received)


def words(refused: ErrorResponse | None) -> str:
    assert refused is not None
    body = refused.body
    error = body.get("error", body)
    raw = (error.get("metadata") or {}).get("raw")
    return str(raw or error.get("message"))


def thinking(**config: Any) -> Wire:
    return {"generationConfig": {"thinkingConfig": config}}


def called(identity: str, **more: Any) -> Wire:
    call = {"id": identity, "type": "function", "function": {"name": "f", "arguments": "{}"}, **more}
    result = {"role": "tool", "tool_call_id": identity, "content": "ok"}
    return {"messages": [USER, {"role": "assistant", "content": None, "tool_calls": [call]}, result]}


def tool(**parameters: Any) -> Wire:
    return {"tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}]}


LONG_NAME: Wire = {"tools": [{"type": "function", "function": {"name": "n" * 65, "parameters": {}}}]}
NO_PROPERTIES: Wire = {"type": "object", "required": ["a"]}
REFUSED: list[tuple[str, str, Wire, str]] = [
    ("openrouter", "openai/gpt-4o", LONG_NAME, "Too big: expected string to have <=64 characters: tools[0].function."),
    ("openrouter", "openai/gpt-4o", {"session_id": "s" * 257}, "Too big: expected string to have <=256 characters"),
    ("gemini", "gemini-3.5-flash-lite", thinking(thinkingBudget=0), "The model does not support setting thinking_"),
    ("groq", "openai/gpt-oss-120b", tool(**NO_PROPERTIES), "invalid JSON schema for tool f, tools[0].function.param"),
    ("openai", "gpt-4o", {"reasoning_effort": "none"}, "Unrecognized request argument supplied: reasoning_effort"),
    ("openai", "chatgpt-4o-latest", {"reasoning_effort": "low"}, "Unrecognized request argument supplied: reas"),
    (
        "openai",
        "gpt-5-nano",
        {"reasoning_effort": "none"},
        "Unsupported value: 'none' is not supported with the 'gpt-5-nano' model. Supported values are: 'minimal',"
        " 'low', 'medium', and 'high'.",
    ),
    ("openai", "gpt-5", {"reasoning_effort": "xhigh"}, "Unsupported value: 'xhigh' is not supported with the 'gpt-5'"),
    ("openai", "gpt-5", {"top_p": 0.5}, "Unsupported parameter: 'top_p' is not supported with this model."),
    (
        "openai",
        "gpt-4o",
        called(LONG),
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum le",
    ),
    (
        "openai",
        "gpt-5.6",
        called("c" * 65),
        "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum le",
    ),
    (
        "openai",
        "gpt-4o",
        {"user": "u" * 65},
        "Invalid 'user': string too long. Expected a string with maximum length 64, but got",
    ),
    ("openai", "gpt-4o", {"prompt_cache_key": "k" * 72}, "Invalid 'prompt_cache_key': string too long."),
    ("openai", "gpt-4o", {"metadata": {"k": "v" * 513}}, "Invalid 'metadata.k': string too long."),
    (
        "openai",
        "gpt-4o",
        {"metadata": {"k" * 65: "v"}},
        "Invalid property name in 'metadata': 'kkk...kkk' is too long.",
    ),
    ("openai", "gpt-4o", called("c", index=0), "Unknown parameter: 'messages[1].tool_calls[0].index'."),
    (
        "openai",
        "gpt-4o",
        tool(properties={}),
        "Invalid schema for function 'f': schema must be a JSON Schema of 'type: \"object\"', got '",
    ),
    (
        "openai",
        "gpt-4o",
        tool(type="object"),
        "Invalid schema for function 'f': In context=(), object schema missing properties.",
    ),
    (
        "openai",
        "gpt-4o",
        tool(type="object", properties={"a": {"type": "string", "required": True}}),
        "Invalid schema for function 'f': True is not of type 'array'.",
    ),
    (
        "openai",
        "gpt-4o",
        tool(type="object", properties={"a": {"type": "Boolean"}}),
        "Invalid schema for function 'f': 'Boolean' is not valid under any",
    ),
    (
        "openai-responses",
        "gpt-5",
        {"reasoning": {"effort": "xhigh"}},
        "Unsupported value: 'xhigh' is not supported with the 'gpt-5' model.",
    ),
    (
        "openai-responses",
        "gpt-5",
        {"user": "u" * 150},
        "Invalid 'user': string too long. Expected a string with maximum length 64, but got a strin",
    ),
    ("openai-responses", "gpt-5", {"prompt_cache_key": "k" * 72}, "Invalid 'prompt_cache_key': string too long."),
    (
        "anthropic",
        "claude-3-5-haiku-20241022",
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        "output_config.format: ",
    ),
    (
        "anthropic",
        "claude-sonnet-4-5",
        {"metadata": {"user_id": "u" * 257}},
        "metadata.user_id: String should have at most 256 characters",
    ),
    (
        "gemini",
        "gemini-2.5-flash",
        thinking(thinkingBudget=30000),
        "The thinking budget (30000) is invalid. Please choose a value between 1 and 24576.",
    ),
    (
        "gemini",
        "gemini-2.5-flash-lite",
        thinking(thinkingBudget=100),
        "The thinking budget (100) is invalid. Please choose a value between 512 and 24576.",
    ),
    (
        "gemini",
        "gemini-2.5-pro",
        thinking(thinkingBudget=0),
        "The model does not support setting thinking_budget to 0.",
    ),
    (
        "vertex",
        "gemini-2.5-pro",
        thinking(thinkingBudget=0),
        "Unable to submit request because The model does not support setting",
    ),
    ("gemini", "gemini-2.5-flash", thinking(thinkingLevel="LOW"), "Thinking level is not supported for this model."),
    (
        "gemini",
        "gemini-3-pro-preview",
        thinking(thinkingLevel="medium"),
        "Thinking level MEDIUM is not supported for this model. Please retry with other thinking le",
    ),
    (
        "gemini",
        "gemini-3-flash-preview",
        thinking(thinkingLevel="LOW", thinkingBudget=512),
        "You can only set only one of",
    ),
    (
        "mistral",
        "mistral-small-latest",
        {"reasoning_effort": "medium"},
        "reasoning_effort='medium' is not supported for this model. Must be one of (none, high)",
    ),
    (
        "mistral",
        "mistral-large-latest",
        {"reasoning_effort": "high"},
        "{'detail': [{'type': 'extra_forbidden', 'loc': ['body', 'reasoning_effort']",
    ),
    (
        "mistral",
        "mistral-small-latest",
        {"max_completion_tokens": 9},
        "{'detail': [{'type': 'extra_forbidden', 'loc': ['body', 'max_completion_tokens']",
    ),
    (
        "mistral",
        "mistral-small-latest",
        {"stream": True, "stream_options": {"include_usage": True}},
        "{'detail': [{'type': 'extra_forbidden', 'loc': ['body', 'stream_options', 'include_usage']",
    ),
    (
        "mistral",
        "mistral-small-latest",
        {"provider": {}},
        "{'detail': [{'type': 'extra_forbidden', 'loc': ['body', 'provider']",
    ),
    (
        "groq",
        "llama-3.3-70b-versatile",
        {"reasoning_effort": "low"},
        "reasoning_effort is not supported with this model",
    ),
    ("groq", "qwen/qwen3-32b", {"reasoning_effort": "high"}, "`reasoning_effort` must be one of `none` or `default`"),
    (
        "groq",
        "llama-3.3-70b-versatile",
        {"response_format": FORMAT},
        "This model does not support response format `json_schema`.",
    ),
    (
        "deepseek",
        "deepseek-chat",
        {"tools": []},
        "Invalid 'tools': empty array. Expected an array with minimum length 1,",
    ),
    ("deepseek", "deepseek-chat", {"response_format": FORMAT}, "This response_format type is unavailable now"),
    ("deepseek", "deepseek-chat", {"user_id": "a@b"}, "Invalid 'user_id': string does not match pattern."),
    (
        "openrouter",
        "openai/gpt-4o",
        {"messages": [{**USER, "done": True}]},
        'Unrecognized key: "done": messages[0].done',
    ),
    (
        "openrouter",
        "openai/gpt-4o",
        called(LONG),
        '{"error":{"message":"Invalid \'messages[1].tool_calls[0].id\': string too long.',
    ),
    (
        "openrouter",
        "anthropic/claude-haiku-4.5",
        {"reasoning": {"max_tokens": 2000}, "max_tokens": 2000},
        '{"type":"error","error":{"type":"invalid_request_error","message":"`max_tokens` must be',
    ),
]


@pytest.mark.parametrize(("emulator", "model", "more", "sentence"), REFUSED)
def test_refused_in_the_providers_words(emulator: str, model: str, more: Wire, sentence: str) -> None:
    assert words(judged(emulator, model, more)).startswith(sentence)


def test_xai_names_the_tool_whose_parameters_are_no_object() -> None:
    refused = judged("xai", "grok-4", tool(type="string"))
    assert refused is not None
    assert refused.body["error"] == "Invalid tool `f`: the root of its parameters is no object."


ACCEPTED: list[tuple[str, str, Wire]] = [
    ("xai", "grok-4", tool(type="object")),
    ("gemini", "gemini-3.5-flash-lite", thinking(thinkingBudget=512)),
    ("openai", "gpt-5", {"reasoning_effort": "minimal"}),
    ("openai", "some-model", {"reasoning_effort": "high"}),
    ("openai", "gpt-5.6", called(LONG)),
    ("openai", "gpt-4.1", called("c", index=0)),
    ("openai", "gpt-4o", {"user": "u" * 64}),
    ("openai", "gpt-4o", tool()),
    ("openai", "gpt-4o", {"tools": [{"type": "function", "function": {"name": "f"}}]}),
    ("openai-responses", "gpt-5", {"reasoning": {"effort": "minimal"}}),
    ("openai-responses", "gpt-5.6", {"reasoning": {"effort": "xhigh"}}),
    ("anthropic", "claude-sonnet-4-5", {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}),
    ("gemini", "gemini-2.5-flash", thinking(thinkingBudget=0)),
    ("gemini", "gemini-2.5-pro", thinking(thinkingBudget=-1)),
    ("gemini", "gemini-2.5-pro", thinking(thinkingBudget=128)),
    ("gemini", "gemini-3-flash-preview", thinking(thinkingLevel="MEDIUM")),
    ("gemini", "gemini-3-pro-preview", thinking(thinkingBudget=6400)),
    ("mistral", "mistral-small-latest", {"reasoning_effort": "high"}),
    ("mistral", "magistral-medium-latest", {"reasoning_effort": "low"}),
    ("mistral", "mistral-small-latest", {"response_format": FORMAT}),
    ("mistral", "mistral-small-latest", {"metadata": {"k": 1}}),
    ("groq", "openai/gpt-oss-120b", {"reasoning_effort": "high", "response_format": FORMAT}),
    ("groq", "qwen/qwen3-32b", {"reasoning_effort": "none"}),
    ("deepseek", "deepseek-chat", {"user_id": "a-b_1", "frobnicate": 1}),
    ("openrouter", "openai/gpt-4o", {"frobnicate": 1}),
    ("openrouter", "google/gemini-2.5-flash", called(LONG)),
    ("openrouter", "openai/gpt-4o", called("c", index=0)),
]


@pytest.mark.parametrize(("emulator", "model", "more"), ACCEPTED)
def test_accepted(emulator: str, model: str, more: Wire) -> None:
    assert judged(emulator, model, more) is None
