"""An answer that its provider pauses while it runs tools is gone on with if the client has no word for that."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from tests.event_streams import stream_message, write_events
from tests.gateway.running import Running, gateway, provider
from tests.gateway.upstream import Answer, Seen, Upstream, upstream

from dragoman.emulators.anthropic.hosted_blocks import FOUND_ON_THE_WEB
from dragoman.emulators.signatures import mint

MODEL = "claude-opus-4-8"
ASKED = "How long is the bridge?"
THOUGHT = {"type": "thinking", "thinking": "I look.", "signature": mint(f"anthropic/{MODEL}", "I look.")}
FOUND = {
    "type": "web_search_result",
    "title": "The bridge",
    "url": "https://example.com/bridge",
    "encrypted_content": mint(FOUND_ON_THE_WEB, "https://example.com/bridge"),
    "page_age": None,
}


def call(number: int, query: str) -> dict[str, Any]:
    return {"type": "server_tool_use", "id": f"srvtoolu_{number}", "name": "web_search", "input": {"query": query}}


def result(number: int) -> dict[str, Any]:
    return {"type": "web_search_tool_result", "tool_use_id": f"srvtoolu_{number}", "content": [FOUND]}


LONG: dict[str, Any] = {
    "type": "text",
    "text": "It is long.",
    "citations": [
        {
            "type": "web_search_result_location",
            "cited_text": "a long bridge",
            "url": FOUND["url"],
            "title": FOUND["title"],
            "encrypted_index": mint(FOUND_ON_THE_WEB, "a long bridge"),
        }
    ],
}
TURNS: list[tuple[list[dict[str, Any]], str]] = [
    ([THOUGHT, {"type": "text", "text": "I look."}, call(1, "bridge"), result(1), call(2, "length")], "pause_turn"),
    ([result(2), LONG, call(3, "metres")], "pause_turn"),
    ([result(3), {"type": "text", "text": "1312 metres."}], "end_turn"),
]
"""What the model gives, round by round. Calls are open when it pauses."""


def claude(seen: Seen) -> Answer:
    """Gives the next of its turns, by how many it has been given back."""
    given = sum(message["role"] == "assistant" for message in seen.body["messages"])
    content, stop = TURNS[given]
    message = {
        "id": f"msg_{given}", "type": "message", "role": "assistant", "model": MODEL, "content": content,
        "stop_reason": stop, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5},
    }  # fmt: skip
    if not seen.body.get("stream"):
        return 200, message
    return 200, write_events(stream_message(message))


@pytest.fixture
def behind() -> Iterator[Upstream]:
    with upstream(claude) as one:
        yield one


@pytest.fixture
def running(behind: Upstream, tmp_path: Path) -> Iterator[Running]:
    providers = {"p": provider("anthropic", behind.url.removesuffix("/v1"))}
    with gateway({"providers": providers, "models": {"m": {"target": f"p/{MODEL}"}}}, tmp_path) as one:
        yield one


Given = tuple[str, str, tuple[int, int], list[str]]
"""What a client ends up with: the text, why it ended, the tokens, and the queries of searches that it is shown."""


def ask_by_chat(one: Running, stream: bool) -> Given:
    asked: Any = {"model": "m", "messages": [{"role": "user", "content": ASKED}], "web_search_options": {}}
    client = one.openai()
    if not stream:
        answer = client.chat.completions.create(**asked)
        choice, usage = answer.choices[0], answer.usage
        text, why = choice.message.content, choice.finish_reason
    else:
        chunks = list(client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **asked))
        choices = [choice for chunk in chunks for choice in chunk.choices]
        text = "".join([choice.delta.content or "" for choice in choices])
        (why,) = [choice.finish_reason for choice in choices if choice.finish_reason]
        usage = chunks[-1].usage
    return text, why, (usage.prompt_tokens, usage.completion_tokens), []


def ask_by_responses(one: Running, stream: bool) -> Given:
    asked: Any = {"model": "m", "input": ASKED, "tools": [{"type": "web_search"}]}
    client = one.openai()
    if not stream:
        answer = client.responses.create(**asked)
    else:
        with client.responses.stream(**asked) as events:
            for _ in events:
                pass
            answer = events.get_final_response()
    searches = [item for item in answer.output if item.type == "web_search_call"]
    assert {item.status for item in searches} == {"completed"}
    usage = answer.usage
    assert usage is not None
    queries = [getattr(item.action, "query", "") for item in searches]
    return answer.output_text, str(answer.status), (usage.input_tokens, usage.output_tokens), queries


def ask_by_gemini(one: Running, stream: bool) -> Given:
    search = types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())])
    models = one.gemini().models
    if stream:
        chunks = list(models.generate_content_stream(model="m", contents=ASKED, config=search))
    else:
        chunks = [models.generate_content(model="m", contents=ASKED, config=search)]
    usage, candidate = chunks[-1].usage_metadata, chunks[-1].candidates[0]
    tokens = usage.prompt_token_count, usage.candidates_token_count
    text = "".join([chunk.text or "" for chunk in chunks])
    return text, candidate.finish_reason.value, tokens, candidate.grounding_metadata.web_search_queries


ASKING: dict[str, tuple[Callable[[Running, bool], Given], str, list[str]]] = {
    "chat": (ask_by_chat, "stop", []),
    "responses": (ask_by_responses, "completed", ["bridge", "length", "metres"]),
    "gemini": (ask_by_gemini, "STOP", ["bridge", "length", "metres"]),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("client", ASKING)
def test_the_client_gets_the_whole_answer(running: Running, behind: Upstream, client: str, stream: bool) -> None:
    ask, ended, shown = ASKING[client]
    text, why, tokens, queries = ask(running, stream)
    assert text.replace("\n\n", "") == "I look.It is long.1312 metres."
    assert (why, tokens, queries) == (ended, (30, 15), shown)
    first, second, third = behind.bodies()
    back = [{"role": "assistant", "content": content} for content, _ in TURNS[:2]]
    assert second["messages"] == [*first["messages"], back[0]], "as it came, and no turn after it"
    assert third["messages"] == [*first["messages"], *back]
    assert first["tools"] == second["tools"] == third["tools"]


def test_the_report_tells_of_it(running: Running) -> None:
    answer = running.post("/v1/responses", {"model": "m", "input": ASKED, "tools": [{"type": "web_search"}]})
    assert "paused-turn" in answer.headers["x-dragoman-added"]


def test_anthropics_own_client_goes_on_by_itself(running: Running, behind: Upstream) -> None:
    tools: Any = [{"type": "web_search_20250305", "name": "web_search"}]
    turns: Any = [{"role": "user", "content": ASKED}]
    client = running.anthropic()
    while True:
        answer = client.messages.create(model="m", max_tokens=500, messages=turns, tools=tools)
        turns.append({"role": "assistant", "content": answer.to_dict()["content"]})
        if answer.stop_reason != "pause_turn":
            break
    assert answer.stop_reason == "end_turn"
    assert [len(body["messages"]) for body in behind.bodies()] == [1, 2, 3]
    assert [block for turn in turns[1:] for block in turn["content"]] == [block for one, _ in TURNS for block in one]


def test_a_provider_that_never_ends_is_not_asked_for_ever(
    running: Running, behind: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.gateway.test_paused_answers.TURNS", [TURNS[0]] * 100)
    answer = running.openai().responses.create(model="m", input=ASKED, tools=[{"type": "web_search"}])
    assert answer.status == "completed"
    assert 2 < len(behind.bodies()) < 30
