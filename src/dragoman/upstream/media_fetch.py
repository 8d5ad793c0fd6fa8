"""Fetch media that a client gives by URL, for targets that take it only inline.

The URL comes from a client, so the gateway does not trust it: only http and https, only public addresses (unless the
configuration allows a host), limits on size and time, and no redirects. What has been fetched is held until its request
is over, and counts against two sums: that of the request, and that of all requests under way.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlsplit

from msgspec import Struct, field

from dragoman.config.schema.media import MediaConfig
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.upstream.transport.address_guard import is_named_host, public_only
from dragoman.upstream.transport.failures import TooLarge, TransportFailure
from dragoman.upstream.transport.incoming import Incoming
from dragoman.upstream.transport.limits import Timeouts
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.proxy import Proxies
from dragoman.upstream.transport.transport import Transport

_MOST_FILES = 32
"""Of one request. The URLs of others are sent as text."""
_BUSY = Failure(
    FailureKind.OVERLOADED,
    "requests under way hold all the bytes that files given by URL may have (media.max_total_bytes); try again",
    503,
    retry_after=1.0,
)


class HeldMedia(Struct, eq=False):
    """The bytes of media that were fetched for one request. They count among those of all requests until it lets go of
    them, or is gone."""

    _add_to_all: Callable[[int], None]
    size: int = 0

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


class _Waiting(Struct, eq=False):
    """A request that waits for room of `size` bytes. `turn` is done when it has it."""

    size: int
    turn: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class MediaFetcher:
    """Fetches with two HTTP clients: one for public addresses, one for the hosts that the configuration allows.

    `held` are the bytes of all requests under way. Another `config` may be set at any time.
    """

    def __init__(self, config: MediaConfig) -> None:
        self.config = config
        self.held = 0
        self._waiting: deque[_Waiting] = deque()
        self._public: Transport | None = None
        self._allowed: Transport | None = None

    async def fetch(self, urls: Sequence[str], held: HeldMedia) -> Mapping[str, bytes]:
        """The fetched contents by URL. Those that could not be fetched are missing; a rule sends their URL as text.
        Raises MediaRefused.

        First the heads of all answers come, which tell how long the files are. So there is room for all of them before
        the first is read, and no two requests wait for each other with half of their files.
        """
        if not self.config.fetch:
            return {}
        files: dict[str, Incoming] = {}
        try:
            await asyncio.gather(*[self._open(url, files) for url in urls[:_MOST_FILES]])
            return await self._read_all(files, held)
        finally:
            for file in files.values():
                await file.close()

    def hold(self) -> HeldMedia:
        """What counts the media of one request, none as yet."""
        return HeldMedia(self._add)

    def _add(self, size: int) -> None:
        """Count bytes, or fewer of them; the requests that waited longest get the room that there is now."""
        self.held += size
        while self._waiting and self._waiting[0].size + self.held <= self.config.max_total_bytes:
            first = self._waiting.popleft()
            if not first.turn.done():
                self.held += first.size
                first.turn.set_result(None)

    async def _open(self, url: str, files: dict[str, Incoming]) -> None:
        """Put the answer for a file, as far as its head, to the others, unless it is too large."""
        host = _host(url)
        if not host:
            return
        timeouts = Timeouts(connect=5, first_byte=self.config.timeout, idle=5, total=self.config.timeout)
        try:
            incoming = await self._transport(host).send(Outgoing("GET", url), timeouts)
        except TransportFailure:
            return
        if incoming.status == 200 and (incoming.length or 0) <= self.config.max_bytes:
            files[url] = incoming
        else:
            await incoming.close()

    async def _read_all(self, files: Mapping[str, Incoming], held: HeldMedia) -> Mapping[str, bytes]:
        """All files at once, and then those that do not tell their length: they share what is left of the sum."""
        sizes = {url: one.length for url, one in files.items() if one.length is not None and one.encoding is None}
        others = [url for url in files if url not in sizes]
        known = sum(sizes.values())
        room = min(max(self._most() - held.size - known, 0), len(others) * self.config.max_bytes)
        await self._make_room(known + room, held)
        read = await asyncio.gather(*[_read(files[url], size) for url, size in sizes.items()])
        found = {url: content for url, content in zip(sizes, read, strict=True) if content is not None}
        left = room
        for url in others:
            content = await self._read_next(files[url], left)
            if content is not None:
                found[url] = content
                left -= len(content)
        held.add(sum(map(len, found.values())) - known - room)
        return found

    async def _read_next(self, file: Incoming, room: int) -> bytes | None:
        """A file of unknown length; None if it is larger than a file may be, or breaks off."""
        try:
            return await file.read(min(room, self.config.max_bytes))
        except TooLarge:
            if room < self.config.max_bytes:
                raise self._too_large() from None
        except TransportFailure:
            pass
        return None

    async def _make_room(self, size: int, held: HeldMedia) -> None:
        """Count so many bytes, once there is room for them."""
        if held.size + size > self._most():
            raise self._too_large()
        if not self._waiting and self.held + size <= self.config.max_total_bytes:
            held.add(size)
            return
        waiting = _Waiting(size)
        self._waiting.append(waiting)
        try:
            async with asyncio.timeout(self.config.timeout):
                await waiting.turn
        except BaseException as why:
            self._leave(waiting)
            if isinstance(why, TimeoutError):
                raise MediaRefused(_BUSY) from None
            raise
        held.size += size

    def _leave(self, waiting: _Waiting) -> None:
        """It waits no longer; if it was given its room just now, others may have that."""
        if waiting in self._waiting:
            self._waiting.remove(waiting)
        self._add(-waiting.size if waiting.turn.done() and not waiting.turn.cancelled() else 0)

    def _most(self) -> int:
        return min(self.config.max_request_bytes, self.config.max_total_bytes)

    def _too_large(self) -> MediaRefused:
        what = f"the files that the request gives by URL are more than {self._most()} bytes together"
        return MediaRefused(Failure(FailureKind.TOO_LARGE, f"{what} (media.max_request_bytes)", 413))

    def _transport(self, host: str) -> Transport:
        if is_named_host(host, self.config.allow):
            self._allowed = self._allowed or Transport(proxies=Proxies())
            return self._allowed
        self._public = self._public or Transport(proxies=Proxies(), guard=public_only)
        return self._public

    async def close(self) -> None:
        for transport in (self._public, self._allowed):
            if transport is not None:
                await transport.close()


async def _read(file: Incoming, size: int) -> bytes | None:
    """A file of known length; None if it breaks off."""
    try:
        return await file.read(size)
    except TransportFailure:
        return None


def _host(url: str) -> str:
    """The host of an http or https URL; empty for any other."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "" if parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""
