"""uvicorn for tests: it ends when it is told to."""

from __future__ import annotations

import asyncio
import socket
from types import FrameType

import uvicorn


class PromptServer(uvicorn.Server):
    """uvicorn looks ten times a second whether it should end, and then waits a tenth of a second for connections. Most
    tests take less than that."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._ended = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def end(self) -> None:
        """Stop serving. Any thread may call it."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._ended.set)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        self.end()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._ended.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As in uvicorn, and without its pauses."""
        for listening in (*self.servers, *(sockets or ())):
            listening.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110 - they have no event
            await asyncio.sleep(0.002)
        await self.lifespan.shutdown()
