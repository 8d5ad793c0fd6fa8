"""An emulator in a thread of its own, for code that is not asynchronous or has a loop already."""

from __future__ import annotations

import asyncio
import threading

from dragoman.emulators.answer_script import Said, Script
from dragoman.emulators.emulator_core import EmulatorCore, Record
from dragoman.emulators.faults import Fault, fault
from dragoman.emulators.http_server import Limits, start
from dragoman.emulators.provider import Provider

_SDK_ROOTS = ("/chat/completions", "/responses", "/v1/messages", "/v1beta/models", "/v1beta1/projects", "/v1/projects")


class Running:
    """A provider on a port of this machine."""

    def __init__(self, provider: Provider, limits: Limits) -> None:
        self._desk = EmulatorCore(provider)
        self._limits = limits
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._port = 0
        self._failed: OSError | None = None
        self._thread = threading.Thread(target=self._run, name=f"emulator {provider.name}", daemon=True)

    def start(self) -> Running:
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed
        return self

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            server = self._loop.run_until_complete(start(self._desk, limits=self._limits))
        except OSError as error:  # no port, no sockets: raised where the caller can see it
            self._failed = error
            self._ready.set()
            return
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.close()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)

    @property
    def provider(self) -> Provider:
        return self._desk.provider

    @property
    def url(self) -> str:
        """The root: the vendor's own paths follow it."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        """What the vendor's official SDK wants as its `base_url`."""
        path = self.provider.example[0]
        cuts = [path.index(root) for root in _SDK_ROOTS if root in path]
        return self.url + path[: min(cuts, default=0)]

    @property
    def requests(self) -> list[Record]:
        """Every request so far, with the verdict on it."""
        return list(self._desk.records)

    def script(self, *said: Said) -> None:
        """Say these next, in place of what was still to be said."""
        self._desk.script = Script(said)

    def fault(self, order: str | Fault | None) -> None:
        """Let this go wrong from now on (`"429;times=2"`); None: nothing."""
        self._desk.standing = fault(order) if isinstance(order, str) else order
