"""A search that Gemini made beside functions goes back to it with its signatures, whatever client carries it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import Running, gateway, provider
from tests.gateway.upstream import Answer, Seen, upstream

from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.emulators.signatures import mint
from dragoman.testing import emulator

ASKED: Any = {"role": "user", "content": "Search the web for the tallest tower of Lisbon."}
TOOLS: Any = [
    {"type": "web_search_20250305", "name": "web_search"},
    {"name": "add_note", "description": "Stores a note", "input_schema": {"type": "object"}},
]


@pytest.fixture
def behind() -> Iterator[RunningEmulator]:
    with emulator("gemini", signatures="strict") as one:
        yield one


@pytest.fixture
def running(behind: RunningEmulator, tmp_path: Path) -> Iterator[Running]:
    providers = {"p": provider("gemini", behind.base_url)}
    models = {"new": {"target": "p/gemini-3-pro-preview"}, "old": {"target": "p/gemini-2.5-flash"}}
    with gateway({"providers": providers, "models": models}, tmp_path) as one:
        yield one


def kinds(request: Any) -> list[str]:
    """The kinds of the parts of the model's turns."""
    turns = [turn for turn in request.body["contents"] if turn.get("role") == "model"]
    return [next(name for name in part if name != "thoughtSignature") for turn in turns for part in turn["parts"]]


@pytest.mark.parametrize("stream", [False, True])
def test_anthropics_client_carries_the_call_and_its_result(
    running: Running, behind: RunningEmulator, stream: bool
) -> None:
    client = running.anthropic()
    given: Any = {"max_tokens": 500, "tools": TOOLS}
    if stream:
        with client.messages.stream(model="new", messages=[ASKED], **given) as events:
            answer = events.get_final_message()
    else:
        answer = client.messages.create(model="new", messages=[ASKED], **given)
    turns: Any = [
        ASKED,
        {"role": "assistant", "content": answer.to_dict()["content"]},
        {"role": "user", "content": "Thanks."},
    ]
    client.messages.create(model="new", messages=turns, **given)
    first, second = behind.requests
    assert first.body["toolConfig"]["includeServerSideToolInvocations"] is True
    assert kinds(second)[:2] == ["toolCall", "toolResponse"]
    (turn,) = [turn for turn in second.body["contents"] if turn["role"] == "model"]
    assert all(part["thoughtSignature"] for part in turn["parts"][:2]), "as they were signed"
    client.messages.create(model="old", messages=turns, max_tokens=500)
    assert "toolCall" not in json.dumps(behind.requests[2].body), "an older model does not know them"
    assert "tallest tower" in json.dumps(behind.requests[2].body["contents"][1])


SEARCHED = "Search the web for the tallest tower of Lisbon."
FUNCTION: Any = {"name": "add_note", "description": "Stores a note", "parameters": {"type": "object"}}


def ask_by_responses(one: Running, history: list[Any], stream: bool) -> list[Any]:
    given: Any = {"model": "new", "input": history, "store": False}
    given["tools"] = [{"type": "web_search"}, {"type": "function", **FUNCTION}]
    client = one.openai()
    if not stream:
        answer = client.responses.create(**given)
    else:
        with client.responses.stream(**given) as events:
            for _ in events:
                pass
            answer = events.get_final_response()
    return [*history, *[item.to_dict() for item in answer.output]]


def ask_by_chat(one: Running, history: list[Any], stream: bool) -> list[Any]:
    given: Any = {"model": "new", "messages": history, "web_search_options": {}}
    given["tools"] = [{"type": "function", "function": FUNCTION}]
    client = one.openai()
    if not stream:
        message = client.chat.completions.create(**given).choices[0].message.to_dict()
        return [*history, {name: message[name] for name in ("role", "content", "tool_calls") if message.get(name)}]
    chunks = list(client.chat.completions.create(stream=True, **given))
    text = "".join([choice.delta.content or "" for chunk in chunks for choice in chunk.choices])
    return [*history, {"role": "assistant", "content": text}]


def signed_parts(request: Any) -> list[list[tuple[str, str]]]:
    """Of each turn of the model, its parts and their signatures."""
    turns = [turn["parts"] for turn in request.body["contents"] if turn.get("role") == "model"]
    return [
        [(next(name for name in part if name != "thoughtSignature"), part.get("thoughtSignature", "")) for part in turn]
        for turn in turns
    ]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("ask", [ask_by_responses, ask_by_chat])
def test_a_client_that_cannot_carry_them_gets_them_put_back(
    running: Running, behind: RunningEmulator, ask: Callable[..., list[Any]], stream: bool
) -> None:
    history = [{"role": "user", "content": SEARCHED}]
    history = ask(running, history, stream)
    history = ask(running, [*history, {"role": "user", "content": "Search the web for the oldest bridge."}], stream)
    ask(running, [*history, {"role": "user", "content": "Thanks."}], stream)
    _, second, third = behind.requests
    (turn,) = signed_parts(second)
    assert [name for name, _ in turn] == ["toolCall", "toolResponse", "text"]
    assert all(signature for _, signature in turn[:2])
    first, again = signed_parts(third)
    assert first == turn, "the same in every later turn"
    assert [name for name, _ in again] == ["toolCall", "toolResponse", "text"]
    assert again[0] != first[0]
    assert "[web search" not in json.dumps(third.body), "not told twice"


def test_what_was_kept_goes_to_no_other_model(running: Running, behind: RunningEmulator) -> None:
    history = ask_by_responses(running, [{"role": "user", "content": SEARCHED}], False)
    turns: Any = [*history, {"role": "user", "content": "Thanks."}]
    running.openai().responses.create(model="old", input=turns, store=False)
    sent = json.dumps(behind.requests[1].body)
    assert "toolCall" not in sent
    assert "[web search" in sent


def signed_part(kind: str, **members: Any) -> dict[str, Any]:
    return {kind: members, "thoughtSignature": mint("gemini/gemini-3-pro-preview", kind)}


SEARCH = {"id": "s1", "toolType": "GOOGLE_SEARCH_WEB"}
BESIDE_A_CALL = [
    signed_part("toolCall", **SEARCH, args={"queries": ["tower"]}),
    signed_part("toolResponse", **SEARCH, response={"search_suggestions": ""}),
    signed_part("functionCall", name="add_note", args={}, id="c1"),
]


@pytest.mark.parametrize("ask", [ask_by_responses, ask_by_chat])
def test_a_search_before_a_call_goes_back_before_it(tmp_path: Path, ask: Callable[..., list[Any]]) -> None:
    def answered(seen: Seen) -> Answer:
        parts = BESIDE_A_CALL if len(seen.body["contents"]) == 1 else [{"text": "Done."}]
        return 200, {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}

    with upstream(answered) as stub:
        providers = {"p": provider("gemini", stub.url)}
        config = {"providers": providers, "models": {"new": {"target": "p/gemini-3-pro-preview"}}}
        with gateway(config, tmp_path) as one:
            history = ask(one, [{"role": "user", "content": SEARCHED}], False)
            chat = next((turn["tool_calls"][0]["id"] for turn in history if "tool_calls" in turn), "")
            other = next((turn["call_id"] for turn in history if turn.get("type") == "function_call"), "")
            result = {"role": "tool", "tool_call_id": chat, "content": "stored"}
            output = {"type": "function_call_output", "call_id": other, "output": "stored"}
            ask(one, [*history, result if chat else output], False)
    turn = stub.seen[1].body["contents"][1]
    assert turn["parts"] == BESIDE_A_CALL


def test_a_page_that_gemini_read_goes_back_to_it(running: Running, behind: RunningEmulator) -> None:
    tools: Any = [{"type": "web_fetch_20250910", "name": "web_fetch"}, TOOLS[1]]
    turns: Any = [{"role": "user", "content": "Fetch https://example.org/a and tell me about it."}]
    answer = running.anthropic().messages.create(model="new", max_tokens=500, messages=turns, tools=tools)
    assert [block.type for block in answer.content] == ["server_tool_use", "web_fetch_tool_result", "text"]
    turns += [{"role": "assistant", "content": answer.to_dict()["content"]}, {"role": "user", "content": "Thanks."}]
    running.anthropic().messages.create(model="new", max_tokens=500, messages=turns, tools=tools)
    (turn,) = signed_parts(behind.requests[1])
    assert [name for name, signature in turn if signature] == ["toolCall", "toolResponse", "text"]
