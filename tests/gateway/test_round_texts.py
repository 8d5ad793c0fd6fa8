"""The words of several rounds in one answer: what stands between them, and what citations point at."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from tests.event_streams import read_events, stream_message, write_events
from tests.gateway.running import Running, gateway, provider
from tests.gateway.test_paused_answers import MODEL, THOUGHT, given_back
from tests.gateway.test_reasoning_loops import RETURNED
from tests.gateway.test_tool_rounds import PAGE, StubRunner, chat, running
from tests.gateway.test_vault import Agent, Chat, Gemini, Messages, Responses, Stage
from tests.gateway.upstream import Answer, Seen, upstream

from dragoman import State, adapt
from dragoman.conversation.provider_tools import McpServer
from dragoman.testing import emulator

CITED = {"type": "web_search_result_location", "cited_text": "x", "url": "https://a.example/", "title": "A"}
ROUNDS = (("I will ", "look", " now."), ("The bridge is ", "1312 m", " long."))
TURNS = [{"role": "user", "content": "How long?"}]


def claude(words: tuple[str, ...], *calls: dict[str, Any]) -> dict[str, Any]:
    """An answer in several blocks of text, the second one cited."""
    blocks: list[dict[str, Any]] = [{"type": "text", "text": one} for one in words]
    blocks[1]["citations"] = [{**CITED, "encrypted_index": "e"}]
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "stop_sequence": None}
    stop = "tool_use" if calls else "end_turn"
    usage = {"input_tokens": 10, "output_tokens": 5}
    return {**head, "content": [*blocks, *calls], "stop_reason": stop, "usage": usage}


def looking(seen: Seen) -> Answer:
    call = {"type": "tool_use", "id": "toolu_1", "name": "docs__add", "input": {}}
    made = claude(ROUNDS[1]) if len(seen.body["messages"]) > 1 else claude(ROUNDS[0], call)
    return 200, write_events(stream_message(made)) if seen.body.get("stream") else made


@pytest.mark.parametrize("stream", [False, True])
def test_blocks_of_one_round_stay_as_they_are(tmp_path: Path, stream: bool) -> None:
    with upstream(looking) as behind:
        config = {
            "providers": {"p": provider("anthropic", behind.url)},
            "models": {"m": {"target": "p/claude-sonnet-4-6"}},
        }
        with gateway(config, tmp_path) as one:
            runner = one.services.dispatcher.tools = StubRunner()
            runner.servers = (McpServer("docs"),)
            text, notes = ask_chat(one, stream)
            claudes = one.anthropic().messages.create(model="m", messages=TURNS, max_tokens=100)
    assert text == "I will look now.\n\nThe bridge is 1312 m long."
    places = [note["url_citation"] for note in notes]
    assert [text[one["start_index"] : one["end_index"]] for one in places] == ["look", "1312 m"]
    assert [block.text for block in claudes.content if block.type == "text"] == [*ROUNDS[0], *ROUNDS[1]]


def thoughtful(seen: Seen) -> Answer:
    """Thinks before its last words."""
    call = {"type": "tool_use", "id": "toolu_1", "name": "docs__add", "input": {}}
    made = claude(ROUNDS[0], call) if len(seen.body["messages"]) == 1 else claude(ROUNDS[1])
    made["content"][:0] = [] if len(seen.body["messages"]) == 1 else [THOUGHT]
    return 200, write_events(stream_message(made)) if seen.body.get("stream") else made


@pytest.mark.parametrize("stream", [False, True])
def test_thinking_of_the_last_round_is_found_by_the_words_of_all(tmp_path: Path, stream: bool) -> None:
    with upstream(thoughtful) as behind:
        config = {"providers": {"p": provider("anthropic", behind.url)}, "models": {"m": {"target": f"p/{MODEL}"}}}
        with gateway(config, tmp_path) as one:
            runner = one.services.dispatcher.tools = StubRunner()
            runner.servers = (McpServer("docs"),)
            text, _ = ask_chat(one, stream)
            turns = [*TURNS, {"role": "assistant", "content": text}, {"role": "user", "content": "Thanks."}]
            one.post("/v1/chat/completions", {"model": "m", "messages": turns})
    assert given_back(behind) == [THOUGHT, {"type": "text", "text": text}]


def thinking(seen: Seen) -> dict[str, Any]:
    """Thinks before each round, and names the page that it found."""
    told = [one for one in seen.body["messages"] if one["role"] == "tool"]
    made = chat(f"See {PAGE.url}.") if told else chat("Let me search.", ("web_search", {"query": "bridge"}))
    made["choices"][0]["message"]["reasoning_content"] = "Hm."
    return made


@pytest.mark.parametrize("stream", [False, True])
def test_a_round_that_begins_with_thinking_is_set_off_too(tmp_path: Path, stream: bool) -> None:
    with running(tmp_path, thinking) as (one, _, _):
        text, notes = ask_chat(one, stream)
    assert text == f"Let me search.\n\nSee {PAGE.url}."
    (place,) = [note["url_citation"] for note in notes]
    assert text[place["start_index"] : place["end_index"]] == PAGE.url


def ask_chat(one: Running, stream: bool) -> tuple[str, list[Any]]:
    """The text of an answer and the citations in it."""
    answer = one.post(
        "/v1/chat/completions", {"model": "m", "messages": TURNS, "web_search_options": {}, "stream": stream}
    )
    if not stream:
        message = answer.json()["choices"][0]["message"]
        return message["content"], message["annotations"]
    deltas = [choice["delta"] for event in read_events(answer.text) for choice in event["choices"]]
    text = "".join([delta.get("content") or "" for delta in deltas])
    return text, [note for delta in deltas for note in delta.get("annotations") or ()]


SEARCHES: dict[type[Agent], Any] = {
    Chat: {"web_search_options": {}},
    Messages: {"type": "web_search_20250305", "name": "web_search"},
    Responses: {"type": "web_search"},
    Gemini: {"googleSearch": {}},
}
WITHOUT_SEARCH = {
    "bedrock": "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
    "cohere": "command-a-reasoning-08-2025",
    "deepseek": "deepseek-v4-flash",
    "ollama": "qwen3:8b",
}
THINKS = {
    Chat: {"reasoning_effort": "high"},
    Gemini: {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
}


ROUND_CASES = [(client, name) for client in SEARCHES for name in WITHOUT_SEARCH if (client, name) != (Chat, "deepseek")]
"""DeepSeek gets `web_search_options` from a client of its own dialect: nobody knows that it refuses the field."""


@pytest.mark.parametrize(("client", "name"), ROUND_CASES)
def test_the_next_turn_has_each_round_as_it_was(tmp_path: Path, client: type[Agent], name: str) -> None:
    """Law 9: thinking and words stay before the call of their round, once, whatever the client shows of rounds."""

    class Searching(client):  # type: ignore[valid-type, misc]
        def body(self, model: str) -> Any:
            made = super().body(model) | THINKS.get(client, {})
            return made | SEARCHES[client] if client is Chat else {**made, "tools": [*made["tools"], SEARCHES[client]]}

    search = {
        "reasoning": "First.",
        "text": "I search.",
        "calls": [{"name": "web_search", "arguments": {"query": "a"}}],
    }
    calls = {"reasoning": "Second.", "text": "I look.", "calls": [{"name": "weather", "arguments": {"city": "Paris"}}]}
    with emulator(name, script=[search, calls, "Done."], signatures="strict") as behind:
        config = {
            "providers": {"p": provider(name, behind.base_url)},
            "models": {"m": {"target": f"p/{WITHOUT_SEARCH[name]}"}},
        }
        with gateway(config, tmp_path) as one:
            one.services.dispatcher.tools = StubRunner()
            agent = Searching(Stage(one, {name: behind}), key="any")
            agent.turns.append(agent.said("How long?"))
            agent.turns.append(RETURNED[client](agent.send("m"), "all"))
            agent.answer("m")
    _, second, third = [list(map(_without_hints, sent.body["messages"])) for sent in behind.requests]
    assert third[: len(second)] == second
    (again,) = [turn for turn in third[len(second) :] if turn["role"] == "assistant"]
    assert [json.dumps(again).count(word) for word in ("First.", "Second.", "I search.", "I look.")] == [0, 1, 0, 1]
    assert json.dumps(second).count("First.") == json.dumps(second).count("I search.") == 1


def _without_hints(turn: Any) -> Any:
    if not isinstance(turn.get("content"), list):
        return turn
    return {**turn, "content": [block for block in turn["content"] if "cachePoint" not in block]}


def test_words_of_a_round_go_back_without_the_id_of_their_item(tmp_path: Path) -> None:
    """Beside a marker of the prompt cache they stand in a list, where OpenAI refuses the id."""
    search = {"text": "I search.", "calls": [{"name": "docs__add", "arguments": {}}]}
    with emulator("openai-responses", script=[search, "One.", search, "Two."]) as behind:
        config = {
            "providers": {"p": provider("openai-responses", behind.base_url)},
            "models": {"m": {"target": "p/gpt-5.6"}},
        }
        with gateway(config, tmp_path) as one:
            runner = one.services.dispatcher.tools = StubRunner()
            runner.servers = (McpServer("docs"),)
            turns = [{"role": "system", "content": "Be careful. " * 2000}, *TURNS]
            for _ in range(2):
                answer = one.post("/v1/chat/completions", {"model": "m", "messages": turns}).json()
                turns += [answer["choices"][0]["message"], *TURNS]
    assert "prompt_cache_breakpoint" in json.dumps(behind.requests[-1].body)
    assert [(sent.verdict, sent.error_body) for sent in behind.requests] == [("accepted", None)] * 4


def test_the_signature_of_an_answer_is_on_its_last_words_alone() -> None:
    signature = base64.b64encode(b"x" * 48).decode()
    words = [{"text": "Before. "}, {"text": "Found.", "thoughtSignature": signature}]
    candidate = {"content": {"role": "model", "parts": words}, "finishReason": "STOP"}
    asked = {"max_tokens": 100, "messages": TURNS}
    adapted = adapt(asked, target="gemini/gemini-3-pro-preview", source="anthropic")
    answer = adapted.answer(json.dumps({"candidates": [candidate], "usageMetadata": {}}).encode())
    rounds = [{"type": "text", "text": one["text"]} for one in words]
    asked["messages"] = [*TURNS, {"role": "assistant", "content": rounds}, *TURNS]
    again = adapt(asked, target="gemini/gemini-3-pro-preview", source="anthropic", state=State().after(answer))
    assert json.loads(again.body)["contents"][1]["parts"] == words
