"""An exchange carried out over the network: its steps, with sockets, a clock, health, memory and media.

Everything that is decided is decided by the exchange. Until the first byte has left for the client anything may be
tried again; after it, a failure is the last event of the stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from random import random
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from msgspec import Struct, field

from dragoman.conversation.conversation import Ask
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.replies import Usage
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.registry import dialect
from dragoman.engine.answer.stream_redaction import Redaction
from dragoman.engine.compile.request_limits import RequestLimits
from dragoman.engine.exchange.attempts import KEY_BOUND
from dragoman.engine.exchange.caller_options import NOTHING_SET, CallerOptions
from dragoman.engine.exchange.destination import TargetRoute
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.named_prompt import NamedPrompt
from dragoman.engine.exchange.session_cache import SessionCache
from dragoman.engine.exchange.split_answer import SplitRounds
from dragoman.engine.exchange.steps import (
    ENDS,
    Answered,
    AttemptFailed,
    Choose,
    End,
    FetchMedia,
    GaveUp,
    ListTools,
    Reading,
    Recall,
    Send,
    SendAll,
    SendRounds,
    StateToKeep,
    Step,
    Streaming,
    StreamingAll,
    Wait,
)
from dragoman.engine.exchange.target_attempt import SHORTEST_PROMPT
from dragoman.engine.history.sent_prompts import KEPT_SECONDS
from dragoman.engine.history.session_turns import (
    NO_USE,
    CacheOutcome,
    SessionTurns,
    TurnDigests,
    digest_turn,
    is_worth_leaving,
)
from dragoman.engine.library.report_summary import WrittenReport, write_report
from dragoman.engine.tool_runs.tool_rounds import FinishedCall
from dragoman.profiles.facts import Stance
from dragoman.upstream.auth.authorizer import NoCredentials
from dragoman.upstream.auth.authorizers import Authorizers
from dragoman.upstream.auth.caller_credential import CallerCredential
from dragoman.upstream.contracts import KeptState, SendBooking, SendLimits
from dragoman.upstream.cooldowns import Health
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.heavy_work import HeavyWork, RequestWork
from dragoman.upstream.media_fetch import HeldMedia, MediaFetcher, MediaRefused
from dragoman.upstream.refusals import error_body, transport_failure
from dragoman.upstream.side_by_side import SideBySide
from dragoman.upstream.stored_prompts import StoredPrompts
from dragoman.upstream.tool_runner import ToolRunner, ToolRuns, leave_unrun
from dragoman.upstream.transport.failures import TransportFailure
from dragoman.upstream.transport.incoming import Incoming, Nudged
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.transport import Transport
from dragoman.upstream.transports import Transports
from dragoman.wire.json_size import LARGE, count_escapes, count_read_values, is_heavy

if TYPE_CHECKING:
    from dragoman.upstream.socket_line import SocketLine

NO_USAGE = Usage()
HELD_SECONDS = 10.0
"""So long the head of a stream is held at most, while the next target may still be asked."""
_LONGEST_END = 1.0
"""So long an answer that is over waits for the end of its connection. A few servers leave it open."""
TOO_MANY_ESCAPES = "the provider's answer holds more escapes than an answer may (limits.escapes)"
TOO_MANY_VALUES = "the provider's answer holds more JSON values than an answer may (limits.values)"
_PIECES, _WHOLE = Reading.PIECES, Reading.WHOLE
Given = ParamSpec("Given")
Result = TypeVar("Result")


class Dispatcher(Struct, eq=False, kw_only=True):
    """Opens requests to models, for every entrance. All of them share what it holds."""

    memory: KeptState
    media: MediaFetcher
    send_limits: SendLimits
    health: Health
    transports: Transports
    heavy: HeavyWork
    authorizers: Authorizers
    stored: StoredPrompts
    limits: RequestLimits
    """How much an answer may hold."""
    redaction: Redaction
    note_failure: Callable[[Exchange[HttpDestination], AttemptFailed[HttpDestination]], None]
    """Counts a failed send and writes it down."""
    tools: ToolRunner | None = None
    """Runs tools of providers for targets that lack them."""
    turns: SessionTurns = field(default_factory=lambda: SessionTurns(monotonic))
    strayed: float = float("-inf")
    """When a request was last answered, or may have been answered, by another destination than its first choice."""

    async def close(self) -> None:
        await self.stored.close()
        self.heavy.close()
        for transport in self.transports.values():
            await transport.close()

    def open(
        self,
        ask: Ask,
        route: TargetRoute[HttpDestination],
        context: AnswerContext,
        caller: str = "",
        *,
        options: CallerOptions = NOTHING_SET,
        work: RequestWork | None = None,
        credential: CallerCredential | None = None,
    ) -> Dispatch:
        """A request that has not been sent yet. `work`: where it was parsed. `credential`: the caller's own."""
        redaction = self.redaction if credential is None else credential.redaction
        exchange = Exchange(ask, route, context, options, redaction, splits=True)
        if len(ask.source) >= SHORTEST_PROMPT:
            exchange.cache = SessionCache(partial(self.turns.find, caller))
            if route.first.stores_prompts:
                exchange.prompt = NamedPrompt(self.stored.book, caller)
        if self.tools is not None:
            exchange.runnable = self.tools.families
            if self.tools.offers:
                exchange.offered = self.tools.offered(caller, route.first.tool_servers)
        work = work or RequestWork(self.heavy, caller, is_heavy(ask.source))
        return Dispatch(self, exchange, caller, work, credential)


class Dispatch(Struct, eq=False):
    """Carries out one exchange for one caller."""

    _shared: Dispatcher
    exchange: Exchange[HttpDestination]
    _caller: str
    work: RequestWork
    """Where what it reads is worked on."""
    credential: CallerCredential | None = None
    asked_at: float = 0.0
    """When a provider was first to be asked."""
    follows_at: float = 0.0
    """When it began, if it is a round that follows another."""
    queued: float = 0.0
    """Seconds that sends waited for room in the limits of their destination."""
    booking: SendBooking | None = None
    """What counts against the limits of the destination until it is settled."""
    report: WrittenReport | None = None
    """The report of the request as it was sent last, if it was long enough to be written beside the loop."""
    digests: TurnDigests | None = None
    """The digests of the request as it was sent last, if it is large."""
    known_lessons: tuple[str, ...] = ()
    """The lessons that were known of the destination that was asked last, before this request."""
    parts: tuple[Dispatch, ...] = ()
    """Those that ask for one answer each, if the client wants several and the target gives one; or for one round each,
    if tools are run for the answer."""
    reserve: Callable[[int], Awaitable[None]] | None = None
    """Counts so many more requests of the caller before the first of them is sent."""
    afford: Callable[[], Awaitable[str]] | None = None
    """Books what the rounds so far cost, and the next one; says why that cannot be."""
    line: SocketLine | None = None
    """A WebSocket for providers that have one, if the request came over one."""
    _sends_nothing: bool = False
    _side_by_side: SideBySide | None = None
    _lessons: tuple[str, ...] = ()
    _held: int = 0
    _seen: int = 0
    _picked: HttpDestination | None = None
    _incoming: Incoming | None = None
    _media: HeldMedia | None = None
    account_limits: tuple[tuple[str, str], ...] = ()
    """The headers of the last answer that tell the limits of the caller's own account."""

    async def run(self) -> End:
        """Send until there is an answer for the client, or nothing left to try."""
        try:
            step = await self._choose(self.exchange.start().candidates)
            while type(step) is Send or not isinstance(step, ENDS):
                step = await (self._send(step) if type(step) is Send else self._carry_out(step))
            await self._conclude(step)
        except BaseException:
            await self._abandon()
            raise
        return step

    async def prepare(self) -> Send[HttpDestination] | GaveUp:
        """What would be sent first, media and kept state included; or why nothing can be sent. No tool is run."""
        self._sends_nothing = True
        try:
            step: Step[HttpDestination] = self.exchange.start()
            while not isinstance(step, (Send, SendAll, SendRounds, GaveUp)):
                step = await self._carry_out(step)
            if not isinstance(step, (Send, GaveUp)):
                return await self._part(self.exchange.parts[0]).prepare()
            return step
        finally:
            await self._abandon()

    def let_go(self) -> None:
        """Let go of what only a running exchange needs: it is over, and somebody keeps it."""
        self._incoming = self._side_by_side = self.digests = None
        self.exchange.let_go()
        if (known := self.exchange.ask.known) is not None:
            known.forget()
        for part in self.parts:
            part.let_go()

    def pieces(self, opened: Streaming | StreamingAll) -> AsyncGenerator[bytes]:
        """The client's bytes as they come; the last of them say so if it went wrong."""
        return self._pieces(opened) if isinstance(opened, Streaming) else self._all_pieces(opened)

    async def _pieces(self, opened: Streaming) -> AsyncGenerator[bytes]:
        incoming, translation, destination = self._incoming, opened.translation, self.exchange.destination
        assert incoming is not None
        assert destination is not None
        feed, held, seen = translation.feed, self._held, self._seen
        mark = self.exchange.change_mark
        tail = bytearray() if self.exchange.reads_end else None
        settled = translation.settled
        try:
            if settled:
                await self._stream_ended()  # before the client can go on
            if opened.first:
                yield opened.first
            try:
                if not translation.ended:
                    async for chunk in incoming:
                        size = len(chunk)
                        held += size
                        seen += size
                        if mark and chunk.find(mark) >= 0:
                            self.exchange.note_provider_changes(chunk)
                        if tail is not None:
                            tail += chunk
                            if len(tail) > 2 * LARGE:  # seldom, since each time costs a copy
                                del tail[:-LARGE]
                        out = feed(chunk) if held <= LARGE else await self.work.run_to_end(partial(feed, chunk))
                        if out:
                            if translation.settled and not settled:
                                settled = True
                                await self._stream_ended()
                            held = 0
                            yield out
                        if translation.failure is not None or translation.ended:
                            break
                if translation.ended:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_LONGEST_END):  # what ends with its answer is used again
                            async for _ in incoming:
                                pass
                last = b"" if opened.over else await self._read(seen, translation.close)
            except TransportFailure as fault:
                last = translation.fail(transport_failure(fault, destination.name))
            if tail:
                self.exchange.note_diagnosis(bytes(tail[-LARGE:]))
            if not settled:
                await self._stream_ended()
            if last:
                yield last
        finally:
            if self._media is not None:
                self._media.let_go()
            await incoming.close()

    async def _all_pieces(self, opened: StreamingAll) -> AsyncGenerator[bytes]:
        """The pieces of several answers. The failure of one answer ends all."""
        side_by_side, split = self._side_by_side, self.exchange.split
        assert side_by_side is not None
        assert split is not None
        try:
            if opened.first:
                yield opened.first
            while (more := await side_by_side.more()) is True:
                if piece := split.take_bytes():
                    yield piece
            if last := self.exchange.cut(more.failure) if isinstance(more, GaveUp) else split.take_bytes():
                yield last
        finally:
            if self._media is not None:
                self._media.let_go()
            await side_by_side.stop()

    async def _carry_out(self, step: Step[HttpDestination]) -> Step[HttpDestination]:
        """Every step but a send."""
        exchange = self.exchange
        match step:
            case Choose(candidates):
                return await self._choose(candidates)
            case Recall():
                return await self._tell(exchange.recalled, await self._shared.memory.recall(self._caller, step))
            case FetchMedia(urls):
                return await self._tell(exchange.fetched, await self._fetch(urls))
            case AttemptFailed():
                await self._close()  # before anything else is opened
                self.settle()
                self._note(step)
                chance = random()  # noqa: S311 - waits are spread by it, nothing is hidden
                return await self._tell(exchange.resume, chance)
            case SendAll():
                return await self._send_all(step)
            case ListTools(tools, approved):
                runs = ToolRuns(self._shared.tools, self._caller, self.work)
                found = await runs.list_all(tools)
                ran: Sequence[FinishedCall] = ()
                if approved and not isinstance(found, Failure):
                    ran = leave_unrun(approved) if self._sends_nothing else await runs.run_approved(approved)
                return await self._tell(exchange.listed, found, runs.limits, ran)
            case SendRounds(destination):
                self._shared.health.released(destination)  # each round chooses for itself
                self.parts = (self._part(exchange.parts[0]),)
                return await self._pass_on(SideBySide(self.parts, self._next_round))
            case Wait(seconds):
                exchange.attempts.failures[-1].waited = seconds
                await asyncio.sleep(seconds)
                return exchange.resume()
            case _:
                raise AssertionError(f"{type(step).__name__} cannot be carried out")

    async def _tell(self, verb: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Result:
        """Tell the exchange what became of a step: beside the event loop if the request is a large one."""
        if not self.work.is_large:
            return verb(*given, **named)
        return await self.work.run(partial(self._with_report, verb, *given, **named))

    def _with_report(self, verb: Callable[Given, Result], *given: Given.args, **named: Given.kwargs) -> Result:
        """The report and the digests are made here too: made later, on the event loop, they would hold up everybody."""
        result = verb(*given, **named)
        request = self.exchange.request
        if self.report is None or self.report.changes is not self.exchange.changes:
            self.report = write_report(self.exchange.changes)
        if request is not None and (self.digests is None or self.digests.request is not request):
            self.digests = digest_turn(request)
        return result

    async def _read(
        self, size: int, verb: Callable[Given, Result], *given: Given.args, **named: Given.kwargs
    ) -> Result:
        """Read a piece of a stream: beside the event loop if it is large, or of an event that has become large."""
        if size <= LARGE:
            return verb(*given, **named)
        return await self.work.run_to_end(partial(verb, *given, **named))

    async def _choose(self, candidates: tuple[HttpDestination, ...]) -> Step[HttpDestination]:
        shared = self._shared
        if self._picked is not None:
            shared.health.released(self._picked)  # it was not asked, or its answer says nothing about its health
        if len(candidates) == 1:
            picked = candidates[0]
        elif self._picked is None and monotonic() - shared.strayed < KEPT_SECONDS:
            picked = self._with_cache(candidates) or self._healthiest(candidates)
        else:
            picked = self._healthiest(candidates)
        self._picked = picked
        key = shared.health.key(picked, perf_counter()) if picked.key_count > 1 else 0
        target, self._lessons = shared.memory.correct(picked, self._caller)
        if not self.work.is_large:
            return self.exchange.chosen(picked, target, key)
        return await self._tell(self.exchange.chosen, picked, target, key)

    def _with_cache(self, candidates: tuple[HttpDestination, ...]) -> HttpDestination | None:
        """Where the session was sent last, if it has a cache there that is worth more than the first choice."""
        turn = self._shared.turns.find(self._caller, self.exchange.ask)
        there = next((one for one in candidates[1:] if turn is not None and one.name == turn.target), None)
        if turn is None or there is None or is_worth_leaving(turn, there, candidates[0]):
            return None
        return there if self._shared.health.open(there, perf_counter()) else None

    def _healthiest(self, candidates: tuple[HttpDestination, ...]) -> HttpDestination:
        """The first candidate that is not left alone; the first of all if every one is."""
        now = perf_counter()
        return next((one for one in candidates if self._shared.health.open(one, now)), candidates[0])

    async def _fetch(self, urls: tuple[str, ...]) -> Mapping[str, bytes] | Failure:
        media = self._media = self._media or self._shared.media.hold()
        try:
            found = await self._shared.media.fetch(urls, media)
        except MediaRefused as refused:
            media.let_go()
            return refused.failure
        if media.size > LARGE:
            self.work.is_large = True
        return found

    async def _send(self, send: Send[HttpDestination]) -> Step[HttpDestination]:
        destination, request, shared = send.destination, send.request, self._shared
        self.asked_at = self.asked_at or perf_counter()
        self.known_lessons = self._lessons
        if destination.rate_limits is not None and (failure := await self._book_once(destination)) is not None:
            return self.exchange.unsent(failure)
        headers = (*request.headers.items(), *destination.signed(send.key))
        outgoing = Outgoing("POST", destination.base_url + request.path, headers, request.body)
        try:
            if destination.scheme is not None:
                outgoing = await shared.authorizers.authorize(destination.scheme, outgoing, self.credential)
            transport = shared.transports[destination.ca_file, destination.connections]
            line = self.line if destination.has_sockets else None
            incoming = await self._say(line, transport, outgoing, destination) if line is not None else None
            if incoming is None:
                incoming = await transport.send(outgoing, destination.timeouts, self.exchange.resent)
            self._incoming = incoming
            if self.credential is not None:
                self.account_limits = self.credential.find_limits(incoming.headers) if destination.as_caller else ()
            return await self._receive(incoming)
        except TransportFailure as fault:
            return self.exchange.failed(transport_failure(fault, destination.name))
        except NoCredentials as fault:
            return self.exchange.failed(Failure(FailureKind.AUTH, str(fault), fault.status))

    async def _say(
        self, line: SocketLine, transport: Transport, outgoing: Outgoing, destination: HttpDestination
    ) -> Incoming | None:
        """Send it over the socket; None if that cannot be, and it is to be posted."""
        frames = dialect(destination.target.dialect).socket_frames
        if frames is None:
            return None
        return await line.send(
            transport,
            outgoing,
            destination.timeouts,
            frames,
            work=self.work,
            may_resend=self.exchange.resent,
            takes_instructions=destination.target.facts.instructions_with_previous is not Stance.REFUSES,
        )

    async def _send_all(self, step: SendAll[HttpDestination]) -> Step[HttpDestination]:
        """Ask for each answer by itself, all at once, if there is room for all of them."""
        destination = step.destination
        self._shared.health.released(destination)  # each chooses for itself
        reserve, self.reserve = self.reserve, None  # once, also if another target is asked for all of them
        if reserve is not None:
            await reserve(len(self.exchange.parts) - 1)
        parts = [self._part(one) for one in self.exchange.parts]
        for part in parts if destination.rate_limits is not None else ():
            if (failure := await part._book(destination)) is not None:
                for booked in parts:
                    booked.settle()
                return self.exchange.unsent(failure)
        self.parts = tuple(parts)
        return await self._pass_on(SideBySide(self.parts))

    async def _pass_on(self, side_by_side: SideBySide) -> Step[HttpDestination]:
        """Wait until the answer of all is there, or something of its stream, or it cannot be had."""
        self._side_by_side = side_by_side
        came = await side_by_side.more()
        if isinstance(came, GaveUp):
            await side_by_side.stop()
        return await self._tell(self.exchange.joined, came if isinstance(came, GaveUp) else None)

    def _part(self, exchange: Exchange[HttpDestination]) -> Dispatch:
        """What carries out the exchange for one of several answers, or for one round."""
        return Dispatch(self._shared, exchange, self._caller, self.work, self.credential)

    async def _next_round(self) -> Dispatch | None:
        """Run the tools that the last round calls, and go on; None if it was the last."""
        split = self.exchange.split
        assert isinstance(split, SplitRounds)
        wanted = await self._tell(split.round_ended)
        following: Exchange[HttpDestination] | None = None
        refused = await self.afford() if wanted is not None and self.afford is not None else ""
        if refused:
            await self._tell(split.stop, refused)
        elif wanted is not None:
            began = perf_counter()
            runs = ToolRuns(self._shared.tools, self._caller, self.work)
            done = await runs.run_all(wanted.runs, wanted.seconds)
            following = await self._tell(split.ran, done, perf_counter() - began)
        if split.rounds.kept:
            await self._shared.memory.keep(self._caller, StateToKeep("", "", runs=split.rounds.kept))
        if following is None:
            return None
        part = self._part(following)
        part.follows_at = perf_counter()
        self.parts = (*self.parts, part)
        return part

    async def _book_once(self, destination: HttpDestination) -> Failure | None:
        """Book the send that follows, unless that was done when room was sought for several."""
        if self.booking is not None and self.booking.destination is destination:
            return None
        self.settle()
        return await self._book(destination)

    async def _book(self, destination: HttpDestination) -> Failure | None:
        """Book the send that follows; why that cannot be, if so."""
        started = perf_counter()
        try:
            booked = await self._shared.send_limits.book(destination, self.exchange.ask)
        finally:
            self.queued += perf_counter() - started
        if isinstance(booked, Failure):
            return booked
        self.booking = booked
        return None

    def settle(self, usage: Usage = NO_USAGE) -> None:
        """What the last send really used counts from now on. If that is not known, its input as it was booked."""
        booking, self.booking = self.booking, None
        if booking is not None:
            self._shared.send_limits.settle(booking, usage)

    def note_cache(self, usage: Usage) -> CacheOutcome:
        """What the request made of the provider's cache, once its answer is there."""
        exchange = self.exchange
        request, destination = exchange.request, exchange.destination
        if request is None or destination is None or not usage.input or len(exchange.ask.source) < SHORTEST_PROMPT:
            return NO_USE
        if exchange.attempts.failures:
            self._shared.strayed = monotonic()
        if exchange.prompt is not None and exchange.prompt.use is not None:
            self._shared.stored.note(exchange.prompt.use, usage, destination, exchange.visit.key)
        made = self.digests if self.digests is not None and self.digests.request is request else None
        diagnosis = exchange.cache.diagnosis if exchange.cache is not None else None
        return self._shared.turns.note(self._caller, request, usage, destination, made=made, diagnosis=diagnosis)

    async def _receive(self, incoming: Incoming) -> Step[HttpDestination]:
        exchange = self.exchange
        # To find out what kind of answer it is, the last turn of the request is read again, and may be large.
        if self.work.is_large:
            reading = await self._tell(exchange.head, incoming.status, incoming.headers)
        else:
            reading = exchange.head(incoming.status, incoming.headers)
        if reading is _PIECES:
            return await self._receive_opening(incoming)
        body = await incoming.read(self._shared.limits.answer) if reading is _WHOLE else await error_body(incoming)
        if len(body) > LARGE:
            self.work.is_large = True
        return await self._tell(self._take_body, body) if self.work.is_large else self._take_body(body)

    async def _receive_opening(self, incoming: Incoming) -> Step[HttpDestination]:
        """A stream as far as nothing of it is for the client. Its head waits for more, but not for long: a client whose
        stream has begun is shown that it lives."""
        exchange, timer, late = self.exchange, None, False
        try:
            while True:
                try:
                    chunk = await anext(incoming, None)
                except Nudged:
                    late, chunk = True, b""
                size = len(chunk or b"")
                self._held += size
                self._seen += size
                step = await self._read(self._seen if chunk is None else self._held, exchange.piece, chunk, late=late)
                if step is not None:
                    self._held = 0
                    return step
                timer = timer or asyncio.get_running_loop().call_later(HELD_SECONDS, incoming.nudge)
        finally:
            if timer is not None:
                timer.cancel()

    def _take_body(self, body: bytes) -> Step[HttpDestination]:
        """The body of an answer, unless it holds too much."""
        limits, size = self._shared.limits, len(body)
        if size > limits.escapes and count_escapes(body, limits.escapes) > limits.escapes:
            return self.exchange.failed(Failure(FailureKind.ANSWER_TOO_LARGE, TOO_MANY_ESCAPES, 502))
        if size > limits.values and count_read_values(body, limits.values) > limits.values:
            return self.exchange.failed(Failure(FailureKind.ANSWER_TOO_LARGE, TOO_MANY_VALUES, 502))
        return self.exchange.body(body)

    def _note(self, failed: AttemptFailed[HttpDestination]) -> None:
        health, destination, failure, now = self._shared.health, failed.destination, failed.failure, perf_counter()
        failed.at = now
        health.failed(destination, failure, now)
        if failure.kind in KEY_BOUND and destination.key_count > 1:
            health.pause_key(destination, failed.key, failure, now)
        if failure.kind is FailureKind.AUTH and destination.scheme is not None:
            date = self._incoming.header("date") if self._incoming is not None else None
            self._shared.authorizers.refused(destination.scheme, date or "")
        self._shared.note_failure(self.exchange, failed)

    async def _conclude(self, end: End) -> None:
        """An answer is the provider's success, and proves what was learnt for it."""
        exchange, destination = self.exchange, self._picked
        assert destination is not None
        for learnt in exchange.learnt:
            await self._shared.memory.learn(destination, learnt, self._caller, exchange.context.id)
        if type(end) is Streaming:
            if self._shared.health.records:
                self._shared.health.began(destination)
            return
        if type(end) is StreamingAll:
            return
        if self._media is not None:
            self._media.let_go()
        if self.parts:
            return  # each has concluded its own
        if type(end) is Answered:
            await self._note_success(destination)
        else:
            self._shared.health.released(destination)

    async def _stream_ended(self) -> None:
        failed, destination = self.exchange.stream_ended(), self._picked
        if failed is not None:
            self._note(failed)
        elif destination is not None:
            await self._note_success(destination)

    async def _note_success(self, destination: HttpDestination) -> None:
        if self._shared.health.records:
            self._shared.health.succeeded(destination)
        memory, exchange = self._shared.memory, self.exchange
        state = exchange.state_to_keep()
        if state is None and destination.is_estimated and memory.wants_count(destination):
            state = exchange.count_to_keep() if len(exchange.ask.source) <= LARGE else None
        if state is not None:
            await memory.keep(self._caller, state)

    async def _abandon(self) -> None:
        if self._picked is not None:
            self._shared.health.released(self._picked)
        if self._media is not None:
            self._media.let_go()
        if self._side_by_side is not None:
            await self._side_by_side.stop()
        await self._close()

    async def _close(self) -> None:
        if self._incoming is not None:
            await self._incoming.close()
