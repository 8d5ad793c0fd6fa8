"""An emulator in a thread of its own, for code that is not asynchronous or already runs an event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping

from dragoman.emulators.answer_script import Script, StepSource
from dragoman.emulators.emulator_core import EmulatorCore, RecordedRequest
from dragoman.emulators.faults import Fault, parse_fault
from dragoman.emulators.provider import EmulatedProvider, Model
from dragoman.emulators.serving.http_server import ServerLimits, start
from dragoman.emulators.serving.server_thread import ServerThread

_SDK_ROOTS = ("/chat/completions", "/responses", "/v1/messages", "/v1beta/models", "/v1beta1/projects", "/v1/projects")


def sdk_address(one: EmulatedProvider, url: str) -> str:
    """The `base_url` for the vendor's official SDK, if the emulator is at `url`."""
    path = one.example[0]
    return url + path[: min((path.index(root) for root in _SDK_ROOTS if root in path), default=0)]


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
        self._port = 0
        self._thread = ServerThread(f"emulator {provider.name}", self._open)

    def start(self) -> RunningEmulator:
        """Raises OSError if there is no free port or socket."""
        self._thread.start()
        return self

    async def _open(self) -> list[asyncio.Server]:
        server = await start(self._core, limits=self._limits)
        self._port = server.sockets[0].getsockname()[1]
        return [server]

    def stop(self) -> None:
        self._thread.stop()

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
        return sdk_address(self.provider, self.url)

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
