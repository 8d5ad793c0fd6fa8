"""Cohere's dialect through the gateway: three turns of a tool loop in both directions, and what only it has.

Thinking and the plan before a call come back to who made them. The emulators refuse what the providers refuse, and
Claude's, Gemini's and OpenAI's refuse thinking whose proof is missing.
"""

from __future__ import annotations

import json
from typing import Any

import cohere
import pytest
from cohere.core.api_error import ApiError
from tests.gateway.speakers import SPEAKERS, AskedFor, Cohere
from tests.gateway.stage import Stage

TURNS = ("Köln", "Rome", "Oslo")
each_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def client(world: Stage) -> cohere.ClientV2:
    return cohere.ClientV2(base_url=world.url, api_key="any")


def loop(city: str) -> list[Any]:
    """What a model says in one turn: it thinks, says what it will do and calls; then it answers."""
    call = {"name": "weather", "arguments": {"city": city}}
    return [
        {"reasoning": f"Where is {city}?", "text": f"I will look at {city}.", "calls": [call]},
        {"reasoning": "Wet.", "text": f"It rains in {city}."},
    ]


def planned(message: dict[str, Any]) -> str:
    """The plan. The pieces of a Gemini client's stream come back as so many texts, and stay texts of the content."""
    texts = [part["text"] for part in message.get("content", []) if part["type"] == "text"]
    assert len(texts) != 1
    return str(message.get("tool_plan", "")) + "".join(texts)


def thought(message: dict[str, Any]) -> str:
    return "".join(part["thinking"] for part in message["content"] if part["type"] == "thinking")


async def held(world: Stage, dialect: str, model: str, stream: bool) -> list[Any]:
    """Three turns; the requests that reached the model."""
    world.script(model, *[step for city in TURNS for step in loop(city)])
    speaker = SPEAKERS[dialect](world.url, model, AskedFor(stream=stream, tools=True, thinking=True))
    for city in TURNS:
        called = await speaker.say(f"Does it rain in {city}?")
        assert (called.reasoning, called.text) == (f"Where is {city}?", f"I will look at {city}.")
        told = await speaker.answer({call.id: "It pours." for call in called.calls}, called.calls)
        assert (told.reasoning, told.text) == ("Wet.", f"It rains in {city}.")
    return [asked.body for asked in world.check(model, at_least=2 * len(TURNS))]


@each_way
@pytest.mark.parametrize("dialect", [name for name in SPEAKERS if name != "ollama"])
async def test_a_loop_on_a_cohere_model_keeps_plan_and_thinking(world: Stage, dialect: str, stream: bool) -> None:
    last = (await held(world, dialect, "command", stream))[-1]
    calling = [message for message in last["messages"] if message.get("tool_calls")]
    assert [planned(message) for message in calling] == [f"I will look at {city}." for city in TURNS]
    assert [thought(message) for message in calling] == [f"Where is {city}?" for city in TURNS]


@each_way
@pytest.mark.parametrize("model", ["claude", "gemini", "thinker", "deepseek"])
async def test_a_loop_of_a_cohere_client_keeps_plan_and_thinking(world: Stage, model: str, stream: bool) -> None:
    last = json.dumps((await held(world, "cohere", model, stream))[-1], ensure_ascii=False)
    for city in TURNS:
        assert f"I will look at {city}." in last
    proofs = {"claude": "signature", "gemini": "thoughtSignature", "thinker": "encrypted_content"}
    proofs["deepseek"] = "reasoning_content"
    assert last.count(f'"{proofs[model]}": "') >= len(TURNS)


@each_way
async def test_a_client_that_returns_plan_and_calls_alone_loses_no_proof(world: Stage, stream: bool) -> None:
    """Cohere's guide sends back only these two. Claude still gets the thinking that it signed."""
    world.script("claude", *loop("Oslo"))
    speaker = SPEAKERS["cohere"](world.url, "claude", AskedFor(stream=stream, tools=True, thinking=True))
    assert isinstance(speaker, Cohere)
    called = await speaker.say("Rain in Oslo?")
    answer = speaker.history[-1]
    speaker.history[-1] = {"role": "assistant", "tool_calls": answer.tool_calls, "tool_plan": answer.tool_plan}
    await speaker.answer({call.id: "It pours." for call in called.calls}, called.calls)
    second = world.check("claude", at_least=2)[1].body["messages"][1]["content"]
    assert second[0]["type"] == "thinking"
    assert second[0]["thinking"] == "Where is Oslo?"


def test_documents_reach_every_model(world: Stage) -> None:
    documents: Any = [{"id": "d1", "data": {"title": "Harbour", "text": "Dock Seven is amber."}}, "Dock Nine is blue."]
    for model in ("claude", "gemini", "gpt", "thinker", "command"):
        world.script(model, "Amber.")
        messages: Any = [{"role": "user", "content": "Which dock is amber?"}]
        answer = client(world).chat(model=model, messages=messages, documents=documents)
        assert answer.message.content is not None
        assert answer.message.content[0].text == "Amber."  # type: ignore[union-attr]
        sent = json.dumps(world.check(model)[0].body)
        assert "Dock Seven is amber." in sent, model
        assert "Dock Nine is blue." in sent, model


def test_citations_arrive_at_a_cohere_client(world: Stage) -> None:
    documents: Any = [{"id": "d1", "data": {"text": "Dock Seven is amber."}}]
    messages: Any = [{"role": "user", "content": "Which dock is amber?"}]
    world.script("command", "Dock Seven is the amber one.")
    whole = client(world).chat(model="command", messages=messages, documents=documents).message.citations
    world.script("command", "Dock Seven is the amber one.")
    events = list(client(world).chat_stream(model="command", messages=messages, documents=documents))
    streamed = [event.delta.message.citations for event in events if event.type == "citation-start"]
    assert whole is not None
    assert [(one.text, one.sources[0].id) for one in whole] == [("Dock Seven i", "d1")]
    assert [(one.text, one.sources[0].id) for one in streamed] == [("Dock Seven i", "d1")]


def test_an_error_comes_in_coheres_words(world: Stage) -> None:
    messages: Any = [{"role": "user", "content": "Hi"}]
    with pytest.raises(ApiError) as unknown:
        client(world).chat(model="no-such-model", messages=messages, request_options={"max_retries": 0})
    assert unknown.value.status_code == 404
    assert "no-such-model" in unknown.value.body["message"]
    with pytest.raises(ApiError) as empty:
        client(world).chat(model="claude", messages=[], request_options={"max_retries": 0})
    assert empty.value.status_code in (400, 422)
    assert empty.value.body["message"]


def test_a_failure_within_a_stream_is_the_last_event(world: Stage) -> None:
    world.script("claude", {"text": "This will break off somewhere. " * 20, "fault": "stream-error;after=40"})
    messages: Any = [{"role": "user", "content": "Hi"}]
    events = list(client(world).chat_stream(model="claude", messages=messages))
    assert events[-1].type == "message-end"
    assert events[-1].delta is not None
    if len(world.asked("claude")) == 1:
        assert events[-1].delta.finish_reason == "ERROR"
        assert events[-1].delta.error
    else:  # all of it came in one piece, so that nothing had left for the client: tried again
        assert events[-1].delta.finish_reason == "COMPLETE"


def test_models_are_listed_in_coheres_form(world: Stage) -> None:
    names = [model.name for model in client(world).models.list().models]
    assert {"claude", "command"} <= set(names)
