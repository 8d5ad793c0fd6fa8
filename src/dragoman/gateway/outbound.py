"""Answers to clients: a status, headers, and a body at once or as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from dragoman.gateway.inbound import Send

Headers = list[tuple[bytes, bytes]]

JSON = b"application/json"
SSE = b"text/event-stream; charset=utf-8"


async def whole(send: Send, status: int, body: bytes, headers: Headers, content_type: bytes = JSON) -> None:
    """An answer whose body is known."""
    start = [(b"content-type", content_type), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})


async def streamed(
    send: Send, pieces: AsyncIterator[bytes], headers: Headers, content_type: bytes, patience: float
) -> None:
    """A body as it comes. A client that does not read for `patience` seconds is let go (TimeoutError)."""
    start = [(b"content-type", content_type), (b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no"), *headers]
    await send({"type": "http.response.start", "status": 200, "headers": start})
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as deadline:
        async for piece in pieces:
            deadline.reschedule(loop.time() + patience)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
            deadline.reschedule(None)
    await send({"type": "http.response.body", "body": b""})
