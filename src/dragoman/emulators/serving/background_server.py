"""An emulator in a thread of its own, for code that is not asynchronous or already runs an event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping

from dragoman.emulators.answer_script import Script, StepSource
from dragoman.emulators.emulator_core import EmulatorCore, RecordedRequest
from dragoman.emulators.faults import Fault, parse_fault
from dragoman.emulators.provider import EmulatedProvider, Model
from dragoman.emulators.serving.http_server import ServerLimits, start

_SDK_ROOTS = ("/chat/completions", "/responses", "/v1/messages", "/v1beta/models", "/v1beta1/projects", "/v1/projects")


class RunningEmulator:
    """An emulated provider on a port of this machine."""

    def __init__(
        self,
        provider: EmulatedProvider,
        limits: ServerLimits,
        model: Model,
        clock: Callable[[], float] = time.time,
        rates: Mapping[str, int] | None = None,
    ) -> None:
        self._core = EmulatorCore(provider, model=model, clock=clock, limits=rates)
        self._limits = limits
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._port = 0
        self._failed: OSError | None = None
        self._thread = threading.Thread(target=self._run, name=f"emulator {provider.name}", daemon=True)

    def start(self) -> RunningEmulator:
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed
        return self

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            server = self._loop.run_until_complete(start(self._core, limits=self._limits))
        except OSError as error:  # no free port or socket: `start` raises it in the caller's thread
            self._failed = error
            self._ready.set()
            return
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        self._cancel_tasks()
        self._loop.close()

    def _cancel_tasks(self) -> None:
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)

    @property
    def provider(self) -> EmulatedProvider:
        return self._core.provider

    @property
    def url(self) -> str:
        """The root. The vendor's own paths follow it."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def base_url(self) -> str:
        """The `base_url` for the vendor's official SDK."""
        path = self.provider.example[0]
        cuts = [path.index(root) for root in _SDK_ROOTS if root in path]
        return self.url + path[: min(cuts, default=0)]

    @property
    def requests(self) -> list[RecordedRequest]:
        """Every request so far with its verdict."""
        return list(self._core.records)

    def script(self, *steps: StepSource) -> None:
        """Answer with these steps next. They replace the steps that are left."""
        self._core.script = Script(steps)

    @property
    def steps_left(self) -> int:
        """The steps of the script that still wait for their request. Those that repeat do not count."""
        return self._core.script.left

    def fault(self, fault: str | Fault | None) -> None:
        """Cause this fault from now on (`"429;times=2"`). None ends it."""
        self._core.standing_fault = parse_fault(fault) if isinstance(fault, str) else fault
