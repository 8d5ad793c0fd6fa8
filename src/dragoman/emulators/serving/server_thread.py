"""Servers in an event loop of a thread of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from typing import Any


class ServerThread:
    """Runs the servers that `open_servers` opens until it is stopped."""

    def __init__(self, name: str, open_servers: Callable[[], Coroutine[Any, Any, Sequence[asyncio.Server]]]) -> None:
        self._open = open_servers
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._failed: Exception | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Raises what opening the servers raises, such as OSError if no port is free."""
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        servers: Sequence[asyncio.Server] = ()
        try:
            servers = self._loop.run_until_complete(self._open())
        except Exception as error:  # nobody sees an error of this thread: `start` raises it
            self._failed = error
        self._ready.set()
        if self._failed is None:
            self._loop.run_forever()
        for server in servers:
            server.close()
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.close()
