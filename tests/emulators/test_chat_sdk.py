"""The official openai SDK talks to every Chat emulator, whole and streamed, with tools, and parses every answer."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from dragoman.testing import emulator

TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather in a city",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
NAMES = [  # but for Perplexity, which takes no tools
    "openai",
    "openrouter",
    "mistral",
    "deepseek",
    "groq",
    "compatible",
    "compatible-lenient",
    "azure-openai",
    "cerebras",
    "cohere-openai",
    "fireworks",
    "gemini-openai",
    "minimax",
    "moonshot",
    "qwen",
    "together",
    "xai",
    "zai",
    "template",
    "llamacpp",
    "vllm",
    "sglang",
    "ollama-openai",
    "lmstudio",
]
SCRIPT: list[Any] = [
    {"reasoning": "I must look.", "calls": [{"name": "weather", "arguments": {"city": "Zürich"}}]},
    {"text": "It rains in Zürich. ☔"},
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_an_agent_loop_through_the_sdk(name: str, stream: bool) -> None:
    with emulator(name, script=SCRIPT, write_size=5 if stream else 0) as running:
        client = openai.OpenAI(base_url=running.base_url, api_key="any", max_retries=0)
        model = running.provider.example[1]["model"]
        messages: list[Any] = [{"role": "user", "content": "Is it raining in Zürich?"}]
        called = _said(client, model, messages, stream)
        assert called["tool_calls"][0]["function"]["arguments"] == '{"city":"Zürich"}'
        messages += [called, {"role": "tool", "tool_call_id": called["tool_calls"][0]["id"], "content": "rain"}]
        assert _said(client, model, messages, stream)["content"] == SCRIPT[1]["text"]
        assert [request.verdict for request in running.requests] == ["accepted", "accepted"]


def _said(client: openai.OpenAI, model: str, messages: list[Any], stream: bool) -> dict[str, Any]:
    if stream:
        with client.chat.completions.stream(model=model, messages=messages, tools=TOOLS) as events:
            completion: Any = events.get_final_completion()
    else:
        completion = client.chat.completions.create(model=model, messages=messages, tools=TOOLS)
    message = completion.choices[0].message
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
        for c in message.tool_calls or ()
    ]
    said: dict[str, Any] = {"role": "assistant", "content": message.content or ""}
    thought = getattr(message, "reasoning_content", None)
    if thought:
        said["reasoning_content"] = thought
    return said | ({"tool_calls": calls} if calls else {})


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("401", openai.AuthenticationError),
        ("404", openai.NotFoundError),
        ("429", openai.RateLimitError),
        ("500", openai.InternalServerError),
        ("context", openai.BadRequestError),
        ("reset", openai.APIConnectionError),
    ],
)
def test_the_sdk_raises_the_error_it_has_for_each_fault(fault: str, error: type[Exception]) -> None:
    with emulator("openai", fault=fault) as running:
        client = openai.OpenAI(base_url=running.base_url, api_key="any", max_retries=0)
        with pytest.raises(error):
            client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "Hi"}])


@pytest.mark.slow
def test_the_sdk_retries_until_it_succeeds() -> None:
    with emulator("openai", fault="429;retry-after=0;times=2") as running:
        client = openai.OpenAI(base_url=running.base_url, api_key="any", max_retries=2)
        client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "Hi"}])
        assert [request.status for request in running.requests] == [429, 429, 200]


def test_the_sdk_raises_on_an_error_inside_a_stream() -> None:
    with emulator("openai", fault="stream-error") as running:
        client = openai.OpenAI(base_url=running.base_url, api_key="any", max_retries=0)
        stream = client.chat.completions.create(model="x", messages=[{"role": "user", "content": "Hi"}], stream=True)
        with pytest.raises(openai.APIError, match="overloaded"):
            list(stream)


def test_structured_output_through_the_sdk() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    }
    wanted: Any = {"type": "json_schema", "json_schema": {"name": "count", "strict": True, "schema": schema}}
    with emulator("openai") as running:
        client = openai.OpenAI(base_url=running.base_url, api_key="any")
        answer = client.chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": "Count"}], response_format=wanted
        )
    assert answer.choices[0].message.content == '{"n":1}'


def test_models_through_the_sdk() -> None:
    with emulator("openai", models=["a", "b"]) as running:
        client = openai.OpenAI(base_url=running.base_url, api_key="any", max_retries=0)
        assert [model.id for model in client.models.list()] == ["a", "b"]
        with pytest.raises(openai.NotFoundError, match="does not exist or you do not have access to it"):
            client.chat.completions.create(model="c", messages=[{"role": "user", "content": "Hi"}])
