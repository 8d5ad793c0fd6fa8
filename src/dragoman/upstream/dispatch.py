"""An exchange carried out over the network: its steps, with sockets, a clock, health, memory and media.

Everything that is decided is decided by the exchange. Until the first byte has left for the client anything may be
tried again; after it, a failure is the last event of the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import partial
from random import random
from time import perf_counter
from typing import Protocol, TypeVar

import msgspec

from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.replies import Usage
from dragoman.engine.attempts import KEY_BOUND
from dragoman.engine.exchange import Exchange
from dragoman.engine.history.calibration import CountedTokens, TokenScale
from dragoman.engine.history.compaction import PrefixSummary
from dragoman.engine.history.cuts import Cut
from dragoman.engine.lessons import Learnt
from dragoman.engine.reasoning_restore import Kept
from dragoman.engine.request_limits import RequestLimits
from dragoman.engine.steps import (
    ENDS,
    Answered,
    AttemptFailed,
    Choose,
    CutToKeep,
    End,
    FetchMedia,
    GaveUp,
    Reading,
    Recall,
    RecallCut,
    RecallSummary,
    Send,
    Step,
    Streaming,
    ToKeep,
    Wait,
)
from dragoman.engine.written_report import WrittenReport, write_report
from dragoman.profiles.profile import Target
from dragoman.upstream.auth.authorizer import NoCredentials
from dragoman.upstream.auth.authorizers import Authorizers
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.health import Health
from dragoman.upstream.heavy_work import LARGE, SMALL, HeavyWork, is_heavy
from dragoman.upstream.refusals import error_body, transport_failure
from dragoman.upstream.transport import Incoming, Outgoing, TransportFailure
from dragoman.upstream.transport.transport import Transport
from dragoman.wire.json_size import count_escapes, count_read_values

NO_USAGE = Usage()
TOO_MANY_ESCAPES = "the provider's answer holds more escapes than an answer may (limits.escapes)"
TOO_MANY_VALUES = "the provider's answer holds more JSON values than an answer may (limits.values)"


class Memory(Protocol):
    """What outlives an exchange: lessons, and state that clients cannot carry."""

    def corrected(self, destination: HttpDestination, caller: str) -> Target:
        """The destination's target with what has been learnt about it. Never waits."""

    def known_lessons(self, destination: HttpDestination, caller: str) -> tuple[str, ...]:
        """The names of the lessons that hold for this destination and caller. Never waits."""

    async def recall(self, caller: str, wanted: Recall) -> Mapping[str, Kept]:
        """What was kept for this caller."""

    async def keep(self, caller: str, state: ToKeep) -> None:
        """Keep it for this caller's next turn."""

    async def recall_summary(self, caller: str, wanted: RecallSummary) -> tuple[str, PrefixSummary] | None:
        """The summary of the beginning of this caller's conversation, and its key."""

    async def recall_cut(self, caller: str, wanted: RecallCut) -> Cut | None:
        """The cut of an earlier turn of this caller's conversation."""

    async def keep_cut(self, caller: str, kept: CutToKeep) -> None:
        """Keep it for the turns that follow."""

    def token_scale(self, key: str) -> TokenScale:
        """How a model counts, by what was reported so far. Never waits."""

    def wants_count(self, key: str) -> bool:
        """Whether one more count of this model would be of use. Never waits."""

    def calibrate(self, key: str, counted: CountedTokens) -> None:
        """Take a provider's count into account. Never waits."""

    async def learn(self, destination: HttpDestination, learnt: Learnt, caller: str, request_id: str) -> None:
        """Remember a lesson that an accepted request has proved."""


class HeldMedia:
    """The bytes of media that were fetched for one request. They count among those of all requests until it lets go of
    them, or is gone."""

    __slots__ = ("_add_to_all", "size")

    def __init__(self, add_to_all: Callable[[int], None]) -> None:
        self.size = 0
        self._add_to_all = add_to_all

    def add(self, size: int) -> None:
        self.size += size
        self._add_to_all(size)

    def let_go(self) -> None:
        self.add(-self.size)

    __del__ = let_go


class MediaRefused(Exception):
    """There is no room for the media that a request wants fetched."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class MediaSource(Protocol):
    async def fetch(self, urls: Sequence[str], held: HeldMedia) -> Mapping[str, bytes]:
        """What can be had of these, by URL. Raises MediaRefused."""

    def hold(self) -> HeldMedia:
        """What counts the media of one request, none as yet."""


class SendBooking(msgspec.Struct, frozen=True, gc=False):
    """The tokens that count against a destination's limits for a send, until the real ones are known."""

    destination: HttpDestination
    input: int
    output: int


class SendLimits(Protocol):
    """What destinations with `rate_limits` are sent in a minute."""

    async def book(self, destination: HttpDestination, ask: Ask) -> SendBooking | Failure:
        """Book a send, after a wait where that is configured; or why there is no room for it."""

    def settle(self, booking: SendBooking, usage: Usage) -> None:
        """Count what was really used. Never waits, never fails."""


class World(Protocol):
    """What all dispatches of a gateway share."""

    @property
    def health(self) -> Health: ...

    @property
    def memory(self) -> Memory: ...

    @property
    def media(self) -> MediaSource: ...

    @property
    def heavy(self) -> HeavyWork: ...

    @property
    def send_limits(self) -> SendLimits: ...

    @property
    def authorizers(self) -> Authorizers: ...

    @property
    def answer_limit(self) -> int:
        """The most bytes of an answer."""

    @property
    def limits(self) -> RequestLimits:
        """How much an answer may hold."""

    def transport(self, destination: HttpDestination) -> Transport:
        """The connections for a destination."""

    def note_failure(self, exchange: Exchange[HttpDestination], failed: AttemptFailed[HttpDestination]) -> None:
        """Count a failed send and write it down."""


_SMALL_PIECE = 32 * 1024
"""Bytes of a stream that are read at once without giving others their turn."""
Result = TypeVar("Result")


class Dispatch:
    """Carries out one exchange for one caller. `asked_at` is when a provider was first to be asked, `queued` how many
    seconds sends waited for room in the limits of their destination. `failed_at` are the times of failed sends, `waits`
    the seconds of waiting after the n-th of them."""

    asked_at = 0.0
    queued = 0.0
    failed_at: tuple[float, ...] = ()
    waits: Mapping[int, float] = {}
    _booking: SendBooking | None = None
    _held = _seen = 0
    _report: WrittenReport | None = None
    _picked: HttpDestination | None = None
    _incoming: Incoming | None = None
    _media: HeldMedia | None = None

    def __init__(self, world: World, exchange: Exchange[HttpDestination], caller: str) -> None:
        self.exchange = exchange
        self._world = world
        self._caller = caller

    def known_lessons(self) -> tuple[str, ...]:
        """The lessons that were known of the destination that was asked, before this request."""
        destination, exchange = self.exchange.destination, self.exchange
        if destination is None:
            return ()
        learnt = {*exchange.lessons, *(one.lesson for one in exchange.learnt)}
        known = self._world.memory.known_lessons(destination, self._caller)
        return tuple([name for name in known if name.partition(" ")[0] not in learnt]) if known else ()

    async def run(self) -> End:
        """Send until there is an answer for the client, or nothing left to try."""
        try:
            step = await self._choose(self.exchange.start())
            while True:
                if isinstance(step, Send):
                    step = await self._send(step)
                elif isinstance(step, ENDS):
                    await self._conclude(step)
                    if not isinstance(step, Streaming):
                        self._let_go_of_media()
                    return step
                else:
                    step = await self._carry_out(step)
        except BaseException:
            await self._abandon()
            raise

    async def prepare(self) -> Send[HttpDestination] | GaveUp:
        """What would be sent first, media and kept state included; or why nothing can be sent."""
        try:
            step = await self._choose(self.exchange.start())
            while not isinstance(step, (Send, GaveUp)):
                step = await self._carry_out(step)
            return step
        finally:
            await self._abandon()

    def forget_connection(self) -> None:
        """Let go of the answer's connection, where the exchange is over and somebody keeps it."""
        self._incoming = None

    async def pieces(self, opened: Streaming) -> AsyncGenerator[bytes]:
        """The client's bytes as they come; the last of them say so if it went wrong."""
        incoming, translation = self._incoming, opened.translation
        assert incoming is not None
        feed = translation.feed
        try:
            if opened.first:
                yield opened.first
            try:
                async for chunk in incoming:
                    self._count(chunk)
                    out = feed(chunk) if self._held < _SMALL_PIECE else await self._read(partial(feed, chunk))
                    if out:
                        self._held = 0
                        yield out
                    if translation.failure is not None:
                        break
                last = b"" if opened.over else await self._end(translation.close)
            except TransportFailure as fault:
                last = translation.fail(transport_failure(fault))
            await self._stream_ended()
            if last:
                yield last
        finally:
            self._let_go_of_media()
            await incoming.close()

    async def _carry_out(self, step: Step[HttpDestination]) -> Step[HttpDestination]:
        """Every step but a send."""
        exchange, world = self.exchange, self._world
        match step:
            case Choose():
                return await self._choose(step)
            case Recall():
                kept = await world.memory.recall(self._caller, step)
                return await self._compile(lambda: exchange.recalled(kept))
            case RecallSummary():
                summary = await world.memory.recall_summary(self._caller, step)
                return await self._compile(lambda: exchange.summary_recalled(summary))
            case RecallCut():
                cut = await world.memory.recall_cut(self._caller, step)
                scale = world.memory.token_scale(step.calibration)
                return await self._compile(lambda: exchange.cut_recalled(cut, scale))
            case FetchMedia(urls):
                return await self._fetch(urls)
            case AttemptFailed():
                await self._close()  # before anything else is opened
                self.settle()
                self._note(step)
                chance = random()  # noqa: S311 - waits are spread by it, nothing is hidden
                return await self._compile(lambda: exchange.resume(chance))
            case Wait(seconds):
                self.waits = {**self.waits, len(self.failed_at): seconds}
                await asyncio.sleep(seconds)
                return exchange.waited()
            case _:
                raise AssertionError(f"{type(step).__name__} cannot be carried out")

    async def _choose(self, step: Choose[HttpDestination]) -> Step[HttpDestination]:
        world, candidates = self._world, step.candidates
        self._release()
        picked = self._picked = candidates[0] if len(candidates) == 1 else self._healthiest(candidates)
        key = world.health.key(picked, perf_counter()) if picked.key_count > 1 else 0
        target = world.memory.corrected(picked, self._caller)
        if len(self.exchange.ask.source) < SMALL:
            return self.exchange.chosen(picked, target, key)
        return await self._compile(lambda: self.exchange.chosen(picked, target, key))

    async def _compile(self, work: Callable[[], Step[HttpDestination]]) -> Step[HttpDestination]:
        """What compiles the request: beside the event loop if it is a large one."""
        if not (self._media is not None and self._media.size > LARGE) and not is_heavy(self.exchange.ask.source):
            return work()
        return await self._world.heavy.run(lambda: self._with_report(work()), self._caller)

    async def _fetch(self, urls: tuple[str, ...]) -> Step[HttpDestination]:
        self._media = self._media or self._world.media.hold()
        try:
            found = await self._world.media.fetch(urls, self._media)
        except MediaRefused as refused:
            self._media.let_go()
            return self.exchange.unfetched(refused.failure)
        return await self._compile(lambda: self.exchange.fetched(found))

    def _let_go_of_media(self) -> None:
        if self._media is not None:
            self._media.let_go()

    def _with_report(self, step: Step[HttpDestination]) -> Step[HttpDestination]:
        """The report is written here too: it would hold up everybody where it is put down."""
        self._report = write_report(self.exchange.changes)
        return step

    def written_report(self) -> WrittenReport | None:
        """The report of the request as it was sent last, where it was long enough to be written beside the loop."""
        report = self._report
        return report if report is not None and report.changes is self.exchange.changes else None

    def _healthiest(self, candidates: tuple[HttpDestination, ...]) -> HttpDestination:
        """The first that is not left alone; the first of all where each is."""
        now = perf_counter()
        return next((one for one in candidates if self._world.health.open(one, now)), candidates[0])

    async def _send(self, send: Send[HttpDestination]) -> Step[HttpDestination]:
        destination, request = send.destination, send.request
        self.asked_at = self.asked_at or perf_counter()
        if destination.rate_limits is not None and (failure := await self._book(destination)) is not None:
            return self.exchange.unsent(failure)
        headers = (*request.headers.items(), *destination.signed(send.key))
        outgoing = Outgoing("POST", destination.url(request.path), headers, request.body)
        try:
            if destination.scheme is not None:
                outgoing = await self._world.authorizers.authorize(destination.scheme, outgoing)
            transport = self._world.transport(destination)
            incoming = await transport.send(outgoing, destination.timeouts, self.exchange.resent)
            self._incoming = incoming
            return await self._receive(incoming)
        except TransportFailure as fault:
            return self.exchange.broken(transport_failure(fault))
        except NoCredentials as fault:
            return self.exchange.broken(Failure(FailureKind.AUTH, str(fault), fault.status))

    async def _book(self, destination: HttpDestination) -> Failure | None:
        """Book the send that follows; why that cannot be, if so."""
        started = perf_counter()
        try:
            booked = await self._world.send_limits.book(destination, self.exchange.ask)
        finally:
            self.queued += perf_counter() - started
        if isinstance(booked, Failure):
            return booked
        self._booking = booked
        return None

    def settle(self, usage: Usage = NO_USAGE) -> None:
        """What the last send really used counts from now on. Where that is not known, its input as it was booked."""
        booking, self._booking = self._booking, None
        if booking is not None:
            self._world.send_limits.settle(booking, usage)

    async def _receive(self, incoming: Incoming) -> Step[HttpDestination]:
        exchange = self.exchange
        reading = await self._head(incoming)
        if reading is Reading.WHOLE:
            answer = await incoming.read(self._world.answer_limit)
            small = not is_heavy(answer) and not is_heavy(
                exchange.ask.source
            )  # some answers repeat the request's tools
            return exchange.body(answer) if small else await self._read_heavy(answer)
        if reading is Reading.ERROR:
            error = await error_body(incoming)
            return (
                exchange.body(error)
                if len(error) < SMALL
                else await self._world.heavy.run(lambda: exchange.body(error), self._caller)
            )
        async for chunk in incoming:
            self._count(chunk)
            step = await self._read(partial(exchange.opening, chunk))
            if step is not None:
                self._held = 0
                return step
        return await self._end(exchange.ended)

    async def _head(self, incoming: Incoming) -> Reading:
        """What kind of answer it is. To find out, the last turn of the request is read again, and may be large."""
        head = partial(self.exchange.head, incoming.status, incoming.headers)
        return head() if not is_heavy(self.exchange.ask.source) else await self._world.heavy.run(head, self._caller)

    def _count(self, chunk: bytes) -> None:
        """Count the bytes of a stream, and of its event that is not complete yet."""
        self._held += len(chunk)
        self._seen += len(chunk)

    async def _read(self, work: Callable[[], Result]) -> Result:
        """Read a piece of a stream: beside the event loop if it is large, or of an event that has become large."""
        return work() if self._held < _SMALL_PIECE else await self._world.heavy.run_to_end(work, self._caller)

    async def _end(self, close: Callable[[], Result]) -> Result:
        """Read the end of a stream: what is held may be an event of megabytes."""
        return close() if self._seen < LARGE else await self._world.heavy.run_to_end(close, self._caller)

    async def _read_heavy(self, answer: bytes) -> Step[HttpDestination]:
        """A large answer, beside the event loop."""
        return await self._world.heavy.run(partial(self._read_counted, answer), self._caller)

    def _read_counted(self, answer: bytes) -> Step[HttpDestination]:
        limits = self._world.limits
        if count_escapes(answer, limits.escapes) > limits.escapes:
            return self.exchange.broken(Failure(FailureKind.ANSWER_TOO_LARGE, TOO_MANY_ESCAPES, 502))
        if len(answer) > limits.values and count_read_values(answer, limits.values) > limits.values:
            return self.exchange.broken(Failure(FailureKind.ANSWER_TOO_LARGE, TOO_MANY_VALUES, 502))
        return self.exchange.body(answer)

    def _note(self, failed: AttemptFailed[HttpDestination]) -> None:
        health, destination, failure, now = self._world.health, failed.destination, failed.failure, perf_counter()
        self.failed_at = (*self.failed_at, now)
        health.failed(destination, failure, now)
        if failure.kind in KEY_BOUND and destination.key_count > 1:
            health.pause_key(destination, failed.key, failure, now)
        if failure.kind is FailureKind.AUTH and destination.scheme is not None:
            date = self._incoming.header("date") if self._incoming is not None else None
            self._world.authorizers.refused(destination.scheme, date or "")
        self._world.note_failure(self.exchange, failed)

    async def _conclude(self, end: End) -> None:
        """An answer is the provider's success, and proves what was learnt for it."""
        exchange, destination = self.exchange, self._picked
        assert destination is not None
        for learnt in exchange.learnt:
            await self._world.memory.learn(destination, learnt, self._caller, exchange.context.id)
        if isinstance(end, Answered):
            await self._succeeded(destination)
        elif isinstance(end, Streaming):
            self._world.health.began(destination)
        else:
            self._release()

    async def _stream_ended(self) -> None:
        failed, destination = self.exchange.stream_ended(), self._picked
        if failed is not None:
            self._note(failed)
        elif destination is not None:
            await self._succeeded(destination)

    async def _succeeded(self, destination: HttpDestination) -> None:
        self._world.health.succeeded(destination)
        state = self.exchange.to_keep()
        if state is not None:
            await self._world.memory.keep(self._caller, state)
        if destination.history is not None or self.exchange.trims:
            await self._keep_history()

    async def _keep_history(self) -> None:
        """What the next turn of a long conversation needs."""
        exchange, memory = self.exchange, self._world.memory
        cut = exchange.cut_to_keep()
        if cut is not None:
            await memory.keep_cut(self._caller, cut)
        key = exchange.calibration_key()
        counted = exchange.counted() if key and memory.wants_count(key) else None
        if counted is not None:
            memory.calibrate(key, counted)

    async def _abandon(self) -> None:
        self._release()
        self._let_go_of_media()
        await self._close()

    def _release(self) -> None:
        """The destination that was picked last was not asked, or its answer says nothing about its health."""
        if self._picked is not None:
            self._world.health.released(self._picked)

    async def _close(self) -> None:
        if self._incoming is not None:
            await self._incoming.close()
