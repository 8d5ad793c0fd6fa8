"""One turn on a WebSocket: a request as if it had been posted, and its answer as messages."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial

from dragoman.conversation.events import Ended, Started, Stopped, Used
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.contracts.sockets import SocketAnswer, SocketFrames, SocketTurn
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.registry import dialect as dialect_of
from dragoman.engine.compile.request_limits import parse_ask
from dragoman.errors import DragomanError
from dragoman.gateway.callers.caller import Refused, Slot
from dragoman.gateway.callers.key_limits import admit
from dragoman.gateway.http.client_errors import as_failure
from dragoman.gateway.http.inbound import Inbound, Message, Scope
from dragoman.gateway.models.model_names import find_lead
from dragoman.gateway.records.recording import record_request
from dragoman.gateway.records.request_record import RequestRecord
from dragoman.gateway.served_request import ServedRequest
from dragoman.upstream.heavy_work import RequestWork
from dragoman.upstream.socket_line import SocketLine
from dragoman.wire.json_size import LARGE
from dragoman.wire.sse import SseDecoder

_OF_THE_BODY = frozenset({"content-type", "content-length"})


class TurnInbound(Inbound):
    """The request of a turn. Its body is made when it is asked for: the turns before it must have ended."""

    __slots__ = ("_make_body", "line", "turn")

    def __init__(
        self,
        opened: Inbound,
        headers: Mapping[str, str],
        turn: str,
        *,
        closed: asyncio.Event,
        make_body: MakeBody,
        line: SocketLine,
    ) -> None:
        async def receive() -> Message:
            await closed.wait()
            return {"type": "http.disconnect"}

        scope: Scope = {**opened.scope, "type": "http", "method": "POST"}
        super().__init__(scope, receive, opened.path, opened.timer)
        self.headers = dict(headers)
        self.turn = turn
        self.line = line
        self._make_body = make_body

    async def body(self, limit: int, encodings: int = 2) -> bytes:
        return await self._make_body(limit)


MakeBody = Callable[[int], Awaitable[bytes]]
"""Makes the body of a turn, of so many bytes at most."""


class TurnSender:
    """Takes the answer to a turn as an ASGI server would, and says it in messages."""

    def __init__(
        self,
        frames: SocketFrames,
        turn: SocketTurn,
        say: Callable[[bytes], Awaitable[None]],
        remember: Callable[[SocketAnswer], Awaitable[None]],
        work: RequestWork,
    ) -> None:
        self.answer = frames.answer(turn)
        self.failed = False
        self._frames = frames
        self._turn = turn
        self._say = say
        self._remember = remember
        self._work = work
        self._decoder = SseDecoder(sys.maxsize)  # what comes is bounded: it is our own
        self._status = 0
        self._headers: dict[str, str] = {}
        self._body = b""
        self._remembered = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            named = {name.decode("latin-1"): value.decode("latin-1") for name, value in message["headers"]}
            self._status = message["status"]
            self._headers = {name: value for name, value in named.items() if name not in _OF_THE_BODY}
            return
        body, last = message.get("body", b""), not message.get("more_body", False)
        if self._status != 200:
            self._body += body
            if last:
                self.failed = True
                error = self._frames.render_error(self._status, self._headers, self._body, self._turn.lane)
                await self._say(error)
            return
        read, size = partial(self._read, body, last), self._decoder.held + len(body)
        messages = read() if size <= LARGE else await self._work.run_to_end(read)
        if self.answer.complete and not self._remembered:  # before its end is told: the next turn may come at once
            self._remembered = True
            await self._remember(self.answer)
        for one in messages:
            await self._say(one)

    def _read(self, body: bytes, last: bool) -> list[bytes]:
        """The messages for a piece of the answer."""
        frames = [*self._decoder.feed(body), *(self._decoder.close() if last else ())]
        read = [self.answer.event(frame.event, frame.data) for frame in frames if not frame.done]
        return [message for one in (*read, self.answer.close() if last else ()) for message in one]


async def prepare(request: ServedRequest, dialect: str) -> None:
    """Answer a turn that generates nothing. It is read, its model looked up, and it counts as a request."""
    services, inbound, outbound, caller = request.services, request.inbound, request.outbound, request.caller
    record = RequestRecord(
        outbound.id, dialect, caller, time.perf_counter(), AnswerContext(id=outbound.id), socket=inbound.turn
    )
    try:
        with Slot(services.traffic, caller):
            body = await request.body()
            parse = partial(parse_ask, dialect, body, inbound.headers, services.live.config.limits)
            record.ask = ask = await request.work(body).run(parse)
            record.model = ask.model or services.live.config.default_model or ""
            find_lead(services, caller, record.model, dialect)
            if caller.limits is not None:
                await admit(services.store.limits, caller, caller.limits, 0)
        context = AnswerContext(model=record.model, created=int(time.time()), id=outbound.id, request=ask.members)
        renderer = dialect_of(dialect).answers.stream_renderer(context)
        made = renderer.render((Started(), Used(Usage()), Stopped(0, Stop.END), Ended()))
        await outbound.streamed(_once(made), [], b"", services.live.config.server.write_timeout)
    except (Refused, DragomanError) as fault:
        record.failure = as_failure(fault)
        record.status = record.failure.status
        raise
    finally:
        record_request(services.records, services.store, services.clocks, record)


async def _once(data: bytes) -> AsyncIterator[bytes]:
    yield data
