"""What Claude found by its own search, and a page that it fetched, go back to it as they were, by any client."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.event_streams import stream_message, write_events
from tests.gateway.running import gateway, provider
from tests.gateway.test_paused_answers import MODEL
from tests.gateway.test_returned_searches import ask_by_chat, ask_by_responses
from tests.gateway.upstream import Answer, Seen, Upstream, upstream

from dragoman.emulators.anthropic.hosted_blocks import FOUND_ON_THE_WEB
from dragoman.emulators.signatures import mint

TOOLS: Any = {"responses": {"tools": [{"type": "web_search"}]}, "chat": {"web_search_options": {}}}


def search(number: int, size: int = 10) -> list[dict[str, Any]]:
    """A search and what it found, as Claude shows them."""
    address = f"https://example.com/{number}"
    found = {"type": "web_search_result", "title": "A page", "url": address, "page_age": None}
    found["encrypted_content"] = mint(FOUND_ON_THE_WEB, address) + "A" * size
    name = f"srvtoolu_{number}"
    return [
        {"type": "server_tool_use", "id": name, "name": "web_search", "input": {"query": f"bridge {number}"}},
        {"type": "web_search_tool_result", "tool_use_id": name, "content": [found]},
    ]


def content(number: int, size: int = 10) -> list[dict[str, Any]]:
    return [
        {"type": "text", "text": f"I look ({number})."},
        *search(number, size),
        {"type": "text", "text": f"It is long ({number})."},
    ]


def claude(seen: Seen, size: int = 10) -> Answer:
    """Searches in every turn."""
    number = sum(message["role"] == "user" for message in seen.body["messages"])
    message = {
        "id": f"msg_{number}", "type": "message", "role": "assistant", "model": MODEL, "content": content(number, size),
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5},
    }  # fmt: skip
    if not seen.body.get("stream"):
        return 200, message
    return 200, write_events(stream_message(message))


@pytest.fixture
def behind() -> Iterator[Upstream]:
    with upstream(claude) as one:
        yield one


def running(behind: Upstream, folder: Path) -> Any:
    providers = {"p": provider("anthropic", behind.url.removesuffix("/v1"))}
    models = {"new": {"target": f"p/{MODEL}"}}
    return gateway({"providers": providers, "models": models}, folder)


def model_blocks(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The blocks of the turns of the model."""
    turns = [turn["content"] for turn in body["messages"] if turn["role"] == "assistant"]
    listed = [[{"type": "text", "text": one}] if isinstance(one, str) else one for one in turns]
    return [block for turn in listed for block in turn]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("ask", [ask_by_responses, ask_by_chat])
def test_later_turns_have_the_search_as_it_was(
    behind: Upstream, tmp_path: Path, ask: Callable[..., list[Any]], stream: bool
) -> None:
    history: list[Any] = []
    with running(behind, tmp_path) as one:
        for words in ("How long is the bridge?", "And the other?", "Thanks."):
            history = ask(one, [*history, {"role": "user", "content": words}], stream, TOOLS)
    _, second, third = behind.bodies()
    if ask is ask_by_responses:
        assert model_blocks(second) == content(1)
        assert model_blocks(third) == [*content(1), *content(2)]
    else:  # the client has one text, and the search stands before it
        text = {"type": "text", "text": "I look (1).\n\nIt is long (1)."}
        assert model_blocks(second) == [*search(1), text]
        assert [one for one in model_blocks(third) if one["type"] != "text"] == [*search(1), *search(2)]


FETCHED: list[dict[str, Any]] = [
    {"type": "server_tool_use", "id": "srvtoolu_9", "name": "web_fetch", "input": {"url": "https://example.com/9"}},
    {
        "type": "web_fetch_tool_result",
        "tool_use_id": "srvtoolu_9",
        "content": {
            "type": "web_fetch_result",
            "url": "https://example.com/9",
            "retrieved_at": "2026-11-01T10:00:00Z",
            "content": {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "The bridge has nine arches."},
                "title": "A bridge",
            },
        },
    },
]


def fetching(seen: Seen) -> Answer:
    """Fetches a page in every turn."""
    message = {
        "id": "msg_9", "type": "message", "role": "assistant", "model": MODEL,
        "content": [*FETCHED, {"type": "text", "text": "It is long."}],
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 5},
    }  # fmt: skip
    return 200, write_events(stream_message(message)) if seen.body.get("stream") else message


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("ask", [ask_by_responses, ask_by_chat])
def test_later_turns_have_the_page_that_was_fetched(
    tmp_path: Path, ask: Callable[..., list[Any]], stream: bool
) -> None:
    fetch: Any = {"responses": TOOLS["responses"], "chat": {"tools": [{"type": "openrouter:web_fetch"}]}}
    with upstream(fetching) as behind, running(behind, tmp_path) as one:
        history = ask(one, [{"role": "user", "content": "How long is the bridge?"}], stream, fetch)
        ask(one, [*history, {"role": "user", "content": "Thanks."}], stream, fetch)
    assert model_blocks(behind.bodies()[1]) == [*FETCHED, {"type": "text", "text": "It is long."}]


def test_a_stored_answer_has_it_too(behind: Upstream, tmp_path: Path) -> None:
    with running(behind, tmp_path) as one:
        client = one.openai()
        tools: Any = TOOLS["responses"]["tools"]
        first = client.responses.create(model="new", input="How long is the bridge?", tools=tools)
        client.responses.create(model="new", input="Thanks.", previous_response_id=first.id, tools=tools)
    assert model_blocks(behind.bodies()[1]) == content(1)


def test_what_is_kept_of_an_answer_has_a_bound(tmp_path: Path) -> None:
    with upstream(lambda seen: claude(seen, size=2 << 20)) as behind, running(behind, tmp_path) as one:
        history = ask_by_responses(one, [{"role": "user", "content": "How long?"}], False, TOOLS)
        ask_by_responses(one, [*history, {"role": "user", "content": "Thanks."}], False, TOOLS)
        sent = json.dumps(behind.bodies()[1])
    assert "encrypted_content" not in sent
    assert "[web search: bridge 1]" in sent


def test_another_vendor_is_told_of_it_in_words(behind: Upstream, tmp_path: Path) -> None:
    def gpt(seen: Seen) -> Answer:
        message = {"role": "assistant", "content": "Yes."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return 200, {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}

    with upstream(gpt) as other:
        providers = {"p": provider("anthropic", behind.url.removesuffix("/v1")), "q": provider("deepseek", other.url)}
        models = {"new": {"target": f"p/{MODEL}"}, "other": {"target": "q/deepseek-chat"}}
        with gateway({"providers": providers, "models": models}, tmp_path) as one:
            history = ask_by_responses(one, [{"role": "user", "content": "How long?"}], False, TOOLS)
            turns: Any = [*history, {"role": "user", "content": "Thanks."}]
            one.openai().responses.create(model="other", input=turns, store=False)
    sent = json.dumps(other.bodies()[0])
    assert "encrypted_content" not in sent
    assert "bridge 1" in sent
