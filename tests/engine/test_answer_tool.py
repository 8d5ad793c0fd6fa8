"""An answer that was asked for as a tool's call comes back as text: whole, streamed, by every SDK's parser (K32)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
from google import genai
from google.genai import types
from pydantic import BaseModel

from dragoman.conversation.events import CallDelta, CallEnded, CallStarted, Ended, Event, Stopped, TextDelta
from dragoman.conversation.replies import Stop
from dragoman.engine.answer.answer_tool import AnswerTool
from dragoman.integrations.sdk_transport import DragomanTransport
from dragoman.testing import emulator

ANSWER = [
    CallStarted(0, 1, "c1", "city"),
    CallDelta(0, 1, b'"{\\"name\\":"'),
    CallDelta(0, 1, b'"\\"Bern\\"}"'),
    CallEnded(0, 1),
]
CALLED, ENDED = Stopped(0, Stop.CALLS, "tool_calls"), Ended()


def given(*events: Event, size: int = 1, names: dict[str, str] | None = None) -> list[Event]:
    tool = AnswerTool("city", names or {})
    cut = [list(events[at : at + size]) for at in range(0, len(events), size)]
    return [event for piece in cut for event in tool.put(piece)]


def text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize("size", [1, 2, 7])
def test_the_arguments_are_the_text(size: int) -> None:
    events = given(*ANSWER, CALLED, ENDED, size=size)
    assert text(events) == '{"name":"Bern"}'
    assert events[-2:] == [Stopped(0, Stop.END), ENDED]
    assert not any(isinstance(event, CallStarted | CallDelta | CallEnded) for event in events)


def test_what_stands_before_the_call_is_no_part_of_the_answer() -> None:
    assert text(given(TextDelta(0, 0, b'"Here it is: "'), *ANSWER, CALLED, ENDED)) == '{"name":"Bern"}'


def test_a_model_that_answers_in_text_is_heard() -> None:
    plain = [TextDelta(0, 0, b'"{}"'), Stopped(0, Stop.END), ENDED]
    assert given(*plain) == plain
    assert given(TextDelta(0, 0, b'"cut"'), ENDED) == [TextDelta(0, 0, b'"cut"'), ENDED]


def test_other_calls_stay_calls() -> None:
    other = [CallStarted(0, 0, "c0", "look"), CallDelta(0, 0, b'"{}"'), CallEnded(0, 0)]
    assert given(TextDelta(0, 5, b'"a"'), *other, CALLED, ENDED) == [TextDelta(0, 5, b'"a"'), *other, CALLED, ENDED]
    both = given(*other, *ANSWER, CALLED, ENDED)
    assert both[:3] == other
    assert both[-2:] == [CALLED, ENDED]


def test_a_second_answer_says_it_again() -> None:
    again = [CallStarted(0, 2, "c2", "city"), CallEnded(0, 2)]
    assert text(given(*ANSWER, *again, CALLED, ENDED)) == '{"name":"Bern"}'


def test_a_renamed_tool_and_an_answer_without_fragments() -> None:
    events = given(CallStarted(0, 0, "c1", "ct"), CallEnded(0, 0), CALLED, ENDED, names={"ct": "city"})
    assert events == [TextDelta(0, 0, b'""'), Stopped(0, Stop.END), ENDED]


def test_a_cut_answer_stays_cut() -> None:
    cut = Stopped(0, Stop.LENGTH, "length")
    assert given(*ANSWER, cut, ENDED)[-2:] == [cut, ENDED]


class City(BaseModel):
    """What the emulators are asked for."""

    name: str
    inhabitants: int


TARGETS = {
    "groq": "llama-3.3-70b-versatile",
    "anthropic": "claude-3-5-haiku-20241022",
    "deepseek": "deepseek-chat",
    "openai": "gpt-4-turbo",
}


@pytest.fixture(scope="module")
def providers() -> Iterator[dict[str, Any]]:
    running = {name: emulator(name) for name in TARGETS}
    started = {name: one.__enter__() for name, one in running.items()}
    yield started
    for one in running.values():
        one.__exit__(None, None, None)


def transport(providers: dict[str, Any], name: str, library: Any) -> DragomanTransport:
    sends = library.HTTPTransport(verify=False)
    target = f"{name}/{TARGETS[name]}"
    return DragomanTransport(target, api_key="k-123456", base_url=providers[name].base_url, wrap=sends)


@pytest.mark.parametrize("name", TARGETS)
def test_the_openai_sdk_parses_the_answer(providers: dict[str, Any], name: str) -> None:
    http = httpx.Client(transport=transport(providers, name, httpx))
    client = openai.OpenAI(api_key="unused", http_client=http, max_retries=0)
    asked: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "response_format": City}
    whole = client.chat.completions.parse(**asked).choices[0]
    assert isinstance(whole.message.parsed, City)
    assert whole.finish_reason == "stop"
    assert not whole.message.tool_calls
    with client.chat.completions.stream(**asked) as stream:
        for _ in stream:
            pass
        streamed = stream.get_final_completion().choices[0]
    assert streamed.message.parsed == whole.message.parsed
    assert streamed.finish_reason == "stop"
    responses = client.responses.parse(model="m", input="Hi", text_format=City)
    assert responses.output_parsed == whole.message.parsed


@pytest.mark.parametrize("name", TARGETS)
def test_other_sdks_get_json_text(providers: dict[str, Any], name: str) -> None:
    http = httpx2.Client(transport=transport(providers, name, httpx2))
    claude = anthropic.Anthropic(api_key="unused", http_client=http, max_retries=0)
    schema = City.model_json_schema() | {"additionalProperties": False}
    form: Any = {"format": {"type": "json_schema", "schema": schema}}
    asked: Any = {"model": "m", "max_tokens": 99, "messages": [{"role": "user", "content": "Hi"}]}
    answer = claude.messages.create(**asked, output_config=form)
    assert [block.type for block in answer.content] == ["text"]
    assert answer.stop_reason == "end_turn"
    assert City.model_validate_json(answer.content[0].text)  # type: ignore[union-attr]
    google_http = httpx.Client(transport=transport(providers, name, httpx))
    google = genai.Client(api_key="unused", http_options=types.HttpOptions(httpx_client=google_http))
    config: Any = {"response_mime_type": "application/json", "response_schema": City}
    said = google.models.generate_content(model="m", contents="Hi", config=config)
    assert isinstance(said.parsed, City)
