"""What the SDK's HTTP client may read, how long, and how often. The network is a stub, and nothing waits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from dragoman.gateway.tools import guarded_http
from dragoman.gateway.tools.answer_bounds import AnswerBounds
from dragoman.gateway.tools.guarded_http import GuardedHttp
from dragoman.upstream.transport.address import parse_address
from dragoman.upstream.transport.limits import Timeouts
from dragoman.upstream.transport.outgoing import Outgoing

URL = "http://127.0.0.1:9/mcp"
EVENT = b"data: {}\n\n"


class StubAnswer:
    status = 200

    def __init__(self, kind: str, pieces: list[bytes]) -> None:
        self.headers = [("content-type", kind)]
        self._pieces = pieces

    def header(self, name: str) -> str | None:
        return dict(self.headers).get(name)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece

    async def close(self) -> None:
        pass


class StubNetwork:
    def __init__(self, kind: str, *pieces: bytes) -> None:
        self._answer = StubAnswer(kind, list(pieces))
        self.waits: list[Timeouts] = []

    async def send(self, outgoing: Outgoing, waits: Timeouts) -> Any:
        self.waits.append(waits)
        return self._answer


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long it was waited. The clock stands still."""
    found: list[float] = []

    async def sleep(seconds: float) -> None:
        found.append(seconds)

    monkeypatch.setattr(guarded_http, "monotonic", lambda: 1000.0)
    monkeypatch.setattr("asyncio.sleep", sleep)
    return found


def guarded(network: Any, **bounds: int) -> GuardedHttp:
    limits = AnswerBounds(**{"size": 100_000, "values": 1000, **bounds})
    return GuardedHttp(network, network, frozenset({parse_address(URL).origin}), limits, 7.0)


async def ask(http: GuardedHttp, method: str, **headers: str) -> list[bytes]:
    answer = await http.handle_async_request(httpx2.Request(method, URL, headers=headers))
    return [piece async for piece in answer.stream]  # type: ignore[union-attr]


async def test_the_answer_to_a_message_ends_in_time_and_a_stream_may_be_silent() -> None:
    """Nobody waits for a late answer any more, and yet the SDK would read it as long as the server likes."""
    network = StubNetwork("text/event-stream", EVENT)
    for method in ("POST", "GET"):
        await ask(guarded(network), method)
    assert [(one.idle, one.total) for one in network.waits] == [(7.0, 7.0), (None, None)]


async def test_a_stream_that_ends_at_once_is_not_opened_again_at_once(slept: list[float]) -> None:
    """`retry: 0` makes the SDK ask again without a pause, for as long as the connection lives."""
    http = guarded(StubNetwork("text/event-stream", b"retry: 0\n\n"))
    for _ in range(3):
        await ask(http, "GET", **{"mcp-session-id": "s"})
    assert [one for one in slept if one] == [1.0, 1.0]


async def test_a_login_is_not_slowed_down(slept: list[float]) -> None:
    http = guarded(StubNetwork("application/json", b"{}"))
    for _ in range(3):
        await ask(http, "GET")
    assert slept == []


async def test_a_flood_of_events_waits(slept: list[float]) -> None:
    """The SDK starts a task for each event that nobody asked for."""
    await ask(guarded(StubNetwork("text/event-stream", *[EVENT * 500] * 4)), "GET")
    assert slept == [25.0, 50.0]


@pytest.mark.parametrize("size", [1, 3, 1000])
async def test_a_stream_is_given_event_by_event(size: int) -> None:
    wire = b'data: {"a": [1, 2]}\r\n\r\ndata: {}\n\n: end'
    pieces = [wire[at : at + size] for at in range(0, len(wire), size)]
    for method in ("GET", "POST"):
        found = await ask(guarded(StubNetwork("text/event-stream; charset=utf-8", *pieces)), method)
        assert b"".join(found) == wire
        assert all(one.endswith((b"\n", b"end")) for one in found)


TOO_MUCH: dict[str, tuple[str, str, bytes]] = {
    "a long answer": ("POST", "application/json", b'"' + b"x" * 100_000 + b'"'),
    "a long event": ("GET", "text/event-stream", b"data: " + b"x" * 100_000),
    "values": ("POST", "application/json", b"[" + b"[]," * 1000 + b"[]]"),
    "values of an event": ("GET", "text/event-stream", b"data: [" + b"[]," * 1000 + b"[]]\n\n"),
    "values counted beside the loop": ("POST", "application/json", b"[" + b"[]," * 30_000 + b"[]]"),
}


@pytest.mark.parametrize("kind", TOO_MUCH)
async def test_what_holds_too_much_is_not_given(kind: str) -> None:
    method, media, wire = TOO_MUCH[kind]
    with pytest.raises(httpx2.StreamError, match=r"longer than 100000 bytes|more than 1000 values"):
        await ask(guarded(StubNetwork(media, wire[:50], wire[50:])), method)
