"""What targets are sent in a minute at most: booked before each send, in a line if there is no room.

The counts are those of the store, so that workers share them. The lines are this process's own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from dragoman.config.schema.models import ModelRateLimits, WhenFull
from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.replies import Usage
from dragoman.engine.history.sizes import estimate_reserve
from dragoman.gateway.records.metrics import Metrics
from dragoman.store.clock import Clock
from dragoman.store.contracts.rate_limits import KeyLimits, Limited, RateLimits
from dragoman.upstream.contracts import SendBooking
from dragoman.upstream.destinations import HttpDestination

CODE = "model_rate_limit"
_LOOK_EVERY = 1.0
"""Seconds: what was booked too high is given back earlier than the counts foretell."""
_MOST_LINES = 4096
_INPUT, _OUTPUT = "input\n", "output\n"
"""Before a target's name. Names of client keys are printable, so none of them is counted here."""


class _WaitingLine:
    """Those who wait for one target. `until` is when there is room again, as far as the last refusal knew."""

    __slots__ = ("full", "gate", "until", "waiting")

    def __init__(self) -> None:
        self.gate = asyncio.Lock()
        self.waiting = 0
        self.full = Limited(1.0, "requests", 0)
        self.until = 0.0


class ModelLimiter:
    """`SendLimits` by the counts of a store. `steady` never goes back."""

    def __init__(self, counts: RateLimits, metrics: Metrics, steady: Clock) -> None:
        self._counts = counts
        self._metrics = metrics
        self._now = steady
        self._lines: dict[str, _WaitingLine] = {}

    @property
    def waiting(self) -> int:
        """Requests that wait, for whatever target."""
        return sum(line.waiting for line in self._lines.values())

    def is_full(self, target: str) -> bool:
        """Whether a send would have to wait, as far as this process knows."""
        line = self._lines.get(target)
        return line is not None and (line.waiting > 0 or self._now() < line.until)

    async def book(self, destination: HttpDestination, ask: Ask) -> SendBooking | Failure:
        limits = destination.rate_limits
        assert limits is not None
        return await self.book_tokens(SendBooking(destination, *_estimate(limits, ask)), limits)

    async def book_tokens(self, booking: SendBooking, limits: ModelRateLimits) -> SendBooking | Failure:
        """Book a send whose tokens are known, after a wait if that is configured; or why there is no room."""
        destination = booking.destination
        line = self._line(destination.name)
        if not line.waiting and await self._is_booked(line, booking, limits):
            return booking
        if limits.when_full is WhenFull.QUEUE and line.waiting < limits.max_waiting:
            self._metrics.rate_limited(destination.name, line.full.what, "queued")
            if await self._wait_in_line(line, booking, limits):
                return booking
        self._metrics.rate_limited(destination.name, line.full.what, "refused")
        return self._refusal(destination, line)

    def settle(self, booking: SendBooking, usage: Usage) -> None:
        name, limits = booking.destination.name, booking.destination.rate_limits
        assert limits is not None
        if limits.input_tokens_per_minute is not None and usage.input:
            self._counts.settle(_INPUT + name, usage.input - booking.input)
        if limits.output_tokens_per_minute is not None:
            self._counts.settle(_OUTPUT + name, usage.output - booking.output)

    async def _wait_in_line(self, line: _WaitingLine, booking: SendBooking, limits: ModelRateLimits) -> bool:
        """Stand in the line, which goes in order. False if it took too long, or is known to."""
        ends = self._now() + limits.max_wait
        line.waiting += 1
        try:
            async with asyncio.timeout(limits.max_wait), line.gate:
                while not await self._is_booked(line, booking, limits):
                    if line.full.what == "requests" and line.until > ends:
                        return False
                    await asyncio.sleep(min(line.full.retry_after, _LOOK_EVERY))
            return True
        except TimeoutError:
            return False
        finally:
            line.waiting -= 1

    async def _is_booked(self, line: _WaitingLine, booking: SendBooking, limits: ModelRateLimits) -> bool:
        """Book it in all counts, or in none."""
        booked: list[tuple[str, int]] = []
        for key, wanted, tokens in _counts(booking, limits):
            verdict = await self._counts.reserve(key, wanted, tokens)
            if isinstance(verdict, Limited):
                line.full = Limited(verdict.retry_after, _what(key, verdict), verdict.limit)
                line.until = self._now() + verdict.retry_after
                for other, spent in booked:
                    self._counts.settle(other, -spent)
                return False
            booked.append((key, tokens))
        return True

    def _line(self, target: str) -> _WaitingLine:
        """Patterns let clients make up names: lines that nobody stands in are forgotten when there are many."""
        found = self._lines.get(target)
        if found is None:
            if len(self._lines) >= _MOST_LINES:
                self._lines = {name: line for name, line in self._lines.items() if line.waiting}
            found = self._lines[target] = _WaitingLine()
        return found

    def _refusal(self, destination: HttpDestination, line: _WaitingLine) -> Failure:
        full = line.full
        what = f'the limit of {full.limit} {full.what} per minute for "{destination.name}" is reached (rate_limits)'
        wait = max(line.until - self._now(), 1.0)
        return Failure(FailureKind.RATE_LIMIT, what, 429, CODE, retry_after=wait)


def _estimate(limits: ModelRateLimits, ask: Ask) -> tuple[int, int]:
    """The tokens to book: input by estimate if it is limited, and the reserve for output."""
    counted = limits.input_tokens_per_minute is not None
    tokens = estimate_reserve(ask.conversation, ask.known) if counted else 0
    most = ask.conversation.settings.max_tokens
    return tokens, limits.output_reserve if most is None or most < 0 else min(most, limits.output_reserve)


def _counts(booking: SendBooking, limits: ModelRateLimits) -> Iterator[tuple[str, KeyLimits, int]]:
    """What is booked where. Requests are counted last: they cannot be given back."""
    name = booking.destination.name
    if limits.output_tokens_per_minute is not None:
        yield _OUTPUT + name, KeyLimits(None, limits.output_tokens_per_minute), booking.output
    if limits.requests_per_minute is not None or limits.input_tokens_per_minute is not None:
        yield _INPUT + name, KeyLimits(limits.requests_per_minute, limits.input_tokens_per_minute), booking.input


def _what(key: str, verdict: Limited) -> str:
    if verdict.what == "requests":
        return "requests"
    return "output tokens" if key.startswith(_OUTPUT) else "input tokens"
