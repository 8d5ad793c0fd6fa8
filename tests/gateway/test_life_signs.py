"""A stream that is silent shows that it lives, between two events and never inside one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dragoman.dialects.registry import dialect, list_dialects
from dragoman.gateway.http import client_watch
from dragoman.gateway.http.client_watch import StreamWatch
from dragoman.gateway.http.outbound import SSE, Outbound

PING = dialect("anthropic").ping
EVENT = b"event: a\ndata: {}\n\n"


def test_a_silent_stream_is_pinged_until_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_watch, "PING_SECONDS", 0.001)
    sent: list[bytes] = []
    pinged = asyncio.Event()

    async def send(message: Any) -> None:
        sent.append(message.get("body", b""))
        if message.get("body") == PING:
            pinged.set()

    async def pieces() -> AsyncIterator[bytes]:
        yield EVENT
        await pinged.wait()
        yield b"data: the rest\n\n"

    asyncio.run(asyncio.wait_for(Outbound(send, "r").streamed(pieces(), [], SSE, 60, PING), 60))
    assert sent[1:3] == [EVENT, PING]
    assert sent[-2:] == [b"data: the rest\n\n", b""]
    assert set(sent[2:-2]) == {PING}


@pytest.mark.parametrize(
    ("last", "busy", "pings"), [(EVENT, False, 1), (b"data: hal", False, 0), (b"", False, 0), (EVENT, True, 0)]
)
def test_it_is_pinged_between_two_events_only(last: bytes, busy: bool, pings: int) -> None:
    async def run() -> int:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async with asyncio.timeout(None) as deadline:
            watch = StreamWatch(deadline, 3600, send, PING)
            watch.begun, watch.done, watch.last = 1, 0 if busy else 1, last
            watch._check()  # sees the write
            watch._check()  # sees that there was no other
            if watch.pinging is not None:
                await watch.pinging
            await watch.stop()
        return len(sent)

    assert asyncio.run(run()) == pings


def test_a_reader_that_stands_still_is_noticed_as_before() -> None:
    async def run() -> None:
        async def send(message: Any) -> None: ...

        async with asyncio.timeout(None) as deadline:
            watch = StreamWatch(deadline, 2 * client_watch.PING_SECONDS, send, PING)
            watch.begun = 1
            for _ in range(3):
                watch._check()
            await watch.stop()
            await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        asyncio.run(run())


def test_dialects_whose_clients_read_signs_of_life() -> None:
    """Google's SDK takes a comment for a part of an answer."""
    assert {one.name for one in list_dialects() if one.ping} == {"anthropic", "openai-chat", "openai-responses"}
