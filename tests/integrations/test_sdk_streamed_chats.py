"""Chats of Google's SDK that stream: it keeps every piece of an answer as a content of its own, and sends them all.

What a model of another provider gets of them is what it gets of the same chat without streams. Google's own models get
the pieces as they are (https://github.com/googleapis/python-genai/issues/1791), but for those that they refuse.
"""

from __future__ import annotations

import re
from typing import Any

import httpx2
import msgspec
import pytest
from google import genai
from google.genai import types
from tests.gateway.test_vault import MODELS, SCHEMA, STRICT

from dragoman.integrations.sdk_transport import DragomanTransport
from dragoman.testing import emulator

UPSTREAMS = {
    **{name: model for name, model in MODELS.items() if name not in ("gemini", "openai")},
    "bedrock": "anthropic.claude-sonnet-4-5-20250929-v1:0",
    "cohere": "command-a-reasoning-08-2025",
    "gemini-openai": "gemini-3-pro-preview",
    "mistral": "magistral-medium-latest",
    "ollama": "qwen3",
}
CALLS = [{"name": "weather", "arguments": {"city": city}} for city in ("Paris", "Rome")]
SCRIPT: list[dict[str, Any]] = [
    {"reasoning": "They only greet me, so I greet them back.", "text": "Hello.\n\nWhat can I do for you today, then?"},
    {"reasoning": "They want the weather, so I look twice.", "text": "Let me look.", "calls": CALLS},
    {"reasoning": "Both results say that it rains.", "text": "It rains in Paris, and it rains in Rome as well."},
    {"text": "Good bye."},
]
TOOL = types.Tool(function_declarations=[types.FunctionDeclaration(name="weather", parameters_json_schema=SCHEMA)])
CONFIG = types.GenerateContentConfig(
    tools=[TOOL],
    max_output_tokens=8000,
    thinking_config=types.ThinkingConfig(include_thoughts=True, thinking_budget=2048),
)


class Chat:
    """One chat of the SDK: plain words, two calls at once, their results, plain words."""

    def __init__(self, upstream: str, model: str, stream: bool, config: types.GenerateContentConfig = CONFIG) -> None:
        self.sent: list[Any] = []
        signatures = "strict" if upstream in (*STRICT, "bedrock", "vertex") else "lenient"
        with emulator(upstream, script=SCRIPT, signatures=signatures) as provider:
            transport = DragomanTransport(f"{upstream}/{model}", api_key="k-123456", base_url=provider.base_url)
            http: Any = httpx2.Client(transport=transport, event_hooks={"request": [self._note]})
            client = genai.Client(api_key="unused", http_options=types.HttpOptions(httpx_client=http))
            self._chat = client.chats.create(model="m", config=config)
            self._stream = stream
            self._ask("Hello")
            called = self._ask("How is the weather in Paris and in Rome?")
            self._ask([result_of(part.function_call) for part in called if part.function_call is not None])
            self._ask("Good bye")
        self.verdicts = [request.verdict for request in provider.requests]
        self.bodies: list[Any] = [request.body for request in provider.requests]

    def _note(self, request: Any) -> None:
        self.sent.append(msgspec.json.decode(request.content))

    def _ask(self, message: Any) -> list[types.Part]:
        stream = self._chat.send_message_stream
        answers = list(stream(message)) if self._stream else [self._chat.send_message(message)]
        told = [one.content for answer in answers for one in answer.candidates or () if one.content is not None]
        return [part for content in told for part in content.parts or ()]


def result_of(call: types.FunctionCall) -> types.Part:
    response = {"output": f"rain in {(call.args or {})['city']}"}
    return types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response=response))


_ID = re.compile(r'"(?:id|call_id|tool_call_id|toolUseId|tool_use_id)": ?"([^"]+)"')


def without_ids(body: Any) -> Any:
    """The body with the ids of calls, which each run makes anew, in order; whether it asks for a stream aside."""
    text = msgspec.json.encode({name: value for name, value in body.items() if "stream" not in name}).decode()
    for number, identity in enumerate(dict.fromkeys(_ID.findall(text))):
        text = text.replace(f'"{identity}"', f'"{number}"')
    return msgspec.json.decode(text)


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_another_provider_gets_whole_answers(upstream: str) -> None:
    streamed, whole = (Chat(upstream, UPSTREAMS[upstream], stream) for stream in (True, False))
    assert streamed.verdicts == ["accepted"] * 4
    assert [without_ids(body) for body in streamed.bodies] == [without_ids(body) for body in whole.bodies]
    sent = msgspec.json.encode(streamed.bodies[-1])
    for turn in SCRIPT[:3]:
        assert msgspec.json.encode(turn["text"]) in sent
        assert upstream == "gemini-openai" or msgspec.json.encode(turn["reasoning"]) in sent


@pytest.mark.parametrize("upstream", ["anthropic", "openai-responses", "deepseek"])
def test_so_it_does_if_the_client_is_not_shown_the_thinking(upstream: str) -> None:
    config = CONFIG.model_copy(update={"thinking_config": None})
    streamed, whole = (Chat(upstream, UPSTREAMS[upstream], stream, config) for stream in (True, False))
    assert streamed.verdicts == ["accepted"] * 4
    assert [without_ids(body) for body in streamed.bodies] == [without_ids(body) for body in whole.bodies]


def test_gemini_gets_the_pieces_as_they_are_but_for_calls_that_it_would_check_one_by_one() -> None:
    chat = Chat("gemini", "gemini-3-pro-preview", True)
    assert chat.verdicts == ["accepted"] * 4
    for number in (0, 1, 3):
        assert chat.bodies[number]["contents"] == chat.sent[number]["contents"]
    sent, got = chat.sent[2]["contents"], chat.bodies[2]["contents"]
    assert [one for one in sent if one not in got] == [one for one in pieces_of(sent) if one not in got]
    (whole,) = [one for one in got if one not in sent]
    thought, text, first, second = whole["parts"]
    assert (thought["text"], text["text"]) == (SCRIPT[1]["reasoning"], SCRIPT[1]["text"])
    assert {"parts": [first], "role": "model"} in sent
    assert {"parts": [second], "role": "model"} in sent


def pieces_of(contents: list[Any]) -> list[Any]:
    """The contents of the last turn of the model."""
    asked = max(index for index, one in enumerate(contents[:-1]) if one["role"] == "user")
    return contents[asked + 1 : -1]


def test_vertex_gets_the_signature_of_an_empty_piece_on_the_words_before_it() -> None:
    """It takes no empty text."""
    chat = Chat("vertex", "gemini-3-pro-preview", True)
    assert chat.verdicts == ["accepted"] * 4
    signed = [part for one in chat.sent[3]["contents"] for part in one["parts"] if part.get("text") == ""]
    parts = [part for one in chat.bodies[3]["contents"] for part in one["parts"]]
    texts = (SCRIPT[0]["text"], SCRIPT[2]["text"])
    for text, empty in zip(texts, signed, strict=True):
        assert {"text": text, "thoughtSignature": empty["thoughtSignature"]} in parts
