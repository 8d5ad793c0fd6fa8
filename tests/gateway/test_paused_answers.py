"""An answer that its provider pauses while it runs tools is gone on with if the client has no word for that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.genai import types
from tests.event_streams import stream_message, write_events
from tests.gateway.running import Running, gateway, provider
from tests.gateway.test_tool_rounds import chat, streamed
from tests.gateway.upstream import Answer, Seen, Upstream, upstream
from tests.judges import judge

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


LATER: tuple[list[dict[str, Any]], str] = ([{"type": "text", "text": "Bye."}], "end_turn")
"""What it gives once the client has asked for something else."""


def claude(seen: Seen) -> Answer:
    """Gives the next of its turns, by how many it has been given back."""
    roles = [message["role"] for message in seen.body["messages"]]
    given = roles.count("assistant")
    content, stop = TURNS[given] if roles.count("user") == 1 else LATER
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
    monkeypatch.setattr(sys.modules[__name__], "TURNS", [TURNS[0]] * 100)
    answer = running.openai().responses.create(model="m", input=ASKED, tools=[{"type": "web_search"}])
    assert answer.status == "completed"
    assert 2 < len(behind.bodies()) < 30


def chat_turn(one: Any, turns: list[Any], stream: bool) -> Any:
    asked: Any = {"model": "m", "messages": turns, "web_search_options": {}, "stream": stream}
    answer = one.openai().chat.completions.create(**asked)
    if not stream:
        return {"role": "assistant", "content": answer.choices[0].message.content}
    deltas = [choice.delta for chunk in answer for choice in chunk.choices]
    return {"role": "assistant", "content": "".join([delta.content or "" for delta in deltas])}


def gemini_turn(one: Any, turns: list[Any], stream: bool) -> Any:
    """Without what the client does not know: words alone."""
    config = types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())])
    models = one.gemini().models
    roles = {"user": "user", "assistant": "model"}
    contents = [{"role": roles[turn["role"]], "parts": [{"text": turn["content"]}]} for turn in turns]
    asked: Any = {"model": "m", "contents": contents, "config": config}
    chunks = list(models.generate_content_stream(**asked)) if stream else [models.generate_content(**asked)]
    return {"role": "assistant", "content": "".join([chunk.text or "" for chunk in chunks])}


SPEAKING: dict[str, Callable[[Any, list[Any], bool], Any]] = {"chat": chat_turn, "gemini": gemini_turn}


def given_back(behind: Upstream) -> list[dict[str, Any]]:
    """The model's turn in the last request, which Claude takes."""
    last = behind.seen[-1]
    refusal = judge("anthropic", MODEL, "/v1/messages", last.headers, last.raw)
    assert refusal is None, refusal
    (turn,) = [one["content"] for one in last.body["messages"] if one["role"] == "assistant"]
    blocks: list[dict[str, Any]] = turn
    return blocks


SEARCHES = [block for content, _ in TURNS for block in content if block["type"] not in ("thinking", "text")]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("client", SPEAKING)
def test_the_next_turn_has_thinking_and_searches_of_every_round(
    running: Running, behind: Upstream, client: str, stream: bool
) -> None:
    turns: list[Any] = [{"role": "user", "content": ASKED}]
    turns.append(SPEAKING[client](running, turns, stream))
    SPEAKING[client](running, [*turns, {"role": "user", "content": "Thanks."}], False)
    words = {"type": "text", "text": turns[-1]["content"]}
    assert given_back(behind) == [THOUGHT, *SEARCHES, words]


NOTE = {"name": "add_note", "description": "Stores a note", "parameters": {"type": "object"}}
CALLED: list[tuple[list[dict[str, Any]], str]] = [
    TURNS[0],
    (
        [
            result(2),
            {**THOUGHT, "thinking": "Keep it.", "signature": mint(f"anthropic/{MODEL}", "Keep it.")},
            {"type": "tool_use", "id": "toolu_1", "name": "add_note", "input": {"text": "long"}},
        ],
        "tool_use",
    ),
]


@pytest.mark.parametrize("stream", [False, True])
def test_state_is_found_by_a_call_that_comes_back_without_its_id(
    running: Running, behind: Upstream, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    monkeypatch.setattr(sys.modules[__name__], "TURNS", [*CALLED, LATER])
    asked: Any = {"contents": [{"role": "user", "parts": [{"text": ASKED}]}]}
    asked["tools"] = [{"googleSearch": {}}, {"functionDeclarations": [NOTE]}]
    running.post(f"/v1beta/models/m:{'streamG' if stream else 'g'}enerateContent", asked)
    called = {"functionCall": {"name": "add_note", "args": {"text": "long"}}}
    answered = {"functionResponse": {"name": "add_note", "response": {"done": True}}}
    asked["contents"] += [{"role": "model", "parts": [called]}, {"role": "user", "parts": [answered]}]
    running.post("/v1beta/models/m:generateContent", asked)
    back = given_back(behind)
    everything = [block for content, _ in CALLED for block in content if block["type"] != "text"]
    assert sorted(map(str, back[:-1])) == sorted(map(str, everything[:-1]))
    assert back[-1]["name"] == "add_note"


def test_a_round_that_broke_off_before_its_words_is_asked_for_again(tmp_path: Path) -> None:
    broken: list[int] = []

    def breaking(seen: Seen) -> Answer:
        status, pieces = claude(seen)
        if len(seen.body["messages"]) == 1 or broken:
            return status, pieces
        broken.append(1)
        return status, pieces[:3]  # the result of the search, and no more

    with upstream(breaking) as behind:
        providers = {"p": provider("anthropic", behind.url.removesuffix("/v1"))}
        with gateway({"providers": providers, "models": {"m": {"target": f"p/{MODEL}"}}}, tmp_path) as one:
            text, _, _, queries = ask_by_gemini(one, True)
    assert text.endswith("1312 metres.")
    assert queries == ["bridge", "length", "metres"]
    assert len(behind.bodies()) == 4


def overloaded(seen: Seen) -> Answer:
    """Pauses, and never goes on."""
    if len(seen.body["messages"]) == 1:
        return claude(seen)
    return 529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("client", ASKING)
def test_another_target_goes_on_if_the_provider_cannot(tmp_path: Path, client: str, stream: bool) -> None:
    with upstream(overloaded) as behind, upstream(claude) as other:
        providers = {
            "p": provider("anthropic", behind.url.removesuffix("/v1")),
            "q": provider("anthropic", other.url.removesuffix("/v1")),
        }
        models = {"m": {"target": f"p/{MODEL}", "fallbacks": [f"q/{MODEL}"]}}
        with gateway({"providers": providers, "models": models}, tmp_path) as one:
            text, why, tokens, _ = ASKING[client][0](one, stream)
    assert text.replace("\n\n", "") == "I look.It is long.1312 metres."
    assert (why, tokens) == (ASKING[client][1], (30, 15))
    asked = behind.bodies()[0]["messages"]
    assert other.bodies()[0]["messages"] == [*asked, {"role": "assistant", "content": TURNS[0][0]}]


@pytest.mark.parametrize("stream", [False, True])
def test_a_target_of_another_vendor_is_told_what_was_found_so_far(tmp_path: Path, stream: bool) -> None:
    def other_model(seen: Seen) -> Answer:
        return 200, streamed(chat("So it is.")) if seen.body.get("stream") else chat("So it is.")

    with upstream(overloaded) as behind, upstream(other_model) as other:
        providers = {"p": provider("anthropic", behind.url.removesuffix("/v1")), "q": provider("deepseek", other.url)}
        models = {"m": {"target": f"p/{MODEL}", "fallbacks": ["q/deepseek-chat"]}}
        with gateway({"providers": providers, "models": models}, tmp_path) as one:
            text, why, _, _ = ask_by_chat(one, stream)
    assert (text, why) == ("I look.\n\nSo it is.", "stop")
    (body,) = other.bodies()
    assert FOUND["url"] in str(body["messages"][1])
    assert "encrypted_content" not in str(body)


@pytest.mark.parametrize("stream", [False, True])
def test_citations_of_every_round_point_at_their_words(
    running: Running, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    looks, last = {"type": "text", "text": "Ich prüfe."}, {**LONG, "text": "1312 mètres."}
    rounds = [([looks, call(1, "a")], "pause_turn"), ([result(1), LONG, call(2, "b")], "pause_turn")]
    monkeypatch.setattr(sys.modules[__name__], "TURNS", [*rounds, ([result(2), last], "end_turn")])
    search = types.GenerateContentConfig(tools=[types.Tool(google_search=types.GoogleSearch())])
    asked: Any = {"model": "m", "contents": ASKED, "config": search}
    models = running.gemini().models
    chunks = list(models.generate_content_stream(**asked)) if stream else [models.generate_content(**asked)]
    text = "".join([chunk.text or "" for chunk in chunks]).encode()
    supports: Any = chunks[-1].candidates[0].grounding_metadata.grounding_supports
    segments = [one.segment for one in supports]
    assert [text[one.start_index : one.end_index].decode() for one in segments] == ["It is long.", "1312 mètres."]
    assert [one.text for one in segments] == ["It is long.", "1312 mètres."]
