"""The official Python SDKs through the gateway, each against providers of other dialects than its own."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx
import openai
import pytest
from tests.gateway.speakers import SPEAKERS, AskedFor, ReceivedAnswer, Speaker
from tests.gateway.stage import Stage

FOREIGN = {
    "openai-chat": ("claude", "gemini", "command", "qwen", "bedrock", "invoked"),
    "openai-responses": ("claude", "gemini", "command", "qwen", "bedrock", "invoked"),
    "anthropic": ("gemini", "gpt", "command", "qwen", "bedrock", "invoked"),
    "gemini": ("claude", "thinker", "command", "qwen", "bedrock", "invoked"),
    "cohere": ("claude", "gemini", "gpt", "thinker", "qwen"),
    "ollama": ("claude", "gemini", "gpt", "thinker", "command", "qwen", "bedrock", "invoked"),
    "bedrock": ("claude", "gemini", "gpt", "thinker", "qwen", "bedrock", "invoked"),
}
THINKING = {
    "openai-chat": ("claude", "gemini", "command", "qwen", "bedrock", "invoked"),
    "openai-responses": ("claude", "deepseek", "command", "qwen", "bedrock", "invoked"),
    "anthropic": ("gemini", "deepseek", "command", "qwen", "bedrock", "invoked"),
    "gemini": ("claude", "thinker", "command", "qwen", "bedrock", "invoked"),
    "cohere": ("claude", "gemini", "thinker", "deepseek", "qwen"),
    "ollama": ("claude", "gemini", "thinker", "deepseek", "command", "qwen", "bedrock", "invoked"),
    "bedrock": ("claude", "gemini", "thinker", "deepseek", "qwen", "bedrock", "invoked"),
}
"""Providers that tell their thoughts."""
LOOK = {"calls": [{"name": "weather", "arguments": {"city": "Köln"}}]}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "rain": {"type": "boolean"}},
    "required": ["city", "rain"],
    "additionalProperties": False,
}

each_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
sync_and_async = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])


def pairs(table: dict[str, tuple[str, ...]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("dialect", "model"), [(dialect, model) for dialect, models in table.items() for model in models]
    )


def speaker(world: Stage, dialect: str, model: str, is_async: bool = False, **wishes: Any) -> Speaker:
    return SPEAKERS[dialect](world.url, model, AskedFor(**wishes), is_async=is_async)


@pytest.mark.sampled(8)
@pairs(FOREIGN)
@each_way
@sync_and_async
async def test_a_tool_loop(world: Stage, dialect: str, model: str, stream: bool, is_async: bool) -> None:
    world.script(model, LOOK, "Take an umbrella, Köln is wet.")
    client = speaker(world, dialect, model, is_async, stream=stream, tools=True)
    called = await client.say("Does it rain in Köln?")
    assert [(call.name, call.arguments) for call in called.calls] == [("weather", {"city": "Köln"})]
    told = await client.answer({called.calls[0].id: "It pours."}, called.calls)
    assert told.text == "Take an umbrella, Köln is wet."
    assert told.tokens > 0
    asked = world.check(model, at_least=2)
    assert "It pours." in json.dumps(asked[1].body)


@pytest.mark.sampled(8)
@pairs(FOREIGN)
@each_way
async def test_two_calls_at_once_and_again(world: Stage, dialect: str, model: str, stream: bool) -> None:
    both = [{"name": "weather", "arguments": {"city": city}} for city in ("Rome", "Oslo")]
    world.script(model, {"text": "Let me look.", "calls": both}, LOOK, "Rain everywhere.")
    client = speaker(world, dialect, model, stream=stream, tools=True)
    assert (await client.converse("Where does it rain?")).text == "Rain everywhere."
    assert (await client.say("Sure?")).text.startswith("received:")
    world.check(model, at_least=4)


@pairs(FOREIGN)
@each_way
async def test_an_answer_by_a_schema(world: Stage, dialect: str, model: str, stream: bool) -> None:
    world.script(model, {"json": {"city": "Rome", "rain": False}})
    heard = await speaker(world, dialect, model, stream=stream, schema=SCHEMA).say("Rain in Rome? In JSON.")
    assert json.loads(heard.text) == {"city": "Rome", "rain": False}
    world.check(model)


@pytest.mark.sampled(8)
@pairs(THINKING)
@each_way
async def test_thoughts_arrive_and_go_back(world: Stage, dialect: str, model: str, stream: bool) -> None:
    world.script(model, {"reasoning": "Clouds, so rain.", **LOOK}, {"reasoning": "Wet.", "text": "It rains."})
    client = speaker(world, dialect, model, stream=stream, tools=True, thinking=True)
    called = await client.say("Rain?")
    assert called.reasoning == "Clouds, so rain."
    told = await client.answer({call.id: "rain" for call in called.calls}, called.calls)
    assert (told.text, told.reasoning) == ("It rains.", "Wet.")
    heard: ReceivedAnswer = await client.say("Thanks.")
    assert heard.text.startswith("received:")
    world.check(model, at_least=3)


@pairs(dict.fromkeys(SPEAKERS, ("claude", "gemini", "mistral", "deepseek", "bedrock")))
@each_way
async def test_instructions_in_the_middle(world: Stage, dialect: str, model: str, stream: bool) -> None:
    """As Claude Code and Codex send them."""
    world.script(model, "Bonjour.", "Salut.")
    client = speaker(world, dialect, model, stream=stream)
    client.instruct("Be brief.")
    assert (await client.say("Hello")).text == "Bonjour."
    client.instruct("Answer in French.")
    assert (await client.say("Hello again")).text == "Salut."
    assert "Answer in French." in json.dumps(world.check(model, at_least=2)[1].body)


def test_an_answer_has_the_id_of_its_report(world: Stage) -> None:
    world.script("qwen", "One.", "Two.", "Three.")
    chat = openai.OpenAI(api_key="k", base_url=f"{world.url}/v1")
    said: list[Any] = [{"role": "user", "content": "Hi"}]
    claude = anthropic.Anthropic(api_key="k", base_url=world.url)
    ids = [
        chat.chat.completions.create(model="qwen", messages=said)._request_id,
        chat.responses.create(model="qwen", input="Hi")._request_id,
        claude.messages.create(model="qwen", max_tokens=9, messages=said)._request_id,
    ]
    for id in ids:
        assert httpx.get(f"{world.url}/dragoman/requests/{id}").json()["id"] == id
