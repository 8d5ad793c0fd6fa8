"""The official google-genai SDK talks to the emulator, in both manners, and understands every word."""

from __future__ import annotations

from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from google.oauth2.credentials import Credentials

from dragoman.testing import emulator

MODEL = "gemini-3-pro-preview"
WEATHER = types.FunctionDeclaration(
    name="weather",
    description="The weather in a city",
    parameters_json_schema={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)
CONFIG = types.GenerateContentConfig(
    tools=[types.Tool(function_declarations=[WEATHER])],
    system_instruction="Be brief.",
    thinking_config=types.ThinkingConfig(include_thoughts=True),
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)
THINKS = {
    "reasoning": "They want Paris and Zürich… 🎉",
    "text": "Let me look.",
    "calls": [
        {"name": "weather", "arguments": {"city": "Paris"}},
        {"name": "weather", "arguments": {"city": "Zürich"}},
    ],
}


def client(url: str, name: str = "gemini") -> genai.Client:
    if name == "gemini":
        return genai.Client(api_key="any", http_options=types.HttpOptions(base_url=url))
    options = types.HttpOptions(base_url=url, api_version="v1beta1")
    return genai.Client(
        vertexai=True, project="p", location="global", credentials=Credentials(token="any"), http_options=options
    )


def said(text: str) -> types.Content:
    return types.Content(role="user", parts=[types.Part(text=text)])


def answers(content: types.Content) -> types.Content:
    calls = [part.function_call for part in content.parts or [] if part.function_call]
    made = [types.FunctionResponse(id=call.id, name=call.name, response={"output": "rain"}) for call in calls]
    return types.Content(role="user", parts=[types.Part(function_response=one) for one in made])


def folded(chunks: Any) -> types.Content:
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
    return types.Content(role="model", parts=parts)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["gemini", "vertex"])
@pytest.mark.parametrize("cut", [0, 1])
@pytest.mark.parametrize("streamed", [False, True])
def test_tools_and_thoughts_there_and_back(streamed: bool, cut: int, name: str) -> None:
    with emulator(name, script=[THINKS, "It rains in both."], signatures="strict", write_size=cut) as server:
        api = client(server.url, name)  # kept: a collected client closes its connections
        models = api.models

        def say(*contents: types.Content) -> types.Content:
            if streamed:
                return folded(models.generate_content_stream(model=MODEL, contents=list(contents), config=CONFIG))
            reply = models.generate_content(model=MODEL, contents=list(contents), config=CONFIG)
            assert reply.candidates
            assert reply.candidates[0].content
            return reply.candidates[0].content

        first = say(said("Weather?"))
        parts = first.parts or []
        assert "".join(part.text or "" for part in parts if part.thought) == THINKS["reasoning"]
        calls = [part.function_call for part in parts if part.function_call]
        assert [call.args for call in calls] == [{"city": "Paris"}, {"city": "Zürich"}]
        second = say(said("Weather?"), first, answers(first))
        assert "".join(part.text or "" for part in second.parts or []) == "It rains in both."
    assert [request.verdict for request in server.requests] == ["accepted", "accepted"]


def test_structured_output_usage_count_and_models() -> None:
    with emulator("gemini", script=[{"json": {"city": "Paris"}}]) as server:
        api = client(server.url)
        models = api.models
        config = types.GenerateContentConfig(response_mime_type="application/json", response_schema={"type": "OBJECT"})
        reply = models.generate_content(model="gemini-2.5-flash", contents="Where?", config=config)
        assert reply.parsed == {"city": "Paris"}
        assert reply.usage_metadata
        assert reply.usage_metadata.total_token_count
        counted = models.count_tokens(model="gemini-2.5-flash", contents="Where?")
        assert counted.total_tokens
        assert "models/gemini-2.5-flash" in [model.name for model in models.list()]


@pytest.mark.parametrize(
    ("fault", "code", "kind"),
    [
        ("401", 400, errors.ClientError),
        ("404", 404, errors.ClientError),
        ("429", 429, errors.ClientError),
        ("500", 500, errors.ServerError),
        ("503", 503, errors.ServerError),
        ("context", 400, errors.ClientError),
    ],
)
def test_faults_raise_the_right_error(fault: str, code: int, kind: type[errors.APIError]) -> None:
    with emulator("gemini", fault=fault) as server:
        api = client(server.url)
        with pytest.raises(kind) as raised:
            api.models.generate_content(model="gemini-2.5-flash", contents="Hi")
    assert raised.value.code == code


CALL = types.Content(role="model", parts=[types.Part(function_call=types.FunctionCall(name="weather", args={}))])
SYSTEM = types.Content(role="system", parts=[types.Part(text="Be brief.")])
ANSWER = types.Content(
    role="user", parts=[types.Part(function_response=types.FunctionResponse(name="weather", response={}))]
)


@pytest.mark.parametrize(
    ("broken", "sentence", "repaired"),
    [
        (
            [CALL, ANSWER],
            "Please ensure that function call turn comes immediately after a user turn or after a function response "
            "turn.",
            [said("Weather?"), CALL, ANSWER],
        ),
        (
            [said("Hi"), SYSTEM, said("Weather?")],
            "Please use a valid role: user, model.",
            [said("Hi"), said("[System] Be brief."), said("Weather?")],
        ),
    ],
    ids=["a call first", "a system role in between"],
)
def test_a_broken_conversation_is_refused_and_the_repaired_one_answered(
    broken: list[types.Content], sentence: str, repaired: list[types.Content]
) -> None:
    with emulator("gemini") as server:
        api = client(server.url)
        models = api.models
        with pytest.raises(errors.ClientError) as raised:
            models.generate_content(model="gemini-2.5-flash", contents=broken)
        assert raised.value.message == sentence
        assert models.generate_content(model="gemini-2.5-flash", contents=repaired).text
    assert [request.verdict for request in server.requests] == ["refused", "accepted"]


def test_an_unknown_field_is_refused_and_the_repaired_request_answered() -> None:
    stray = types.HttpOptions(extra_body={"done": True})
    with emulator("gemini") as server:
        api = client(server.url)
        models = api.models
        with pytest.raises(errors.ClientError) as raised:
            models.generate_content(
                model="gemini-2.5-flash", contents="Hi", config=types.GenerateContentConfig(http_options=stray)
            )
        assert raised.value.message == 'Invalid JSON payload received. Unknown name "done": Cannot find field.'
        assert models.generate_content(model="gemini-2.5-flash", contents="Hi").text
