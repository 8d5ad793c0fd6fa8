"""Health checks: a tiny streamed request to each model of a route, in rounds, while there are requests at all.

A model that does not answer is asked again sooner than the others: after ten seconds, then after twice as long each
time, a minute at most.
"""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from dragoman.config.model_lookup import AUTO, find_candidates
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.log import LogLevel
from dragoman.config.schema.routes import HealthChecks
from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.exchange.steps import GaveUp, Streaming
from dragoman.engine.library.adapt import read
from dragoman.upstream.destinations import Routes
from dragoman.upstream.dispatch import Dispatcher

_QUESTION = {"messages": [{"role": "user", "content": "Say OK."}], "max_tokens": 16, "stream": True}
_AT_ONCE = 4
_LONGEST_ERROR = 1_000
FIRST_RETRY = 10.0
"""Seconds."""
_RETRY_FACTOR, _LONGEST_RETRY = 2.0, 60.0


class CheckResult(msgspec.Struct, frozen=True):
    """What the last check of a model found."""

    model: str
    healthy: bool
    latency_ms: float | None
    """Until the first byte."""
    error: str
    at: float
    """In seconds since 1970."""


class HealthChecker(msgspec.Struct, eq=False):
    """Runs the rounds, and knows what they found."""

    _dispatcher: Dispatcher
    _configured: Callable[[], tuple[Config, Routes]]
    """The configuration and its routes as they are now; every reload changes them."""
    _log: Callable[[LogLevel, dict[str, Any]], None]
    first_retry: float = FIRST_RETRY
    _results: dict[str, CheckResult] = {}
    _last_request: float = msgspec.field(default_factory=time.monotonic)
    _awake: asyncio.Event = msgspec.field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def note_request(self) -> None:
        """Somebody asks: the checks go on."""
        self._last_request = time.monotonic()
        self._awake.set()

    def is_healthy(self, model: str) -> bool:
        found = self._results.get(model)
        return found is None or found.healthy

    @property
    def results(self) -> tuple[CheckResult, ...]:
        return tuple(self._results.values())

    async def check_all(self) -> tuple[CheckResult, ...]:
        """One round. Results of models that are gone go too."""
        self._results = await self._checked(find_checked_models(self._configured()[0]))
        return self.results

    async def check_again(self) -> None:
        """Ask those that did not answer."""
        self._results |= await self._checked(one.model for one in self.results if not one.healthy)

    async def _checked(self, names: Iterable[str]) -> dict[str, CheckResult]:
        gate = asyncio.Semaphore(_AT_ONCE)
        found = await asyncio.gather(*(self._check(name, gate) for name in names))
        return {one.model: one for one in found}

    async def _run(self) -> None:
        while True:
            wanted = self._configured()[0].health_checks
            if wanted is None:
                await asyncio.sleep(1.0)
                continue
            if self._is_idle(wanted):
                self._awake.clear()
                await self._awake.wait()
            try:
                await self.check_all()
                await self._until_next_round(wanted)
            except Exception as fault:  # the next round may go well, and nobody would begin it again
                trace = self._dispatcher.redaction.text("".join(traceback.format_exception(fault)))
                self._log(LogLevel.ERROR, {"event": "crash", "error": trace})
                await asyncio.sleep(wanted.interval)

    def _is_idle(self, wanted: HealthChecks) -> bool:
        return time.monotonic() - self._last_request > wanted.idle_after_seconds

    async def _until_next_round(self, wanted: HealthChecks) -> None:
        """Wait, and ask those that did not answer again meanwhile."""
        left = wanted.interval
        for pause in retry_pauses(wanted.interval, self.first_retry):
            if pause >= left or all(one.healthy for one in self.results) or self._is_idle(wanted):
                break
            await asyncio.sleep(pause)
            left -= pause
            await self.check_again()
        await asyncio.sleep(left)

    async def _check(self, name: str, gate: asyncio.Semaphore) -> CheckResult:
        limit = (self._configured()[0].health_checks or HealthChecks()).max_latency_ms
        async with gate:
            started = time.perf_counter()
            try:
                async with asyncio.timeout(limit / 1000):
                    error = await self._ask(name)
            except TimeoutError:
                error = f"no answer within {limit:g} ms"
        latency = round((time.perf_counter() - started) * 1000, 1)
        return CheckResult(name, not error, None if error else latency, error, time.time())

    async def _ask(self, name: str) -> str:
        """Wait for the first byte of an answer; what went wrong, if anything did."""
        route = self._configured()[1].find(name)
        if route is None:
            return "the model has no target"
        ask = read({"model": name, **_QUESTION}, source=DEFAULT_DIALECT)
        only = replace(route, destinations=(route.first,), reserved={})
        dispatch = self._dispatcher.open(ask, only, AnswerContext(model=name, id=f"check-{name}"))
        end = await dispatch.run()
        if isinstance(end, GaveUp):
            return end.failure.message[:_LONGEST_ERROR]
        if isinstance(end, Streaming):
            pieces = dispatch.pieces(end)
            await anext(pieces, b"")
            await pieces.aclose()
        dispatch.settle()
        self._dispatcher.health.recovered(route.first)
        return ""


def retry_pauses(interval: float, first: float = FIRST_RETRY) -> Iterator[float]:
    """Seconds before a model that did not answer is asked again, and again; never longer than between two rounds."""
    pause = first
    while True:
        yield min(pause, interval, _LONGEST_RETRY)
        pause = min(pause * _RETRY_FACTOR, _LONGEST_RETRY)


def find_checked_models(config: Config) -> tuple[str, ...]:
    """The models that routes may choose."""
    named = [model for route in config.routes.values() for model in route.models]
    everything = find_candidates(config, AUTO) or ()
    return tuple(dict.fromkeys([*named, *everything]))
