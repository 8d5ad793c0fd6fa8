"""Searches that Gemini made beside functions, and code that it ran, go back to it signed, whatever client carries
them."""

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


SEARCHING: Any = {
    "responses": {"tools": [{"type": "web_search"}, {"type": "function", **FUNCTION}]},
    "chat": {"web_search_options": {}, "tools": [{"type": "function", "function": FUNCTION}]},
}
CODING: Any = {
    "responses": {
        "tools": [{"type": "code_interpreter", "container": {"type": "auto"}}],
        "include": ["code_interpreter_call.outputs"],
    },
    "chat": {"tools": [{"type": "code_interpreter"}]},
}


def ask_by_responses(one: Running, history: list[Any], stream: bool, tools: Any = SEARCHING) -> list[Any]:
    given: Any = {"model": "new", "input": history, "store": False, **tools["responses"]}
    client = one.openai()
    if not stream:
        answer = client.responses.create(**given)
    else:
        with client.responses.stream(**given) as events:
            for _ in events:
                pass
            answer = events.get_final_response()
    return [*history, *[item.to_dict() for item in answer.output]]


def ask_by_chat(one: Running, history: list[Any], stream: bool, tools: Any = SEARCHING) -> list[Any]:
    given: Any = {"model": "new", "messages": history, **tools["chat"]}
    client = one.openai()
    if not stream:
        message = client.chat.completions.create(**given).choices[0].message.to_dict()
        return [*history, {name: message[name] for name in ("role", "content", "tool_calls") if message.get(name)}]
    chunks = list(client.chat.completions.create(stream=True, **given))
    deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    pieces = [piece.to_dict() for delta in deltas for piece in delta.tool_calls or ()]
    calls: Any = [{name: piece[name] for name in ("id", "type", "function")} for piece in pieces if "id" in piece]
    for call in calls:
        call["function"]["arguments"] = "".join([piece["function"]["arguments"] for piece in pieces])
    text = "".join([delta.content or "" for delta in deltas])
    return [*history, {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}]


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


ASKS = pytest.mark.parametrize("ask", [ask_by_responses, ask_by_chat])
RUN = "Run python code to compute 6*7."


@pytest.mark.parametrize("stream", [False, True])
@ASKS
def test_code_that_gemini_ran_is_put_back_signed(
    running: Running, behind: RunningEmulator, ask: Callable[..., list[Any]], stream: bool
) -> None:
    """The code is signed, its result is not: both go back, as they came, in every later turn."""
    history = ask(running, [{"role": "user", "content": RUN}], stream, CODING)
    if ask is ask_by_responses:
        (code,) = [item for item in history if item.get("type") == "code_interpreter_call"]
        assert (code["code"], code["outputs"]) == ("print(6*7)\n", [{"type": "logs", "logs": "42\n"}])
    else:
        assert "42" in history[-1]["content"]
    again = {"role": "user", "content": "Run python code to compute 5*5."}
    history = ask(running, [*history, again], stream, CODING)
    ask(running, [*history, {"role": "user", "content": "Thanks."}], stream, CODING)
    _, second, third = behind.requests
    (turn,) = signed_parts(second)
    assert [(name, bool(signature)) for name, signature in turn] == [
        ("executableCode", True),
        ("codeExecutionResult", False),
        ("text", True),
    ]
    parts = second.body["contents"][1]["parts"]
    assert parts[0]["executableCode"]["id"] == parts[1]["codeExecutionResult"]["id"]
    assert parts[1]["codeExecutionResult"]["output"] == "42\n"
    first, later = signed_parts(third)
    assert (first, [name for name, _ in later]) == (turn, [name for name, _ in turn])
    assert "[code run" not in json.dumps(third.body), "not told twice"
    assert {one.verdict for one in behind.requests} == {"accepted"}


@pytest.mark.parametrize("stream", [False, True])
def test_code_that_gemini_ran_is_carried_by_anthropics_client(
    running: Running, behind: RunningEmulator, stream: bool
) -> None:
    given: Any = {
        "model": "new",
        "max_tokens": 500,
        "tools": [{"type": "code_execution_20250825", "name": "code_execution"}],
    }
    turns: Any = [{"role": "user", "content": RUN}]
    client = running.anthropic()
    if stream:
        with client.messages.stream(messages=turns, **given) as events:
            answer = events.get_final_message()
    else:
        answer = client.messages.create(messages=turns, **given)
    assert [block.type for block in answer.content] == ["server_tool_use", "code_execution_tool_result", "text"]
    turns += [{"role": "assistant", "content": answer.to_dict()["content"]}, {"role": "user", "content": "Thanks."}]
    client.messages.create(messages=turns, **given)
    (turn,) = signed_parts(behind.requests[1])
    assert [name for name, _ in turn] == ["executableCode", "codeExecutionResult", "text"]
    assert turn[0][1]


@ASKS
def test_code_goes_to_no_other_model_with_its_signature(
    running: Running, behind: RunningEmulator, ask: Callable[..., list[Any]]
) -> None:
    history = ask(running, [{"role": "user", "content": RUN}], False, CODING)
    turns: Any = [*history, {"role": "user", "content": "Thanks."}]
    if ask is ask_by_responses:
        running.openai().responses.create(model="old", input=turns, store=False)
    else:
        running.openai().chat.completions.create(model="old", messages=turns)
    sent = json.dumps(behind.requests[1].body)
    assert "thoughtSignature" not in sent
    assert "42" in sent


SIGNED_RUNS: dict[str, list[dict[str, Any]]] = {
    "without output": [
        signed_part("executableCode", id="x1", code="x = 1", language="PYTHON"),
        {"codeExecutionResult": {"id": "x1", "outcome": "OUTCOME_OK"}},
        signed_part("executableCode", id="x2", code="print(x)", language="PYTHON"),
        {"codeExecutionResult": {"id": "x2", "outcome": "OUTCOME_OK", "output": "1\n"}},
        {"text": "It is one."},
    ],
    "a signed result": [
        signed_part("executableCode", id="x1", code="print(1)", language="PYTHON"),
        signed_part("codeExecutionResult", id="x1", outcome="OUTCOME_OK", output="1\n"),
        {"text": "It is one."},
    ],
    "a failure before a call": [
        signed_part("executableCode", id="x1", code="print(", language="PYTHON"),
        signed_part("codeExecutionResult", id="x1", outcome="OUTCOME_FAILED", output="SyntaxError"),
        signed_part("functionCall", name="add_note", args={}, id="c1"),
    ],
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("runs", SIGNED_RUNS)
@ASKS
def test_every_signed_run_goes_back_as_it_came(
    tmp_path: Path, ask: Callable[..., list[Any]], runs: str, stream: bool
) -> None:
    parts = SIGNED_RUNS[runs]
    tools = {
        name: {**given, "tools": [*given["tools"], SEARCHING[name]["tools"][-1]]} for name, given in CODING.items()
    }

    def answered(seen: Seen) -> Answer:
        shown = parts if len(seen.body["contents"]) == 1 else [{"text": "Done."}]
        answer: Any = {"candidates": [{"content": {"role": "model", "parts": shown}, "finishReason": "STOP"}]}
        if "stream" not in seen.path:
            return 200, answer
        return 200, (b"data: " + json.dumps(answer).encode() + b"\r\n\r\n",)

    with upstream(answered) as stub:
        providers = {"p": provider("gemini", stub.url)}
        config = {"providers": providers, "models": {"new": {"target": "p/gemini-3-pro-preview"}}}
        with gateway(config, tmp_path) as one:
            history = ask(one, [{"role": "user", "content": RUN}], stream, tools)
            chat = next((turn["tool_calls"][0]["id"] for turn in history if "tool_calls" in turn), "")
            other = next((turn["call_id"] for turn in history if turn.get("type") == "function_call"), "")
            result = {"role": "tool", "tool_call_id": chat, "content": "stored"}
            output = {"type": "function_call_output", "call_id": other, "output": "stored"}
            thanks = {"role": "user", "content": "Thanks."}
            ask(one, [*history, result if chat else output if other else thanks], False, tools)
    assert stub.seen[1].body["contents"][1]["parts"] == parts


@pytest.mark.parametrize("stored", [False, True])
def test_thinking_that_a_client_brings_back_before_a_search_is_not_put_back_again(tmp_path: Path, stored: bool) -> None:
    with emulator("anthropic", signatures="strict") as behind:
        config = {
            "providers": {"p": provider("anthropic", behind.base_url)},
            "models": {"new": {"target": "p/claude-opus-4-8"}},
        }
        with gateway(config, tmp_path) as one:
            given: Any = {"model": "new", "tools": [{"type": "web_search"}], "reasoning": {"effort": "high"}}
            given |= {"store": stored, "include": ["reasoning.encrypted_content"]}
            first = one.openai().responses.create(input=SEARCHED, **given)
            thanks: Any = {"role": "user", "content": "Thanks."}
            if stored:
                second = one.openai().responses.with_raw_response.create(
                    input=[thanks], previous_response_id=first.id, **given
                )
            else:
                turns: Any = [{"role": "user", "content": SEARCHED}, *[item.to_dict() for item in first.output], thanks]
                second = one.openai().responses.with_raw_response.create(input=turns, **given)
    assert [item.type for item in first.output] == ["reasoning", "web_search_call", "message"]
    assert json.dumps(behind.requests[1].body["messages"]).count('"signature"') == 1
    assert "kept-reasoning" not in second.headers.get("x-dragoman-added", "")
