"""One WebSocket of a client: its lanes, their turns in order, and its end.

Each turn goes through the same exchange as a request that is posted: key, limits and budget are looked at anew. Turns
of a lane follow each other, lanes run side by side.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import Any

import msgspec

from dragoman.config.schema.log import LogLevel
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.contracts.sockets import SocketAnswer, SocketFrames, SocketTurn, Steering
from dragoman.dialects.contracts.stored_answers import StoredTurn
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.registry import dialect as dialect_of
from dragoman.engine.answer.client_failures import render_failure
from dragoman.errors import DragomanError
from dragoman.gateway.callers.caller import Refused, begin_work
from dragoman.gateway.callers.identification import identify
from dragoman.gateway.endpoints.generate import GOING_AWAY, generate, is_ending
from dragoman.gateway.http.client_errors import as_failure, tell_fault
from dragoman.gateway.http.inbound import ClientGone, Message
from dragoman.gateway.http.outbound import Outbound
from dragoman.gateway.http.socket_protocol import SHUTDOWN
from dragoman.gateway.served_request import ServedRequest
from dragoman.gateway.sockets.open_sockets import RememberedAnswer
from dragoman.gateway.sockets.socket_turn import TurnInbound, TurnSender, prepare
from dragoman.upstream.heavy_work import RequestWork
from dragoman.upstream.socket_line import SocketLine
from dragoman.wire.json_size import LARGE, is_heavy

LANES = 8
"""Conversations that may be answered at a time."""
MOST_WAITING = 16
"""Turns of a socket that may wait for those before them."""
MOST_STEERS = 8
"""Inputs that may wait for the end of one answer."""
IDLE_SECONDS = 600.0
LIFE_SECONDS = 3600.0
GOING_AWAY_CODE, NOT_ALLOWED, TOO_LARGE = 1001, 1008, 1009
_AGAIN = "Create a new websocket connection to continue."


def _over(why: str) -> Failure:
    """The vendor's own code for a socket that is over: on it clients open another one and send everything again."""
    what = f"Responses websocket {why}. {_AGAIN}"
    return Failure(FailureKind.BAD_REQUEST, what, 400, "websocket_connection_limit_reached")


OLD = _over("connection limit reached (60 minutes)")
IDLE = _over("was idle for 10 minutes")


class Lane:
    """Turns that follow each other."""

    def __init__(self, name: str | None) -> None:
        self.name = name
        self.waiting: deque[SocketTurn] = deque()
        self.task: asyncio.Task[None] | None = None
        self.turn: SocketTurn | None = None
        """The turn that is answered."""
        self.sender: TurnSender | None = None
        self.steers: list[tuple[str, Steering]] = []
        """Accepted input with its ids."""
        self.line = SocketLine()
        """To a provider that has sockets."""
        self.awaiting = ""
        """The answer that waits for results of tools. The input goes in front of them."""


class SocketSession:
    """One socket, from its opening to its end."""

    def __init__(self, request: ServedRequest, dialect: str) -> None:
        services = request.services
        frames = dialect_of(dialect).socket_frames
        assert frames is not None  # its endpoint is in the list of the dialect
        self.key = request.caller.name
        self._services = services
        self._inbound = request.inbound
        self._headers = frames.posted_headers(request.inbound.headers)
        self._dialect = dialect
        self._frames: SocketFrames = frames
        self._send = request.outbound.send
        self._id = request.outbound.id
        self._lanes: dict[str | None, Lane] = {}
        self._clients = services.live.clients
        self._closed = asyncio.Event()
        self._ending: Failure | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._opened = self._last = services.clocks.steady()
        self._turns = 0

    async def run(self) -> None:
        """Take messages until the socket is closed."""
        services = self._services
        services.conversations.sockets.add(self)
        event = (self._inbound.scope.get("extensions") or {}).get(SHUTDOWN)
        if event is not None:
            self._start(self._wait_for_shutdown(event))
        try:
            while (message := await self._inbound.receive())["type"] != "websocket.disconnect":
                self._last = services.clocks.steady()
                await self._take(message)
        except asyncio.CancelledError:
            if not is_ending(services.traffic):
                raise
            await self._cut()
        finally:
            self._closed.set()
            services.conversations.sockets.remove(self)
            await self._end_tasks()
            line = {"event": "socket", "id": self._id, "key": self.key, "turns": self._turns}
            services.records.log(LogLevel.INFO, {**line, "seconds": round(services.clocks.steady() - self._opened, 1)})

    async def _end_tasks(self) -> None:
        """The client has gone: each turn notices it by itself, and what it has spent is written down."""
        for task in self._tasks:
            task.cancel()
        running = [lane.task for lane in self._lanes.values() if lane.task is not None]
        if running:
            await asyncio.wait(running)
        for lane in self._lanes.values():
            await lane.line.close()

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # The end.

    def look(self) -> None:
        """End the socket if it is too old or has been idle for too long, or its key is not good any more."""
        self._services.conversations.follow_forgets()
        if self._ending is not None:
            return
        now = self._services.clocks.steady()
        if self._services.live.clients is not self._clients:
            self._clients = self._services.live.clients
            try:
                identify(self._services.live, self._inbound)
            except Refused as refused:
                self._end(refused.failure, NOT_ALLOWED)
                return
        if now - self._opened >= LIFE_SECONDS:
            self._end(OLD, GOING_AWAY_CODE)
        elif now - self._last >= IDLE_SECONDS and not self.is_busy:
            self._end(IDLE, GOING_AWAY_CODE)

    @property
    def is_busy(self) -> bool:
        """Whether a turn is under way."""
        return any(lane.task is not None for lane in self._lanes.values())

    async def _wait_for_shutdown(self, event: asyncio.Event) -> None:
        await event.wait()
        self._end(GOING_AWAY, GOING_AWAY_CODE)

    def _end(self, why: Failure, code: int) -> None:
        """Begin no more turns. Those under way end first; then the client is told why, and the socket closes."""
        if self._ending is None:
            self._ending = why
            self._start(self._close(code))

    async def _close(self, code: int) -> None:
        running = [lane.task for lane in self._lanes.values() if lane.task is not None]
        if running:
            await asyncio.wait(running)
        if self._ending is not None and self._ending is not GOING_AWAY:
            await self._refuse(self._ending, None)
        await self._send({"type": "websocket.close", "code": code})

    async def _cut(self) -> None:
        """The server ends now: each turn under way gets an error as its last event."""
        self._ending = GOING_AWAY
        running = [lane.task for lane in self._lanes.values() if lane.task is not None]
        for task in running:
            task.cancel("the gateway is shutting down")
        if running:
            await asyncio.wait(running)
        await self._send({"type": "websocket.close", "code": GOING_AWAY_CODE})

    # Messages.

    async def _say(self, message: bytes) -> None:
        await self._send({"type": "websocket.send", "text": message.decode()})

    async def _refuse(self, failure: Failure, lane: str | None) -> None:
        error = render_failure(self._dialect, failure, AnswerContext(id=self._id))
        await self._say(self._frames.render_error(error.status, error.headers, error.body, lane))

    async def _take(self, message: Message) -> None:
        text = message.get("text")
        if text is None:
            await self._refuse(Failure(FailureKind.BAD_REQUEST, "a message must be a text, of JSON", 400), None)
            return
        data = text.encode()
        limit = self._services.live.config.server.max_body
        if len(data) > limit:
            what = f"the message has {len(data)} bytes; the limit is {limit}"
            await self._refuse(Failure(FailureKind.TOO_LARGE, what, 413), None)
            await self._send({"type": "websocket.close", "code": TOO_LARGE})
            return
        try:
            caller = identify(self._services.live, self._inbound)
            work = begin_work(self._services.dispatcher.heavy, caller.name, data)
            parse = partial(self._frames.parse, data)
            parsed = await work.run(parse) if work.is_large else parse()
        except (Refused, DragomanError) as fault:
            failure = as_failure(fault)
            await self._refuse(failure, await self._work_on(data).run(partial(self._frames.find_lane, data)))
            if failure.kind is FailureKind.AUTH:
                await self._send({"type": "websocket.close", "code": NOT_ALLOWED})
            return
        if isinstance(parsed, Steering):
            await self._steer(parsed)
        else:
            await self._queue(parsed)

    async def _queue(self, turn: SocketTurn) -> None:
        """Let the turn wait for those before it in its lane."""
        if self._ending is not None:
            await self._refuse(self._ending, turn.lane)
            return
        lane = self._lanes.get(turn.lane) or await self._open_lane(turn.lane)
        if lane is None:
            await self._refuse(_full(f"{LANES} streams of this socket are being answered"), turn.lane)
        elif lane.task is None:
            lane.waiting.append(turn)
            lane.task = asyncio.get_running_loop().create_task(self._work(lane))
        elif self._has_room():
            lane.waiting.append(turn)
        else:
            await self._refuse(_full("too much waits on this socket for the turns before it"), turn.lane)

    def _has_room(self) -> bool:
        """Whether one more turn may wait."""
        waiting = [len(turn.body) for lane in self._lanes.values() for turn in lane.waiting]
        return len(waiting) < MOST_WAITING and sum(waiting) <= self._services.live.config.server.max_body

    async def _open_lane(self, name: str | None) -> Lane | None:
        """A new lane, in place of an idle one if there are as many as there may be; None if all are busy."""
        if len(self._lanes) >= LANES:
            idle = next((lane for lane in self._lanes.values() if lane.task is None), None)
            if idle is None:
                return None
            del self._lanes[idle.name]
            idle.line.abort()
            self._services.conversations.sockets.memory.drop(self, idle.name)
            await self._return_all(idle, "another stream took the place of this one")
        lane = self._lanes[name] = Lane(name)
        return lane

    # Turns.

    async def _work(self, lane: Lane) -> None:
        """Answer the turns of a lane, one after the other."""
        try:
            while lane.waiting and not self._closed.is_set():
                turn = lane.waiting.popleft()
                if self._ending is not None:
                    await self._refuse(self._ending, lane.name)
                    continue
                if lane.steers:
                    turn = await self._put_pending(lane, turn)
                await self._answer(lane, turn)
                if lane.steers:
                    await self._follow(lane, turn)
        finally:
            self._last = self._services.clocks.steady()
            lane.task = lane.turn = lane.sender = None

    async def _answer(self, lane: Lane, turn: SocketTurn) -> None:
        services = self._services
        self._turns += 1
        work = self._work_on(turn.body)
        sender = TurnSender(self._frames, turn, self._say, partial(self._remember, turn, work), work)
        lane.turn, lane.sender = turn, sender
        outbound = Outbound(sender.send, next(services.traffic.ids))
        kind = ("continued" if turn.previous else "new") if turn.generates else "prepared"
        inbound = TurnInbound(
            self._inbound,
            self._headers,
            kind,
            closed=self._closed,
            make_body=partial(self._make_body, turn),
            line=lane.line,
        )
        try:
            request = ServedRequest(services, inbound, outbound, identify(services.live, self._inbound))
            endpoint = generate if turn.generates else prepare
            await endpoint(request, dialect=self._dialect)
        except ClientGone:
            return
        except Exception as fault:
            try:
                await tell_fault(services.records, outbound, self._dialect, fault)
            except Exception:  # the answer has begun
                what = f"the gateway itself failed; its log tells more under {outbound.id}"
                await self._refuse(Failure(FailureKind.SERVER, what, 500), lane.name)

    async def _make_body(self, turn: SocketTurn, limit: int) -> bytes:
        """The body of a turn, with the turns that it continues unless somebody else has them. Raises Refused."""
        self._services.conversations.follow_forgets()
        kept = (
            self._services.conversations.sockets.memory.find(self, turn.lane, turn.previous) if turn.previous else None
        )
        if not turn.previous or (kept is not None and kept.is_stored):
            return turn.body
        if kept is None:
            if not await self._may_be_elsewhere(turn):
                raise Refused(_unknown(turn.previous))
            return turn.body
        size = kept.size + len(turn.body)
        if size > limit:
            what = "the conversation is longer than one request may be; begin a new one"
            raise Refused(Failure(FailureKind.TOO_LARGE, what, 413, param="previous_response_id"))
        work = begin_work(self._services.dispatcher.heavy, self.key, turn.body)
        work.is_large = work.is_large or size > LARGE
        return await work.run(partial(self._frames.continued, turn, kept.turns, kept.before))

    async def _may_be_elsewhere(self, turn: SocketTurn) -> bool:
        """Whether an answer that this socket does not know may be stored: here, or by a provider of this dialect."""
        services = self._services
        stored = dialect_of(self._dialect).stored_answers
        if stored is None or services.live.config.state.enabled:
            return stored is not None
        question = await begin_work(services.dispatcher.heavy, self.key, turn.body).run(
            partial(stored.parse_question, turn.body, None)
        )
        model = (question.model if question is not None else "") or services.live.config.default_model
        route = services.live.routes.find(model, self._dialect) if model else None
        return route is not None and route.first.target.dialect == self._dialect

    def _work_on(self, body: bytes) -> RequestWork:
        """Where work on a text is done that was let in before."""
        return RequestWork(self._services.dispatcher.heavy, self.key, is_heavy(body))

    async def _remember(self, turn: SocketTurn, work: RequestWork, answer: SocketAnswer) -> None:
        memory, stored = self._services.conversations.sockets.memory, dialect_of(self._dialect).stored_answers
        question = await work.run(partial(stored.parse_question, turn.body, None)) if stored is not None else None
        kept = memory.find(self, turn.lane, turn.previous) if turn.previous else None
        keeps = question is not None and question.keeps and turn.generates
        own = StoredTurn(turn.items, b'{"output":%b}' % answer.output)
        memory.put(
            self,
            turn.lane,
            RememberedAnswer(
                answer.id,
                (*(kept.turns if kept is not None else ()), own),
                kept.before if kept is not None else turn.previous,
                keeps and answer.is_stored and self._services.live.config.state.enabled,
                (kept.size if kept is not None else 0) + len(own.items) + len(own.response),
            ),
        )

    # Steering.

    async def _steer(self, steering: Steering) -> None:
        """Take input for the answer under way that it names: its successor begins when that answer has ended."""
        lane = next((one for one in self._lanes.values() if _answer_id(one) == steering.previous), None)
        code, what = self._steering_fault(lane, steering)
        if lane is None or code:
            await self._return(steering, code, what, lane)
            return
        id = f"steer_{next(self._services.traffic.ids).removeprefix('req_')}"
        lane.steers.append((id, steering))
        event = {"steer": {"id": id, "previous_response_id": steering.previous}}
        await self._say(self._frames.render_steering("accepted", event, lane.name))

    def _steering_fault(self, lane: Lane | None, steering: Steering) -> tuple[str, str]:
        """The code and words of what is wrong; empty if nothing is."""
        if steering.fault:
            return "invalid_input", steering.fault
        if lane is None:
            if self._services.conversations.sockets.memory.find(self, None, steering.previous) is not None:
                return "response_already_completed", "the response has completed; continue it with response.create"
            return "response_not_found", f"no response with id '{steering.previous[:200]}' runs on this socket"
        if lane.sender is not None and lane.sender.answer.complete:
            return "response_already_completed", "the response has completed; continue it with response.create"
        if lane.turn is not None and not lane.turn.steerable:
            return "steering_not_supported", "a response with a conversation or compaction takes no further input"
        if len(lane.steers) >= MOST_STEERS:
            return "too_many_pending_steers", f"{MOST_STEERS} inputs wait for the end of the response"
        return "", ""

    async def _return(self, steering: Steering, code: str, what: str, lane: Lane | None, id: str = "") -> None:
        """Give input back that cannot be used."""
        given = {"previous_response_id": steering.previous, "input": msgspec.Raw(steering.input)}
        error = {"type": "invalid_request_error", "code": code, "message": what}
        event = {"error": error, "steer": given | ({"id": id} if id else {})}
        await self._say(self._frames.render_steering("failed", event, lane.name if lane is not None else None))

    async def _return_all(self, lane: Lane, what: str) -> None:
        steers, lane.steers = lane.steers, []
        for id, steering in steers:
            await self._return(steering, "successor_creation_failed", what, lane, id)

    async def _put_pending(self, lane: Lane, turn: SocketTurn) -> SocketTurn:
        """The turn with the input that waits, if it brings the results that this waits for."""
        if turn.previous != lane.awaiting:
            await self._return_all(lane, "another response was asked for")
            return turn
        steers, lane.steers = [one for _, one in lane.steers], []
        follow = partial(self._frames.successor, turn, lane.awaiting, steers)
        return await self._work_on(turn.body).run(follow)

    async def _follow(self, lane: Lane, turn: SocketTurn) -> None:
        """The answer has ended: its input becomes the next turn, or waits for the results that the answer asks for."""
        sender = lane.sender
        assert sender is not None
        if not sender.answer.complete or self._ending is not None:
            await self._return_all(lane, "the response did not complete")
            return
        output = sender.answer.output
        required = await self._work_on(output).run(partial(self._frames.required_input, output))
        if required == b"[]":
            steers, lane.steers = lane.steers, []
            follow = partial(self._frames.successor, turn, sender.answer.id, [one for _, one in steers])
            lane.waiting.appendleft(await self._work_on(turn.body).run(follow))
            return
        lane.awaiting = sender.answer.id
        for id, steering in lane.steers:
            event = {
                "reason": "waiting_for_required_input",
                "required_input": msgspec.Raw(required),
                "steer": {"id": id, "previous_response_id": steering.previous},
            }
            await self._say(self._frames.render_steering("pending", event, lane.name))


def _answer_id(lane: Lane) -> str | None:
    """Of the answer under way, once it has begun."""
    return lane.sender.answer.id or None if lane.sender is not None else None


def _full(why: str) -> Failure:
    return Failure(FailureKind.RATE_LIMIT, f"{why}; wait for one to end", 429, retry_after=1.0)


def _unknown(id: str) -> Failure:
    what = f"Previous response with id '{id[:200]}' not found."
    return Failure(FailureKind.BAD_REQUEST, what, 400, "previous_response_not_found", param="previous_response_id")
