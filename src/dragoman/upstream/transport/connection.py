"""One socket, one exchange at a time.

There is no task and no stream object here: the parser's callbacks fill the `InFlight`, one future wakes its reader,
and one lazy alarm per socket serves every timeout. The alarm is only looked at when it rings; moving a deadline
further away, which is what every request does, costs nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from math import inf
from typing import Protocol, cast

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from dragoman.upstream.transport.failures import BrokenResponse, Phase, TimedOut, TooLarge, TransportClosed
from dragoman.upstream.transport.framing import Framing, lower_name
from dragoman.upstream.transport.in_flight import InFlight
from dragoman.upstream.transport.limits import Limits

_JOINED = 65536


class Keeper(Protocol):
    """Whom a connection belongs to: its pool."""

    def take_back(self, connection: Connection) -> None:
        """It is free for the next request."""

    def lose(self, connection: Connection) -> None:
        """It will serve no more, and its place can be given away."""

    def opened(self, connection: Connection) -> None:
        """Its socket is open."""

    def closed(self, connection: Connection) -> None:
        """Its socket is closed."""


class Connection(asyncio.Protocol):
    """A socket to one origin."""

    _transport: asyncio.Transport

    def __init__(self, origin: str, limits: Limits, keeper: Keeper) -> None:
        self.origin = origin
        self.loop = asyncio.get_running_loop()
        self.paused = False
        self.used = False
        self._limits = limits
        self._keeper = keeper
        self._counted = False
        self._exchange: InFlight | None = None
        self._pump: asyncio.Task[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = self._due = inf
        self._phase = Phase.IDLE
        self._patience = limits.idle_seconds
        self._parser = HttpResponseParser(self)
        self._forget()

    def _forget(self) -> None:
        """Be ready for the next answer."""
        self._headers: list[tuple[str, str]] | None = []
        self._heard = self._overhead = 0
        self._interim = self._complete = self._until_eof = self._poisoned = False
        self._keep = True
        self._refusal: Exception | None = None

    # What the pool and the transport ask for

    @property
    def usable(self) -> bool:
        """Open, as far as this side can tell."""
        return self._counted and not self._transport.is_closing()

    def join(self) -> bool:
        """Begin to count as one of the pool's; False if the socket has died on the way there."""
        self._counted = not self._transport.is_closing()
        return self._counted

    def begin(self, exchange: InFlight, head: bytes, body: bytes | AsyncIterator[bytes]) -> asyncio.Future[None]:
        """Send a request; the future is done when its answer has a head, or has failed."""
        waiter = exchange.waiter = self.loop.create_future()
        exchange.reused = self.used
        if not self.usable:
            self._exchange = exchange
            self._lose(None)
            return waiter
        exchange.connection = self
        self._exchange = exchange
        self.used = True
        if isinstance(body, bytes):
            self._write(head, body)
            self.watch(exchange, Phase.FIRST_BYTE, exchange.timeouts.first_byte)
        else:
            self._transport.write(head)
            self.watch(exchange, Phase.SEND, None)
            self._pump = self.loop.create_task(self._send_body(exchange, body))
        return waiter

    def watch(self, exchange: InFlight, phase: Phase, seconds: float | None) -> None:
        """From now on `phase` may take `seconds`, within what the whole exchange may take."""
        due = inf if seconds is None else self.loop.time() + seconds
        if due >= exchange.ends_at:
            phase, due = Phase.TOTAL, exchange.ends_at
        self._phase, self._due = phase, due
        if due < self._alarm_at:
            self._set_alarm(due)

    def park(self) -> None:
        """Wait in the pool, for as long as both ends want to."""
        self._due = self.loop.time() + self._patience
        if self._due < self._alarm_at:
            self._set_alarm(self._due)

    def drop(self, failure: Exception | None = None) -> None:
        """Cut the connection at once, and with it an exchange that is under way."""
        reason = failure or TransportClosed(self.origin, "the exchange was given up", "Send the request again")
        self._part(reason)
        self._leave()
        self._transport.abort()

    def retire(self) -> None:
        """Close an idle connection in good order."""
        self._leave()
        self._transport.close()

    def resume(self) -> None:
        """The reader has caught up: read on."""
        self.paused = False
        if not self._transport.is_closing():
            self._transport.resume_reading()

    # What asyncio tells us

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are no subclass
        self._keeper.opened(self)

    def data_received(self, data: bytes) -> None:
        exchange = self._exchange
        if exchange is None:  # nobody asked: whatever this is, it must not become somebody's answer
            self.drop()
            return
        self._heard += len(data)
        size = exchange.size
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if not self._complete:
                self.drop(self._refusal or self._malformed(error))
                return
            self._poisoned = True
        if self._complete:
            self._finish(exchange)
        elif exchange.size == size:
            self._grow(len(data))
        else:
            self._overhead = 0
            if exchange.size > self._limits.buffer and not self.paused:
                self.paused = True
                self._transport.pause_reading()
        if exchange.status == 0:
            return
        if exchange.waiter is not None and (exchange.chunks or exchange.complete or not exchange.headed):
            exchange.headed = True
            exchange.wake()

    def eof_received(self) -> None:
        exchange = self._exchange
        if exchange is not None and self._until_eof:
            self._complete = True
            self._finish(exchange)
            exchange.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose(exc)
        self._leave()
        self._quiet_alarm()
        self.resume_writing()
        self._keeper.closed(self)

    def pause_writing(self) -> None:
        self._writable = self.loop.create_future()

    def resume_writing(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    # What the parser tells us

    def on_message_begin(self) -> None:
        if self._complete:  # a second answer that nobody asked for, glued to the first
            self._poisoned = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._headers is not None:  # trailers are not kept
            self._headers.append((lower_name(name), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        exchange, headers = self._exchange, self._headers
        if self._complete or exchange is None or headers is None:
            return
        status = self._parser.get_status_code()
        if status < 200:
            self._interim = True
            headers.clear()
            if status == 101:
                raise self._refuse(self._broken("the server switches to another protocol unasked"))
            return
        # Only what came in one piece with its body has to be counted here; `_grow` sees the others.
        if self._heard > self._limits.max_headers and _size(headers) > self._limits.max_headers:
            raise self._refuse(self._head_too_large())
        framing = Framing.of(headers, self._parser.get_http_version())
        if framing.fault:
            raise self._refuse(self._broken(framing.fault))
        self._accept(exchange, status, headers, framing)

    def on_body(self, chunk: bytes) -> None:
        exchange = self._exchange
        if self._complete or exchange is None:
            self._poisoned = True
            return
        exchange.chunks.append(chunk)
        exchange.size += len(chunk)

    def on_message_complete(self) -> None:
        if self._interim:
            self._interim = False
            return
        self._complete = True

    # The pieces of the above

    def _accept(self, exchange: InFlight, status: int, headers: list[tuple[str, str]], framing: Framing) -> None:
        exchange.status, exchange.headers = status, headers
        exchange.encoding, exchange.length = framing.encoding, framing.length
        self._headers = None
        self._keep = self._parser.should_keep_alive()
        if framing.patience is not None:
            self._patience = min(self._limits.idle_seconds, framing.patience)
        if exchange.bodiless or status in (204, 304):
            self._complete = True
            # The parser cannot be told that no body follows; it is replaced, as it now waits for one.
            exchange.bodiless = True
        else:
            self._until_eof = framing.until_eof

    def _finish(self, exchange: InFlight) -> None:
        """The answer is whole: the connection goes back to its pool, unless something speaks against that."""
        exchange.complete = True
        exchange.connection = self._exchange = None
        transport = self._transport
        clean = self._keep and not self._poisoned and not self._until_eof and self._pump is None
        if not clean or transport.is_closing() or transport.get_write_buffer_size():
            self.drop()
            return
        if exchange.bodiless:
            self._parser = HttpResponseParser(self)
        if self.paused:
            self.resume()
        self._forget()
        self._keeper.take_back(self)

    def _grow(self, size: int) -> None:
        """Bytes came that are no body. An endless header, trailer or chunk extension is made of these alone."""
        self._overhead += size
        if self._overhead > self._limits.max_headers:
            self.drop(self._head_too_large())

    def _lose(self, exc: Exception | None) -> None:
        exchange = self._exchange
        if exchange is None:
            return
        if self._until_eof and exc is None:
            exchange.complete = True
            self._part(None)
            return
        exchange.stale = exchange.reused and not self._heard
        how = "the connection was reset" if exc is not None else "the server hung up"
        when = "before it answered" if exchange.status == 0 else "in the middle of its answer"
        self._part(self._broken(f"{how} {when}"))

    def _part(self, failure: BaseException | None) -> None:
        """Take leave of the exchange under way."""
        exchange, self._exchange = self._exchange, None
        if self._pump is not None:
            self._pump.cancel()
            self._pump = None
        if exchange is None:
            return
        exchange.connection = None
        exchange.failure = failure
        exchange.wake()

    def _leave(self) -> None:
        if self._counted:
            self._counted = False
            self._keeper.lose(self)

    def _write(self, head: bytes, body: bytes) -> None:
        if len(body) <= _JOINED:
            self._transport.write(head + body)
        else:
            self._transport.write(head)
            self._transport.write(body)

    async def _send_body(self, exchange: InFlight, body: AsyncIterator[bytes]) -> None:
        try:
            async for piece in body:
                if piece:
                    self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    await self._drained(exchange)
            self._transport.write(b"0\r\n\r\n")
            self._pump = None
            if exchange.status == 0:
                self.watch(exchange, Phase.FIRST_BYTE, exchange.timeouts.first_byte)
        except Exception as error:
            self._pump = None
            self.drop(error)
        finally:
            await _closed(body)

    async def _drained(self, exchange: InFlight) -> None:
        if self._writable is None:
            return
        answering = exchange.status != 0
        if not answering:
            self.watch(exchange, Phase.SEND, exchange.timeouts.idle)
        await self._writable
        if not answering and exchange.status == 0:
            self.watch(exchange, Phase.SEND, None)

    def _set_alarm(self, due: float) -> None:
        self._quiet_alarm()
        self._alarm_at = due
        self._alarm = self.loop.call_at(due, self._ring)

    def _quiet_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm, self._alarm_at = None, inf

    def _ring(self) -> None:
        self._alarm, self._alarm_at = None, inf
        exchange = self._exchange
        if exchange is not None and exchange.waiter is None:  # the reader is busy elsewhere: that is its own time
            self._phase, self._due = Phase.TOTAL, exchange.ends_at
        if self._due == inf:
            return
        if self.loop.time() < self._due - 0.001:
            self._set_alarm(self._due)
        elif exchange is None:
            self.retire()
        else:
            self.drop(TimedOut(self.origin, self._phase, exchange.timeouts.of(self._phase)))

    def _refuse(self, failure: Exception) -> Exception:
        """The parser swallows what its callbacks raise; the reason is kept here."""
        self._refusal = failure
        return failure

    def _malformed(self, error: Exception) -> BrokenResponse:
        return self._broken(f"the answer is not valid HTTP/1.1 ({error or type(error).__name__})")

    def _broken(self, what: str) -> BrokenResponse:
        return BrokenResponse(self.origin, what, "Try again; if it lasts, look at the server or what stands before it")

    def _head_too_large(self) -> TooLarge:
        what = f"the answer's headers are longer than {self._limits.max_headers} bytes"
        return TooLarge(self.origin, what, "Raise limits.max_headers if the server is to be trusted")


def _size(headers: list[tuple[str, str]]) -> int:
    return sum(len(name) + len(value) + 4 for name, value in headers)


async def _closed(body: AsyncIterator[bytes]) -> None:
    close = getattr(body, "aclose", None)
    if close is not None:
        await close()
