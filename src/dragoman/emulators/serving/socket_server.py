"""A WebSocket of an emulated provider: its handshake, its frames, lanes side by side, and faults on demand."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import orjson
from websockets.frames import Frame, Opcode
from websockets.http11 import Request
from websockets.protocol import State
from websockets.server import ServerProtocol

from dragoman.emulators.emulator_core import EmulatorCore, PlannedResponse
from dragoman.emulators.openai_responses import socket_mode
from dragoman.emulators.provider import ServesSockets

MAX_MESSAGE = 16 << 20  # a larger one closes the socket with 1009; measured in August 2026
_CHUNK = 1 << 16
_HANDSHAKE = ("host", "upgrade", "connection", "sec-websocket-key", "sec-websocket-version")


class ClientSocket:
    """The socket of one client."""

    def __init__(
        self, core: EmulatorCore, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, seconds: float
    ) -> None:
        self._core = core
        self._reader = reader
        self._writer = writer
        self._seconds = seconds
        self._wire = ServerProtocol(max_size=MAX_MESSAGE)
        self._mode = socket_mode.SocketMode()  # until the path is known
        self._waiting: dict[str | None, deque[socket_mode.EmulatedTurn]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, path: str, headers: dict[str, str], rest: bytes) -> None:
        """Answer messages until either side closes."""
        if not await self._open(headers):
            return
        self._path, self._headers = path, headers
        self._mode = socket_mode.SocketMode(self._lanes(path))
        try:
            async with asyncio.timeout(self._seconds):
                async for message in self._messages(rest):
                    await self._take(message)
        except TimeoutError:
            error = {"type": "invalid_request_error", "code": "websocket_connection_limit_reached", "param": None}
            await self._say(socket_mode.error_message(400, {**error, "message": socket_mode.OLD_CONNECTION}, None))
            self._wire.send_close(1000)
            await self._flush()
        finally:
            for task in self._tasks:
                task.cancel()

    def _lanes(self, path: str) -> bool:
        provider = self._core.provider
        return isinstance(provider, ServesSockets) and provider.has_lanes(path)

    async def _open(self, headers: dict[str, str]) -> bool:
        lines = "".join(f"{name}: {headers[name]}\r\n" for name in _HANDSHAKE if name in headers)
        self._wire.receive_data(f"GET / HTTP/1.1\r\n{lines}\r\n".encode("latin-1"))
        (asked,) = [event for event in self._wire.events_received() if isinstance(event, Request)]
        self._wire.send_response(self._wire.accept(asked))
        await self._flush()
        return self._wire.state is State.OPEN

    async def _messages(self, rest: bytes) -> AsyncIterator[str | bytes]:
        pieces: list[bytes] = []
        is_text = True
        data = rest
        while True:
            if data:
                self._wire.receive_data(data)
            for event in self._wire.events_received():
                if isinstance(event, Frame) and event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                    is_text = event.opcode is Opcode.TEXT if event.opcode is not Opcode.CONT else is_text
                    pieces.append(bytes(event.data))
                    if event.fin:
                        whole, pieces = b"".join(pieces), []
                        yield whole.decode("utf-8", "replace") if is_text else whole
            if not await self._flush():
                return
            data = await self._reader.read(_CHUNK)
            if not data:
                return

    async def _flush(self) -> bool:
        """Send what the protocol has to say. False if that was its last word."""
        pieces = self._wire.data_to_send()
        self._writer.write(b"".join(pieces))
        await self._writer.drain()
        return b"" not in pieces

    async def _say(self, message: bytes) -> None:
        if self._wire.state is State.OPEN:
            self._wire.send_text(message)
            await self._flush()

    async def _take(self, message: str | bytes) -> None:
        try:
            given = self._mode.parse(message)
        except socket_mode.SocketRefusal as refusal:
            await self._say(refusal.message)
            return
        if not isinstance(given, socket_mode.EmulatedTurn):
            await self._say(self._mode.steer(given))
            return
        waiting = self._waiting.get(given.lane)
        if waiting is not None:
            waiting.append(given)
            return
        self._waiting[given.lane] = deque([given])
        task = asyncio.get_running_loop().create_task(self._work(given.lane))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _work(self, lane: str | None) -> None:
        """Answer the turns of a lane in their order."""
        waiting = self._waiting[lane]
        with suppress(ConnectionError):
            while waiting:
                turn = waiting.popleft()
                try:
                    await self._answer(turn)
                except socket_mode.SocketRefusal as refusal:
                    await self._say(refusal.message)
                messages, successor = self._mode.end(turn)
                for message in messages:
                    await self._say(message)
                if successor is not None:
                    waiting.appendleft(successor)
            del self._waiting[lane]

    async def _answer(self, turn: socket_mode.EmulatedTurn) -> None:
        provider = self._core.provider
        if turn.previous and isinstance(provider, ServesSockets) and (why := provider.check_continued(turn.body)):
            raise socket_mode.SocketRefusal(why, "invalid-argument", lane=turn.lane)
        raw = self._mode.begin(turn)
        planned = self._core.respond("POST", self._path, {}, self._headers, raw, generates=turn.generates)
        if planned.frames is None:
            self._mode.fail(turn)
            body = orjson.loads(planned.body)
            error = body.get("error")
            shown = {"code": body.get("code"), "message": error} if isinstance(error, str) else error
            headers = {"headers": planned.headers} if planned.headers else {}
            await self._say(socket_mode.error_message(planned.status, {**shown, **headers}, turn.lane))
            return
        await self._send(turn, planned)

    async def _send(self, turn: socket_mode.EmulatedTurn, planned: PlannedResponse) -> None:
        fault = planned.fault
        frames = iter(planned.frames or ())
        for number, frame in enumerate(frames):
            if fault is not None and fault.name == "slow":
                await asyncio.sleep(fault.every)
            elif fault is not None and number >= fault.after:
                if fault.name == "stall":
                    await asyncio.sleep(fault.seconds)
                if fault.name == "stream-error":
                    for event in _events(planned.error_frame):
                        await self._say(self._mode.event(turn, event))
                    return
                self._writer.transport.abort()
                return
            for event in _events(frame):
                await self._say(self._mode.event(turn, event))
            await asyncio.sleep(0)


def _events(frame: bytes) -> list[dict[str, Any]]:
    """The events in bytes of a stream, without their names."""
    lines = [line.removeprefix(b"data: ") for line in frame.splitlines() if line.startswith(b"data: ")]
    events = [orjson.loads(line) for line in lines if line != b"[DONE]"]
    return [{**one, "status": 503} if one["type"] == "error" else one for one in events]
