"""One socket with one request at a time.

There is no task and no stream object: the callbacks of the parser fill the `InFlight`, and one future wakes its reader.
One timer per socket serves every timeout. The deadline is only checked when the timer fires, so moving it further away,
as every request does, costs nothing.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from functools import lru_cache
from math import inf
from typing import Protocol, cast

import msgspec
from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

from dragoman.upstream.transport.failures import BrokenResponse, Phase, TimedOut, TooLarge, TransportClosed
from dragoman.upstream.transport.incoming import InFlight
from dragoman.upstream.transport.limits import TransportLimits

_JOIN_LIMIT = 65536


_VERSIONS = ("1.1", "1.0")
_KEEP_ALIVE = re.compile(r"timeout\s*=\s*(\d{1,6})", re.IGNORECASE)


@lru_cache(maxsize=1024)
def lower_name(name: bytes) -> str:
    """The name of a header in lower case. Names repeat in every answer, so the result is cached."""
    return name.decode("latin-1").lower()


class BodyFraming(msgspec.Struct, gc=False):
    """What the headers say about the body and the connection.

    The parser refuses most contradictions itself. They are checked again here, because its leniency is a build option,
    and with a wrong end one client could get the answer of another.
    """

    length: int | None = None
    encoding: str | None = None
    chunked: bool = False
    keep_alive_seconds: float | None = None
    error: str = ""
    """Set if they contradict each other."""

    @classmethod
    def parse(cls, headers: list[tuple[str, str]], version: str) -> BodyFraming:
        """Parse the headers of an answer."""
        framing = cls()
        for name, value in headers:
            if name == "content-length":
                if framing.length is not None or not (value.isascii() and value.isdigit()) or len(value) > 18:
                    framing.error = "the content-length of the answer is not a plain number, or is there twice"
                else:
                    framing.length = int(value)
            elif name == "transfer-encoding":
                if framing.chunked or value.strip().lower() != "chunked":
                    framing.error = f"the transfer-encoding of the answer is {value[:60]!r}"
                framing.chunked = True
            elif name in _PARSERS:
                _PARSERS[name](framing, value)
        if version not in _VERSIONS:
            framing.error = f"the answer claims to be HTTP/{version}"
        elif framing.chunked and (framing.length is not None or version == "1.0"):
            framing.error = "the answer is chunked although it has a length or is HTTP/1.0"
        return framing


def _parse_keep_alive(framing: BodyFraming, value: str) -> None:
    found = _KEEP_ALIVE.search(value)
    # Close a little earlier than the server, so that a request does not meet a closing connection.
    framing.keep_alive_seconds = int(found[1]) * 0.8 if found else None


def _parse_content_encoding(framing: BodyFraming, value: str) -> None:
    if value.strip().lower() not in ("", "identity"):
        framing.encoding = value if framing.encoding is None else f"{framing.encoding}, {value}"


_PARSERS = {
    "keep-alive": _parse_keep_alive,
    "content-encoding": _parse_content_encoding,
}


class ConnectionOwner(Protocol):
    """Where a connection belongs, and is told of what becomes of it."""

    def opened(self, connection: Connection) -> None: ...
    def release(self, connection: Connection) -> None: ...
    def remove(self, connection: Connection) -> None: ...
    def closed(self, connection: Connection) -> None: ...


class Connection(asyncio.Protocol):
    """A socket to one origin."""

    _transport: asyncio.Transport

    def __init__(self, origin: str, limits: TransportLimits, owner: ConnectionOwner) -> None:
        self.origin = origin
        self.loop = asyncio.get_running_loop()
        self.paused = False
        self.used = False
        self._limits = limits
        self._owner = owner
        self._in_pool = False
        self._in_flight: InFlight | None = None
        self._sender: asyncio.Task[None] | None = None
        self._writable: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = self._deadline = inf
        self._phase = Phase.IDLE
        self._idle_seconds = limits.idle_seconds
        self._parser = HttpResponseParser(self)
        self._reset()

    def _reset(self) -> None:
        """Prepare for the next answer."""
        self._headers: list[tuple[str, str]] | None = []
        self._received_bytes = self._overhead = 0
        self._interim = self._complete = self._until_eof = self._tainted = False
        self._keep_alive = True
        self._refusal: Exception | None = None

    # Called by the pool and the transport

    @property
    def usable(self) -> bool:
        """Whether it is open, as far as this side knows."""
        return self._in_pool and not self._transport.is_closing()

    def enter_pool(self) -> bool:
        """Enter the pool. False if the socket has closed in the meantime."""
        self._in_pool = not self._transport.is_closing()
        return self._in_pool

    def begin(self, in_flight: InFlight, head: bytes, body: bytes | AsyncIterator[bytes]) -> asyncio.Future[None]:
        """Send a request. The future is done when the head of the answer is here, or on failure."""
        waiter = in_flight.waiter = self.loop.create_future()
        in_flight.reused = self.used
        if not self.usable:
            self._in_flight = in_flight
            self._on_lost(None)
            return waiter
        in_flight.connection = self
        self._in_flight = in_flight
        self.used = True
        if isinstance(body, bytes):
            if len(body) <= _JOIN_LIMIT:
                self._transport.write(head + body)
            else:
                self._transport.write(head)
                self._transport.write(body)
            self.set_deadline(in_flight, Phase.FIRST_BYTE, in_flight.timeouts.first_byte)
        else:
            self._transport.write(head)
            self.set_deadline(in_flight, Phase.SEND, None)
            self._sender = self.loop.create_task(self._send_body(in_flight, body))
        return waiter

    def set_deadline(self, in_flight: InFlight, phase: Phase, seconds: float | None) -> None:
        """Give `phase` this many seconds from now, within the total time of the request."""
        deadline = inf if seconds is None else self.loop.time() + seconds
        if deadline >= in_flight.ends_at:
            phase, deadline = Phase.TOTAL, in_flight.ends_at
        self._phase, self._deadline = phase, deadline
        if deadline < self._timer_at:
            self._set_timer(deadline)

    def start_idle(self) -> None:
        """Wait in the pool, as long as both sides allow."""
        self._deadline = self.loop.time() + self._idle_seconds
        if self._deadline < self._timer_at:
            self._set_timer(self._deadline)

    def abort(self, failure: Exception | None = None) -> None:
        """Abort the connection at once, together with its request."""
        reason = failure or TransportClosed(self.origin, "the request was aborted", "Send it again")
        self._end(reason)
        self._leave_pool()
        self._transport.abort()

    def close(self) -> None:
        """Close an idle connection properly."""
        self._leave_pool()
        self._transport.close()

    def resume(self) -> None:
        """Continue to read from the socket: the reader has caught up."""
        self.paused = False
        if not self._transport.is_closing():
            self._transport.resume_reading()

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # those of uvloop are not a subclass
        self._owner.opened(self)

    def data_received(self, data: bytes) -> None:
        in_flight = self._in_flight
        if in_flight is None:  # there is no request: these bytes must not become the answer of the next one
            self.abort()
            return
        self._received_bytes += len(data)
        size = in_flight.size
        try:
            self._parser.feed_data(data)
        except (HttpParserError, HttpParserUpgrade) as error:
            if not self._complete:
                self.abort(self._refusal or self._malformed(error))
                return
            self._tainted = True
        if self._complete:
            self._finish(in_flight)
        elif in_flight.size == size:
            self._count_overhead(len(data))
        else:
            self._overhead = 0
            if in_flight.size > self._limits.buffer and not self.paused:
                self.paused = True
                self._transport.pause_reading()
        if in_flight.status == 0:
            return
        if in_flight.waiter is not None and (in_flight.chunks or in_flight.complete or not in_flight.headed):
            in_flight.headed = True
            in_flight.wake()

    def eof_received(self) -> None:
        in_flight = self._in_flight
        if in_flight is not None and self._until_eof:
            self._complete = True
            self._finish(in_flight)
            in_flight.wake()

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_lost(exc)
        self._leave_pool()
        self._cancel_timer()
        self.resume_writing()
        self._owner.closed(self)

    def pause_writing(self) -> None:
        self._writable = self.loop.create_future()

    def resume_writing(self) -> None:
        writable, self._writable = self._writable, None
        if writable is not None and not writable.done():
            writable.set_result(None)

    # Called by the parser

    def on_message_begin(self) -> None:
        if self._complete:  # a second answer directly after the first, without a request
            self._tainted = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._headers is not None:  # trailers are not kept
            self._headers.append((lower_name(name), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        in_flight, headers = self._in_flight, self._headers
        if self._complete or in_flight is None or headers is None:
            return
        status = self._parser.get_status_code()
        if status < 200:
            self._interim = True
            headers.clear()
            if status == 101:
                raise self._remember_refusal(
                    self._broken("the server switches to another protocol without being asked")
                )
            return
        # This only concerns heads that arrive in one piece with the body; `_count_overhead` counts the others.
        if self._received_bytes > self._limits.max_headers and _size(headers) > self._limits.max_headers:
            raise self._remember_refusal(self._head_too_large())
        framing = BodyFraming.parse(headers, self._parser.get_http_version())
        if framing.error:
            raise self._remember_refusal(self._broken(framing.error))
        self._accept_head(in_flight, status, headers, framing)

    def on_body(self, chunk: bytes) -> None:
        in_flight = self._in_flight
        if self._complete or in_flight is None:
            self._tainted = True
            return
        in_flight.chunks.append(chunk)
        in_flight.size += len(chunk)

    def on_message_complete(self) -> None:
        if self._interim:
            self._interim = False
            return
        self._complete = True

    # Parts of the above

    def _accept_head(
        self, in_flight: InFlight, status: int, headers: list[tuple[str, str]], framing: BodyFraming
    ) -> None:
        in_flight.status, in_flight.headers = status, headers
        in_flight.encoding, in_flight.length = framing.encoding, framing.length
        self._headers = None
        self._keep_alive = self._parser.should_keep_alive()
        if framing.keep_alive_seconds is not None:
            self._idle_seconds = min(self._limits.idle_seconds, framing.keep_alive_seconds)
        if in_flight.bodiless or status in (204, 304):
            self._complete = True
            # The parser waits for a body and cannot be told that there is none, so `_finish` replaces it.
            in_flight.bodiless = True
        else:
            self._until_eof = framing.length is None and not framing.chunked

    def _finish(self, in_flight: InFlight) -> None:
        """The answer is complete: the connection returns to its pool, if it can be used again."""
        in_flight.complete = True
        in_flight.connection = self._in_flight = None
        transport = self._transport
        clean = self._keep_alive and not self._tainted and not self._until_eof and self._sender is None
        if not clean or transport.is_closing() or transport.get_write_buffer_size():
            self.abort()
            return
        if in_flight.bodiless:
            self._parser = HttpResponseParser(self)
        if self.paused:
            self.resume()
        self._reset()
        self._owner.release(self)

    def _count_overhead(self, size: int) -> None:
        """Count bytes that are no body, to stop an endless header, trailer or chunk extension."""
        self._overhead += size
        if self._overhead > self._limits.max_headers:
            self.abort(self._head_too_large())

    def _on_lost(self, exc: Exception | None) -> None:
        in_flight = self._in_flight
        if in_flight is None:
            return
        if self._until_eof and exc is None:
            in_flight.complete = True
            self._end(None)
            return
        in_flight.stale = in_flight.reused and not self._received_bytes
        how = "the connection was reset" if exc is not None else "the server closed the connection"
        when = "before it answered" if in_flight.status == 0 else "in the middle of its answer"
        self._end(self._broken(f"{how} {when}"))

    def _end(self, failure: BaseException | None) -> None:
        """End the current request."""
        in_flight, self._in_flight = self._in_flight, None
        if self._sender is not None:
            self._sender.cancel()
            self._sender = None
        if in_flight is None:
            return
        in_flight.connection = None
        in_flight.failure = failure
        in_flight.wake()

    def _leave_pool(self) -> None:
        if self._in_pool:
            self._in_pool = False
            self._owner.remove(self)

    async def _send_body(self, in_flight: InFlight, body: AsyncIterator[bytes]) -> None:
        try:
            async for piece in body:
                if piece:
                    self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                    await self._drained(in_flight)
            self._transport.write(b"0\r\n\r\n")
            self._sender = None
            if in_flight.status == 0:
                self.set_deadline(in_flight, Phase.FIRST_BYTE, in_flight.timeouts.first_byte)
        except Exception as error:
            self._sender = None
            self.abort(error)
        finally:
            await _close(body)

    async def _drained(self, in_flight: InFlight) -> None:
        if self._writable is None:
            return
        answering = in_flight.status != 0
        if not answering:
            self.set_deadline(in_flight, Phase.SEND, in_flight.timeouts.idle)
        await self._writable
        if not answering and in_flight.status == 0:
            self.set_deadline(in_flight, Phase.SEND, None)

    def _set_timer(self, deadline: float) -> None:
        self._cancel_timer()
        self._timer_at = deadline
        self._timer = self.loop.call_at(deadline, self._on_timer)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, inf

    def _on_timer(self) -> None:
        self._timer, self._timer_at = None, inf
        in_flight = self._in_flight
        if (
            in_flight is not None and in_flight.waiter is None
        ):  # nobody is waiting: the reader's own time does not count
            self._phase, self._deadline = Phase.TOTAL, in_flight.ends_at
        if self._deadline == inf:
            return
        if self.loop.time() < self._deadline - 0.001:
            self._set_timer(self._deadline)
        elif in_flight is None:
            self.close()
        else:
            self.abort(TimedOut(self.origin, self._phase, in_flight.timeouts.of(self._phase)))

    def _remember_refusal(self, failure: Exception) -> Exception:
        """Keep the failure, because the parser hides what its callbacks raise."""
        self._refusal = failure
        return failure

    def _malformed(self, error: Exception) -> BrokenResponse:
        return self._broken(f"the answer is not valid HTTP/1.1 ({error or type(error).__name__})")

    def _broken(self, what: str) -> BrokenResponse:
        return BrokenResponse(
            self.origin, what, "Try again; if it persists, check the server and the proxies in front of it"
        )

    def _head_too_large(self) -> TooLarge:
        what = f"the headers of the answer are longer than {self._limits.max_headers} bytes"
        return TooLarge(self.origin, what, "Raise limits.max_headers if you trust the server")


def _size(headers: list[tuple[str, str]]) -> int:
    return sum(len(name) + len(value) + 4 for name, value in headers)


async def _close(body: AsyncIterator[bytes]) -> None:
    close = getattr(body, "aclose", None)
    if close is not None:
        await close()
