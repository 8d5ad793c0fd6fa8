"""An answer that its provider pauses is gone on with inside the SDKs, too, as the gateway does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import httpx2
import openai
import pytest
from google import genai
from google.genai import types
from tests.gateway.test_paused_answers import (
    ASKED,
    ASKING,
    MODEL,
    SEARCHES,
    SPEAKING,
    THOUGHT,
    TURNS,
    claude,
    given_back,
)
from tests.gateway.upstream import Answer, Seen, Upstream, upstream

from dragoman.integrations.sdk_transport import AsyncDragomanTransport, DragomanTransport


class Sdks:
    """The SDKs, with a transport to one provider."""

    def __init__(self, base_url: str, **more: Any) -> None:
        self._given: dict[str, Any] = {"api_key": "k-123456", "base_url": base_url, **more}

    @cached_property
    def _transport(self) -> Any:
        """One for all turns, since it remembers."""
        return DragomanTransport(f"anthropic/{MODEL}", wrap=httpx2.HTTPTransport(verify=False), **self._given)

    def openai(self) -> openai.OpenAI:
        sender = httpx2.Client(transport=self._transport)
        return openai.OpenAI(api_key="unused", http_client=sender, max_retries=0)  # type: ignore[arg-type]

    def async_openai(self) -> openai.AsyncOpenAI:
        sender = httpx2.AsyncHTTPTransport(verify=False)
        wrapped = AsyncDragomanTransport(f"anthropic/{MODEL}", wrap=sender, **self._given)
        return openai.AsyncOpenAI(
            api_key="unused",
            http_client=httpx2.AsyncClient(transport=wrapped),  # type: ignore[arg-type]
            max_retries=0,
        )

    def gemini(self) -> genai.Client:
        options = types.HttpOptions(httpx_client=httpx2.Client(transport=self._transport))  # type: ignore[arg-type]
        return genai.Client(api_key="unused", http_options=options)


@pytest.fixture
def behind() -> Iterator[Upstream]:
    with upstream(claude) as one:
        yield one


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("client", ASKING)
def test_the_sdk_gets_the_whole_answer(behind: Upstream, client: str, stream: bool) -> None:
    ask, ended, shown = ASKING[client]
    sdks: Any = Sdks(behind.url.removesuffix("/v1"))
    text, why, tokens, queries = ask(sdks, stream)
    assert text.replace("\n\n", "") == "I look.It is long.1312 metres."
    assert (why, tokens, queries) == (ended, (30, 15), shown)
    first, second, third = behind.bodies()
    back = [{"role": "assistant", "content": content} for content, _ in TURNS[:2]]
    assert second["messages"] == [*first["messages"], back[0]]
    assert third["messages"] == [*first["messages"], *back]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("client", SPEAKING)
def test_the_next_turn_has_thinking_and_searches_of_every_round(behind: Upstream, client: str, stream: bool) -> None:
    sdks, turns = Sdks(behind.url.removesuffix("/v1")), [{"role": "user", "content": ASKED}]
    turns.append(SPEAKING[client](sdks, turns, stream))
    SPEAKING[client](sdks, [*turns, {"role": "user", "content": "Thanks."}], False)
    assert given_back(behind) == [THOUGHT, *SEARCHES, {"type": "text", "text": turns[-1]["content"]}]


async def test_an_async_sdk_gets_the_whole_answer(behind: Upstream) -> None:
    client = Sdks(behind.url.removesuffix("/v1")).async_openai()
    asked: Any = {"model": "m", "messages": [{"role": "user", "content": ASKED}], "web_search_options": {}}
    whole = await client.chat.completions.create(**asked)
    chunks = [chunk async for chunk in await client.chat.completions.create(stream=True, **asked)]
    streamed = "".join([choice.delta.content or "" for chunk in chunks for choice in chunk.choices])
    assert whole.choices[0].message.content == streamed
    assert "1312 metres." in streamed
    assert len(behind.bodies()) == 6


def test_the_report_tells_of_it_and_every_request_is_seen(behind: Upstream) -> None:
    seen: list[Any] = []
    client = Sdks(behind.url.removesuffix("/v1"), on_adapted=seen.append).openai()
    answer = client.responses.with_raw_response.create(model="m", input=ASKED, tools=[{"type": "web_search"}])
    assert "paused-turn" in answer.headers["x-dragoman-added"]
    assert [json.loads(one.body) for one in seen] == behind.bodies()


def fail_to_go_on(seen: Seen) -> Answer:
    if len(seen.body["messages"]) == 1:
        return claude(seen)
    return 529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


@pytest.mark.parametrize("stream", [False, True])
def test_a_round_that_fails_is_an_error_of_the_sdks_own(stream: bool) -> None:
    with upstream(fail_to_go_on) as behind:
        client = Sdks(behind.url.removesuffix("/v1")).openai()
        with pytest.raises(openai.APIError, match="Overloaded"):
            list(client.responses.create(model="m", input=ASKED, tools=[{"type": "web_search"}], stream=stream))
    assert len(behind.bodies()) == 2
