"""Thinking inside the official SDKs: hidden from those that did not ask, and back at the model on the next turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2
import pytest
from google import genai
from google.genai import types
from tests.gateway.test_reasoning_loops import THINKS
from tests.gateway.test_vault import CALL, MODELS, SCHEMA, STRICT

from dragoman.integrations.sdk_transport import DragomanTransport
from dragoman.testing import emulator

THINKERS = ("deepseek", "openai-responses", "gemini")
ANSWER = {"reasoning": "Easy.", "text": "Four."}
QUESTION: Any = {"role": "user", "content": "Two and two?"}
TOOLS: Any = [{"name": "weather", "input_schema": SCHEMA}]
ASKED: Any = {"type": "enabled", "budget_tokens": 1024}


@contextmanager
def claude_sdk(model: str, *script: Any) -> Iterator[tuple[anthropic.Anthropic, Any]]:
    """Anthropic's SDK on a model of another provider, and that provider's emulator."""
    with emulator(model, script=list(script), signatures="strict" if model in STRICT else "lenient") as provider:
        transport = DragomanTransport(f"{model}/{MODELS[model]}", api_key="k-123456", base_url=provider.base_url)
        http = httpx2.Client(transport=transport)
        yield anthropic.Anthropic(api_key="unused", http_client=http, max_retries=0), provider


def ask(client: anthropic.Anthropic, stream: bool, messages: list[Any], **more: Any) -> anthropic.types.Message:
    if not stream:
        return client.messages.create(model="m", max_tokens=4000, messages=messages, **more)
    with client.messages.stream(model="m", max_tokens=4000, messages=messages, **more) as events:
        return events.get_final_message()


whole_and_streamed = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@whole_and_streamed
@pytest.mark.parametrize("model", THINKERS)
def test_one_that_did_not_ask_finds_the_text_first(model: str, stream: bool) -> None:
    with claude_sdk(model, ANSWER) as (client, _):
        (block,) = ask(client, stream, [QUESTION]).content
    assert block.type == "text"
    assert block.text == "Four."


@whole_and_streamed
def test_one_that_asked_is_shown_the_thinking(stream: bool) -> None:
    with claude_sdk("deepseek", ANSWER) as (client, _):
        thinking, text = ask(client, stream, [QUESTION], thinking=ASKED).content
    assert thinking.type == "thinking"
    assert thinking.thinking == "Easy."
    assert text.type == "text"


def test_the_meter_of_a_stream_begins_with_an_estimate() -> None:
    with claude_sdk("deepseek", ANSWER) as (client, _):
        events = list(client.messages.create(model="m", max_tokens=4000, messages=[QUESTION], stream=True))
    assert events[0].type == "message_start"
    assert events[0].message.usage.input_tokens > 0


def test_the_header_shows_it_to_one_that_did_not_ask() -> None:
    with claude_sdk("deepseek", ANSWER) as (client, _):
        answer = ask(client, False, [QUESTION], extra_headers={"x-dragoman-reasoning": "show"})
    assert [block.type for block in answer.content] == ["thinking", "text"]


@whole_and_streamed
@pytest.mark.parametrize("model", THINKERS)
def test_what_was_not_shown_goes_back_to_the_model(model: str, stream: bool) -> None:
    with claude_sdk(model, CALL, "It rains.") as (client, provider):
        called = ask(client, stream, [QUESTION], tools=TOOLS)
        (call,) = called.content
        assert call.type == "tool_use"
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain"}
        turns = [QUESTION, {"role": "assistant", "content": called.content}, {"role": "user", "content": [result]}]
        ask(client, stream, turns, tools=TOOLS)
        sent = provider.requests[-1]
    assert sent.verdict == "accepted"
    assert all(THINKS[model](sent.body))
    assert list(THINKS[model](sent.body)), "no call was sent"


def test_a_google_client_is_shown_thoughts_if_it_asks() -> None:
    with emulator("deepseek", script=[ANSWER, ANSWER]) as provider:
        transport = DragomanTransport("deepseek/deepseek-v4-flash", api_key="k-123456", base_url=provider.base_url)
        options = types.HttpOptions(httpx_client=httpx2.Client(transport=transport))
        client = genai.Client(api_key="unused", http_options=options)
        plain = client.models.generate_content(model="m", contents="Two and two?")
        config = types.GenerateContentConfig(thinking_config=types.ThinkingConfig(include_thoughts=True))
        asked = client.models.generate_content(model="m", contents="Two and two?", config=config)
    assert [bool(part.thought) for part in parts_of(plain)] == [False]
    assert [bool(part.thought) for part in parts_of(asked)] == [True, False]


def parts_of(answer: types.GenerateContentResponse) -> list[types.Part]:
    assert answer.candidates is not None
    content = answer.candidates[0].content
    assert content is not None
    return content.parts or []
