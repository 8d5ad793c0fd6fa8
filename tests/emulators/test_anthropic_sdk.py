"""The official anthropic SDK talks to the emulator and understands every word."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest

from dragoman.testing import emulator

TOOLS: list[Any] = [
    {
        "name": "weather",
        "description": "The weather in a city",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
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
ASKED = {
    "model": "claude-sonnet-5",
    "max_tokens": 4000,
    "tools": TOOLS,
    "thinking": {"type": "adaptive", "display": "summarized"},
}


def client(url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=url, api_key="any", max_retries=0)


def results(message: Any) -> dict[str, Any]:
    calls = [block for block in message.content if block.type == "tool_use"]
    answers = [{"type": "tool_result", "tool_use_id": call.id, "content": "rain"} for call in calls]
    return {"role": "user", "content": answers}


@pytest.mark.parametrize("cut", [0, 1, 5])
@pytest.mark.parametrize("streamed", [False, True])
def test_tools_and_thinking_there_and_back(streamed: bool, cut: int) -> None:
    opening: Any = {"role": "user", "content": "Weather?"}
    with emulator("anthropic", script=[THINKS, "It rains in both."], signatures="strict", write_size=cut) as server:
        messages = client(server.base_url).messages

        def say(*said: Any) -> Any:
            if not streamed:
                return messages.create(messages=list(said), **ASKED)
            with messages.stream(messages=list(said), **ASKED) as stream:
                return stream.get_final_message()

        first = say(opening)
        assert [block.type for block in first.content] == ["thinking", "text", "tool_use", "tool_use"]
        assert first.stop_reason == "tool_use"
        assert first.content[0].thinking == THINKS["reasoning"]
        assert [block.input for block in first.content[2:]] == [{"city": "Paris"}, {"city": "Zürich"}]
        second = say(opening, {"role": "assistant", "content": first.content}, results(first))
        assert second.content[0].text == "It rains in both."
        assert second.stop_reason == "end_turn"
        assert second.usage.output_tokens > 0
    assert [request.verdict for request in server.requests] == ["accepted", "accepted"]


def test_count_and_models() -> None:
    with emulator("anthropic") as server:
        api = client(server.base_url)
        counted = api.messages.count_tokens(model="claude-sonnet-5", messages=[{"role": "user", "content": "Hi"}])
        assert counted.input_tokens > 0
        assert "claude-sonnet-5" in [model.id for model in api.models.list()]


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("401", anthropic.AuthenticationError),
        ("404", anthropic.NotFoundError),
        ("429", anthropic.RateLimitError),
        ("500", anthropic.InternalServerError),
        ("context", anthropic.BadRequestError),
    ],
)
def test_faults_raise_the_right_error(fault: str, error: type[Exception]) -> None:
    with emulator("anthropic", fault=fault) as server, pytest.raises(error):
        client(server.base_url).messages.create(
            model="claude-sonnet-5", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
        )


def test_an_error_inside_a_stream_is_raised() -> None:
    with emulator("anthropic", script=["A long enough answer."], fault="stream-error;after=4") as server:
        stream = client(server.base_url).messages.create(
            model="claude-sonnet-5", max_tokens=9, messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        with pytest.raises(anthropic.APIStatusError, match="Overloaded"):
            list(stream)


def test_a_refusal_reaches_the_caller_in_anthropics_words() -> None:
    with emulator("anthropic") as server, pytest.raises(anthropic.BadRequestError, match="assistant message prefill"):
        client(server.base_url).messages.create(
            model="claude-sonnet-5",
            max_tokens=9,
            messages=[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "So"}],
        )
