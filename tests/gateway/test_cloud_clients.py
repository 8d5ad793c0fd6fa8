"""SDKs that are made for a cloud reach every model: they ask at their cloud's addresses, which the gateway serves."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types
from google.oauth2.credentials import Credentials
from tests.gateway.stage import Stage

TOOL: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
}
CALL = {"calls": [{"name": "weather", "arguments": {"city": "Köln"}}]}
each_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def azure(world: Stage) -> openai.AzureOpenAI:
    return openai.AzureOpenAI(azure_endpoint=world.url, api_key="any", api_version="2025-03-01-preview")


@each_way
@pytest.mark.parametrize("model", ["claude", "gemini", "gpt"])
def test_chat_of_azures_client(world: Stage, model: str, stream: bool) -> None:
    world.script(model, "Bonjour.")
    asked: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": "Hello"}]}
    if stream:
        with azure(world).chat.completions.create(**asked, stream=True) as chunks:
            text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    else:
        text = azure(world).chat.completions.create(**asked).choices[0].message.content or ""
    assert text == "Bonjour."
    world.check(model)


@pytest.mark.parametrize("model", ["claude", "gpt"])
def test_responses_of_azures_client(world: Stage, model: str) -> None:
    world.script(model, "Bonjour.")
    assert azure(world).responses.create(model=model, input="Hello").output_text == "Bonjour."
    world.check(model)


def vertex_claude(world: Stage) -> anthropic.AnthropicVertex:
    return anthropic.AnthropicVertex(
        project_id="some-project", region="europe-west1", base_url=f"{world.url}/v1", access_token="any"
    )


@each_way
@pytest.mark.parametrize("model", ["claude", "gpt", "gemini"])
def test_a_tool_loop_of_vertex_claudes_client(world: Stage, model: str, stream: bool) -> None:
    world.script(model, CALL, "It pours.")
    client = vertex_claude(world)
    turns: list[Any] = [{"role": "user", "content": "Does it rain in Köln?"}]
    tools: Any = [{"name": "weather", "input_schema": TOOL}]

    def ask() -> anthropic.types.Message:
        asked: dict[str, Any] = {"model": model, "max_tokens": 500, "messages": turns, "tools": tools}
        if not stream:
            return client.messages.create(**asked)
        with client.messages.stream(**asked) as events:
            return events.get_final_message()

    called = ask()
    (use,) = [block for block in called.content if block.type == "tool_use"]
    assert use.input == {"city": "Köln"}
    turns += [
        {"role": "assistant", "content": called.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "yes"}]},
    ]
    told = ask()
    assert [block.text for block in told.content if block.type == "text"] == ["It pours."]
    asked = world.check(model, at_least=2)
    assert "anthropic_version" not in json.dumps(asked[1].body)


def test_tokens_of_vertex_claudes_client(world: Stage) -> None:
    counted = vertex_claude(world).messages.count_tokens(
        model="claude", messages=[{"role": "user", "content": "Hello"}]
    )
    assert counted.input_tokens > 0


@each_way
@pytest.mark.parametrize("model", ["claude", "gemini"])
def test_gemini_on_vertexs_client(world: Stage, model: str, stream: bool) -> None:
    world.script(model, "Bonjour.")
    client = genai.Client(
        vertexai=True,
        project="some-project",
        location="us-central1",
        credentials=Credentials(token="any"),
        http_options=types.HttpOptions(base_url=world.url),
    )
    if stream:
        text = "".join(part.text or "" for part in client.models.generate_content_stream(model=model, contents="Hello"))
    else:
        text = client.models.generate_content(model=model, contents="Hello").text or ""
    assert text == "Bonjour."
    world.check(model)
