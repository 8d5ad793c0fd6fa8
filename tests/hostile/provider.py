"""A provider on a raw socket that answers as the table says. The model's name says which line."""

from __future__ import annotations

import asyncio
import re
import threading
from contextlib import suppress
from typing import Any, Self

from tests.hostile.table import Answer, http, whole

NAMES = {"openai-chat": "chat", "openai-responses": "responses", "anthropic": "anthropic", "gemini": "gemini"}
_PROFILES = {
    "chat": ("openai-compatible-strict", "/v1"),
    "responses": ("openai-responses", "/v1"),
    "anthropic": ("anthropic", ""),
    "gemini": ("gemini", "/v1beta"),
}
_CASE = re.compile(rb"case-(\d{1,6})")
_LENGTH = re.compile(rb"content-length: (\d{1,12})", re.IGNORECASE)
_PIECE = 1024 * 1024


class HostileProvider:
    """Every dialect on one port. A model that is no case gets a friendly answer."""

    def __init__(self) -> None:
        self.port = 0
        self._cases: list[bytes] = []
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(60)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._loop.call_soon_threadsafe(self._server.close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def serve(self, line: Answer, count: int) -> str:
        """From now on, this is what the returned model answers."""
        self._cases.append(line.make(count))
        return f"{NAMES[line.dialect]}/case-{len(self._cases) - 1}"

    def forget(self) -> None:
        """The large answers are not kept."""
        self._cases = [b""] * len(self._cases)

    def config(self) -> dict[str, Any]:
        """A gateway in front of it, with little patience."""
        common = {"api_key": "k", "retries": {"attempts": 1}, "cooldown": {"failures": 1_000_000}}
        timeouts = {"connect": 5, "first_byte": 20, "idle": 10, "total": 60}
        providers = {
            name: {
                "profile": profile,
                "base_url": f"http://127.0.0.1:{self.port}{path}",
                "timeouts": timeouts,
                **common,
            }
            for name, (profile, path) in _PROFILES.items()
        }
        return {"providers": providers, "store": {"kind": "memory"}, "log": {"provider_errors": {"path": None}}}

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._answer, "127.0.0.1", 0, limit=_PIECE)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            content = await self._read(reader, head)
            writer.write(self._said(head, content))
            await writer.drain()
        writer.close()

    async def _read(self, reader: asyncio.StreamReader, head: bytes) -> bytes:
        length = _LENGTH.search(head)
        return await reader.readexactly(int(length[1])) if length is not None else b""

    def _said(self, head: bytes, content: bytes) -> bytes:
        case = _CASE.search(head) or _CASE.search(content)
        if case is not None:
            return self._cases[int(case[1])]
        path = head.partition(b"\r\n")[0]
        dialect = "anthropic" if b"/messages" in path else "gemini" if b"enerateContent" in path else "openai-chat"
        return http(whole("openai-responses" if b"/responses" in path else dialect))
