"""Asks a server all questions of an inquiry, within a budget, politely.

Requests go out one after another, no faster than the rate. The server's wish to wait is honoured. What passes by itself
(a full queue, a lost connection) is tried again. A server that stops answering ends the inquiry with what is known.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.exchange.lessons import is_recognised
from dragoman.probe.inquiry import Inquiry, ProbeRequest
from dragoman.probe.live.budget import ProbeBudget
from dragoman.probe.live.probed_server import ProbedServer, Redirected, send_question
from dragoman.upstream.transport.transport import Transport

_BUSY = frozenset({FailureKind.RATE_LIMIT, FailureKind.OVERLOADED})
_BROKEN = frozenset({FailureKind.TIMEOUT, FailureKind.NETWORK, FailureKind.BROKEN_STREAM, FailureKind.SERVER})
_MOST_BUSY = 6
"""Times in a row that a server may ask to wait."""
_MOST_BROKEN = 4
"""Answers in a row that may be none."""
_FIRST_WAIT = 1.0
_LONGEST_WAIT = 30.0

Asked = Callable[[ProbeRequest, Failure | None], None]


class ProbeTally(msgspec.Struct):
    """What an inquiry has cost."""

    requests: int = 0
    seconds: float = 0.0
    ended: str = ""
    """Why it ended before its time; empty if it is complete."""


class ProbeRun(msgspec.Struct, eq=False):
    """Sends the requests of one inquiry. `on_answer` is called after each. `redact` takes secrets out of what the
    server says: some repeat the key in their refusals."""

    _server: ProbedServer
    _transport: Transport
    _budget: ProbeBudget
    on_answer: Asked | None = None
    redact: Callable[[str], str] = str
    tally: ProbeTally = msgspec.field(default_factory=ProbeTally)
    _started: float = msgspec.field(default_factory=time.monotonic)
    _next: float = 0.0
    _broken: int = 0

    async def run(self, inquiry: Inquiry) -> ProbeTally:
        """Ask until everything is settled, or the budget is spent, or the server will not have it."""
        try:
            while not self.tally.ended and (request := inquiry.next_request()) is not None:
                failure = await self._answer(request, inquiry)
                if self.tally.ended:
                    break
                inquiry.receive(request, failure)
                if self.on_answer is not None:
                    self.on_answer(request, failure)
        except Redirected as elsewhere:
            self.tally.ended = f"the server redirects to {elsewhere}; ask there"
        self.tally.ended = self.tally.ended or inquiry.stopped
        self.tally.seconds = time.monotonic() - self._started
        return self.tally

    async def _answer(self, request: ProbeRequest, inquiry: Inquiry) -> Failure | None:
        """The answer to a request, after retries of what passes by itself."""
        busy = again = 0
        words = ""
        while True:
            if not await self._has_room():
                return None
            failure = await self._send(request)
            if failure is None and words:
                inquiry.discount(words)
            if failure is None or failure.kind not in _BUSY | _BROKEN:
                self._broken = 0
                return failure
            if failure.kind in _BUSY:
                busy += 1
                if not await self._wait(failure, busy):
                    return failure
                continue
            again += 1
            if not self._is_worth_another(request, failure, again):
                return failure
            words = failure.message if failure.kind is FailureKind.SERVER else ""

    async def _send(self, request: ProbeRequest) -> Failure | None:
        self.tally.requests += 1
        self._next = time.monotonic() + 1.0 / self._budget.rate
        seconds = max(min(self._left(), self._budget.answer_seconds), 0.05)
        failure = await send_question(self._server, self._transport, request.body, request.streamed, seconds)
        return failure and replace(failure, message=self.redact(failure.message))

    async def _wait(self, failure: Failure, times: int) -> bool:
        """Wait as long as a busy server wants; False if that is not worth it."""
        wanted = failure.retry_after if failure.retry_after is not None else _FIRST_WAIT * 2 ** (times - 1)
        wait = wanted if failure.retry_after is not None else min(wanted, _LONGEST_WAIT)
        if times >= _MOST_BUSY or wait > self._left():
            self.tally.ended = f"the server is busy and wants us to wait {wait:g} s: {failure.message[:200]}"
            return False
        await asyncio.sleep(wait)
        return True

    def _is_worth_another(self, request: ProbeRequest, failure: Failure, times: int) -> bool:
        """Whether what came back may be better next time. A 500 in known words is an answer, and the inquiry itself
        asks a single question again, later."""
        if failure.kind is FailureKind.SERVER:
            return times < 2 and len(request.asks) != 1 and not is_recognised(failure)
        self._broken += 1
        if self._broken >= _MOST_BROKEN:
            self.tally.ended = f"the server does not answer: {failure.message[:200]}"
        return times < 2 and not self.tally.ended

    async def _has_room(self) -> bool:
        """Wait for the next turn; False if the budget is spent."""
        if self.tally.requests >= self._budget.requests:
            self.tally.ended = f"the budget of {self._budget.requests} requests is spent"
        wait = self._next - time.monotonic()
        if wait > 0 and not self.tally.ended:
            await asyncio.sleep(min(wait, max(self._left(), 0.0)))
        if self._left() <= 0:
            self.tally.ended = self.tally.ended or f"the {self._budget.seconds:g} seconds are over"
        return not self.tally.ended

    def _left(self) -> float:
        return self._budget.seconds - (time.monotonic() - self._started)
