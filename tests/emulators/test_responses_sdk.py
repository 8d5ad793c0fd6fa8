"""The official openai SDK talks to the Responses emulator and understands every word."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from dragoman.testing import emulator

TOOLS: list[Any] = [
    {
        "type": "function",
        "name": "weather",
        "strict": False,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
]
THINKS = {
    "reasoning": "They want Paris and Zürich… 🎉",
    "text": "Let me look.",
    "calls": [
        {"name": "weather", "arguments": {"city": "Paris"}},
        {"name": "weather", "arguments": {"city": "Zürich"}},
    ],
}
ASKED = {"model": "gpt-5-mini", "tools": TOOLS, "reasoning": {"effort": "low", "summary": "auto"}}


def client(url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=url, api_key="any", max_retries=0)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("cut", [0, 1, 5])
@pytest.mark.parametrize("interleave", [False, True])
@pytest.mark.parametrize("streamed", [False, True])
def test_tools_and_reasoning_there_and_back(streamed: bool, interleave: bool, cut: int) -> None:
    opening: Any = {"role": "user", "content": "Weather?"}
    script = [{**THINKS, "interleave": interleave}, "It rains in both."]
    with emulator("openai-responses", script=script, signatures="strict", write_size=cut) as server:
        responses = client(server.base_url).responses

        def say(*items: Any) -> Any:
            if not streamed:
                return responses.create(input=list(items), **ASKED)
            with responses.stream(input=list(items), **ASKED) as stream:
                return stream.get_final_response()

        first = say(opening)
        assert [item.type for item in first.output] == ["reasoning", "message", "function_call", "function_call"]
        assert first.output[0].summary[0].text == THINKS["reasoning"]
        assert first.output_text == "Let me look."
        assert [item.arguments for item in first.output[2:]] == ['{"city":"Paris"}', '{"city":"Zürich"}']
        back = [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in first.output]
        for item in back:
            for part in item.get("content", []):
                part.pop("parsed", None)
        outputs = [
            {"type": "function_call_output", "call_id": item.call_id, "output": "rain"} for item in first.output[2:]
        ]
        second = say(opening, *back, *outputs)
        assert second.output_text == "It rains in both."
        assert second.usage.total_tokens == second.usage.input_tokens + second.usage.output_tokens
    assert [request.verdict for request in server.requests] == ["accepted", "accepted"]


@pytest.mark.parametrize(
    ("turn", "status"),
    [
        ({"refusal": "No."}, "completed"),
        ({"text": "Hel", "stop": "length"}, "incomplete"),
        ({"json": {"a": 1}}, "completed"),
    ],
)
def test_other_endings(turn: dict[str, Any], status: str) -> None:
    with emulator("openai-responses", script=[turn, turn]) as server:
        responses = client(server.base_url).responses
        whole = responses.create(model="gpt-4o-mini", input="Hi")
        events = list(responses.create(model="gpt-4o-mini", input="Hi", stream=True))
    assert whole.status == status
    assert events[-1].type == f"response.{status}"
    assert [event.sequence_number for event in events] == list(range(len(events)))


def test_count_and_models() -> None:
    with emulator("openai-responses") as server:
        api = client(server.base_url)
        assert api.responses.input_tokens.count(model="gpt-4o-mini", input="Hi").input_tokens > 0
        assert "gpt-4o-mini" in [model.id for model in api.models.list()]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("401", openai.AuthenticationError),
        ("404", openai.BadRequestError),
        ("429", openai.RateLimitError),
        ("500", openai.InternalServerError),
        ("context", openai.BadRequestError),
    ],
)
def test_faults_raise_the_right_error(fault: str, error: type[Exception]) -> None:
    with emulator("openai-responses", fault=fault) as server, pytest.raises(error):
        client(server.base_url).responses.create(model="gpt-4o-mini", input="Hi")


def test_an_error_inside_a_stream_is_raised() -> None:
    with emulator("openai-responses", script=["A long enough answer."], fault="stream-error;after=4") as server:
        stream = client(server.base_url).responses.create(model="gpt-4o-mini", input="Hi", stream=True)
        with pytest.raises(openai.APIError, match="overloaded"):
            list(stream)


def test_a_refusal_reaches_the_caller_in_openais_words() -> None:
    with emulator("openai-responses") as server:
        orphan: Any = [{"type": "function_call_output", "call_id": "call_x", "output": "rain"}]
        with pytest.raises(openai.BadRequestError, match="No tool call found for function call output with call_id"):
            client(server.base_url).responses.create(model="gpt-4o-mini", input=orphan)
