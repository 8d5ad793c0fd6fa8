"""The contract of authorizers, and credentials that are fetched and renewed beside the requests."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

import msgspec

from dragoman.errors import UpstreamError
from dragoman.upstream.transport.outgoing import Outgoing

Headers = tuple[tuple[str, str], ...]
T = TypeVar("T")
Clock = Callable[[], float]


class NoCredentials(UpstreamError):
    """The provider needs credentials, and there are none, or they cannot be fetched."""

    status = 401


class AuthScheme(msgspec.Struct, frozen=True):
    """How requests to a destination are authorized: the name of a scheme and its settings. Equal ones share an
    authorizer."""

    name: str
    service: str = ""
    region: str = ""
    account: str = ""


class Authorizer(Protocol):
    """Authorizes requests with credentials that it keeps fresh."""

    async def ready(self) -> None:
        """Wait until there are credentials; nearly always they are there. Raises NoCredentials."""

    def ready_now(self) -> None:
        """What `ready` does, for callers without an event loop. It may block."""

    def headers_for(self, request: Outgoing) -> Headers:
        """The headers that authorize this request. It never waits and never asks anybody."""

    def refused(self, date: str) -> None:
        """The provider refused what `headers_for` gave: fetch again before the next request. `date` is the header of
        its answer, by which a scheme that signs the time can set its clock."""


class Fetched(msgspec.Struct, Generic[T], frozen=True):
    """Credentials, and when they expire (seconds since 1970; None: never)."""

    value: T
    expires_at: float | None = None


_EARLY = 300.0
_PAUSE = 10.0


class FreshCredentials(Generic[T]):
    """Credentials that are there when a request needs them.

    The first request waits until they are fetched. `early` seconds before they expire they are fetched again, in the
    background, while requests go on with the old ones. Nobody fetches twice at a time. If fetching fails, the old ones
    are used while they last, and the next try comes after a pause.
    """

    def __init__(
        self, fetch: Callable[[], Fetched[T]], *, early: float = _EARLY, pause: float = _PAUSE, clock: Clock = time.time
    ) -> None:
        self._fetch = fetch
        self._early = early
        self._pause = pause
        self._clock = clock
        self._held: Fetched[T] | None = None
        self._lock = threading.Lock()
        self._task: asyncio.Task[None] | None = None
        self._not_before = 0.0

    @property
    def value(self) -> T:
        """What is held. Raises NoCredentials if that is nothing."""
        if self._held is None:
            raise NoCredentials("the credentials have not been fetched yet")
        return self._held.value

    async def ready(self) -> None:
        if self._is_good():
            if self._is_ageing():
                self._start()  # beside this request, which goes on with what there is
            return
        # Shielded: one caller that leaves must not take the credentials from the others.
        await asyncio.shield(self._start())

    def ready_now(self) -> None:
        if not self._is_good() or self._is_ageing():
            self._renew()

    def forget(self) -> None:
        """What is held is of no use any more."""
        self._held = None
        self._not_before = 0.0

    def _is_good(self) -> bool:
        held = self._held
        return held is not None and (held.expires_at is None or self._clock() < held.expires_at)

    def _is_ageing(self) -> bool:
        held, now = self._held, self._clock()
        if held is None or held.expires_at is None or now < self._not_before:
            return False
        return now >= held.expires_at - self._early

    def _start(self) -> asyncio.Task[None]:
        """The fetch that is under way, or a new one."""
        task = self._task
        if task is None or task.done() or task.get_loop() is not asyncio.get_running_loop():
            task = self._task = asyncio.create_task(asyncio.to_thread(self._renew))
            task.add_done_callback(_retrieve)
        return task

    def _renew(self) -> None:
        with self._lock:
            if self._is_good() and not self._is_ageing():
                return  # another thread was faster
            # Also after a success: some sources hand out the same credentials until shortly before they expire.
            self._not_before = self._clock() + self._pause
            try:
                self._held = self._fetch()
            except NoCredentials:
                if not self._is_good():
                    raise


def _retrieve(task: asyncio.Task[None]) -> None:
    """Whoever waits gets the error. A fetch in the background has nobody who does: the old credentials still hold."""
    if not task.cancelled():
        task.exception()
