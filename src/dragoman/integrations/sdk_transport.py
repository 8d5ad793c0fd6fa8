"""A transport inside the official SDKs: one line changed, no server.

    from openai import OpenAI
    import httpx
    from dragoman import DragomanTransport

    client = OpenAI(http_client=httpx.Client(transport=DragomanTransport("anthropic/claude-sonnet-4-6", api_key=…)))

The request that the SDK makes is read in its dialect, compiled for the target, sent there, and the answer or stream
comes back in the SDK's dialect. What was changed stands in the response header `x-dragoman-changes`, and in full in
`response.extensions["dragoman"]`. Works with httpx and httpx2.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.exchange.steps import Reading, Send, Step, Streaming
from dragoman.engine.library.adapted import AdaptedRequest
from dragoman.engine.library.policy import Policy, check_kind
from dragoman.integrations.http_libraries import ancestors, library_of
from dragoman.integrations.sdk_exchange import SdkBridge, SdkCount, SdkExchange, SdkResponse, TransportSettings
from dragoman.profiles.profile import Profiles
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.transport.outgoing import Outgoing

if TYPE_CHECKING:
    import httpx
    import httpx2
    from httpx import AsyncBaseTransport as AsyncFirst
    from httpx import BaseTransport as First
    from httpx2 import AsyncBaseTransport as AsyncSecond
    from httpx2 import BaseTransport as Second
else:
    First, Second = ancestors("BaseTransport")
    AsyncFirst, AsyncSecond = ancestors("AsyncBaseTransport")

__all__ = ["AsyncDragomanTransport", "DragomanTransport"]

Sender = TypeVar("Sender")
"""The transport that sends."""


class _Transport(Generic[Sender]):
    """What both transports have in common."""

    def __init__(
        self,
        target: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        facts: Mapping[str, Any] | None = None,
        policy: Policy | None = None,
        profiles: Profiles | None = None,
        wrap: Sender | None = None,
        on_adapted: Callable[[AdaptedRequest], None] | None = None,
    ) -> None:
        """
        `target` is `PROFILE/MODEL`, or `PROFILE` alone to use the SDK's own model names. Without `api_key` the vendor's
        environment variable is used, unless `base_url` leads elsewhere. `facts` correct the profile, as they do in
        `dragoman.yaml`; `policy` and `profiles` are those of `adapt`. `wrap` is the transport that sends. `on_adapted`
        is called with every request that is sent.
        """
        policy = Policy() if policy is None else policy
        check_kind("policy", policy, Policy)
        settings = TransportSettings(
            target, api_key, base_url, headers or {}, facts=facts or {}, policy=policy, profiles=profiles
        )
        self._bridge = SdkBridge(settings)
        self._wrapped: Any = wrap
        self._on_adapted = on_adapted

    def _read(self, request: Any, body: bytes) -> SdkExchange | SdkCount | SdkResponse:
        url = request.url
        query = dict(url.params.multi_items())
        headers = {name.lower(): value for name, value in request.headers.items()}
        return self._bridge.read(request.method, url.path, query, headers, body)

    def _attempt(self, asking: SdkExchange, send: Send[HttpDestination], request: Any) -> Any:
        if self._on_adapted is not None and (adapted := asking.adapted()) is not None:
            self._on_adapted(adapted)
        return self._outgoing(asking.outgoing(send), request)

    def _outgoing(self, outgoing: Outgoing, request: Any) -> Any:
        """The request for the provider, of the library that sends it. The SDK's timeouts go along."""
        library, body = library_of(self._wrapped), outgoing.body
        assert isinstance(body, bytes)
        host = ("host", library.URL(outgoing.url).netloc.decode("ascii"))
        headers = [host, *outgoing.headers, ("accept-encoding", "identity"), ("content-length", str(len(body)))]
        timeouts = {"timeout": request.extensions["timeout"]} if "timeout" in request.extensions else {}
        return library.Request("POST", outgoing.url, headers=headers, content=body, extensions=timeouts)


class DragomanTransport(_Transport["First | Second"], First, Second):
    """For `httpx.Client` and `httpx2.Client`."""

    @overload
    def handle_request(self, request: httpx.Request) -> httpx.Response: ...
    @overload
    def handle_request(self, request: httpx2.Request) -> httpx2.Response: ...
    def handle_request(self, request: Any) -> Any:
        library = library_of(request)
        if self._wrapped is None:
            self._wrapped = library.HTTPTransport()
        asking = self._read(request, request.read())
        if isinstance(asking, SdkCount):
            asking = self._count(asking, request)
        if isinstance(asking, SdkResponse):
            return _render_whole(library, asking)
        ask = partial(self._ask, asking, request)
        opened = ask(asking.start())
        if isinstance(opened, SdkResponse):
            return _render_whole(library, opened)
        return _render_stream(library, asking, _sync_stream(library)(asking, ask, *opened))

    def _ask(
        self, asking: SdkExchange, request: Any, step: Send[HttpDestination] | Streaming | SdkResponse
    ) -> tuple[Any, Iterator[bytes], Streaming] | SdkResponse:
        """Send until there is a stream, or an answer."""
        while isinstance(step, Send):
            response = self._wrapped.handle_request(self._attempt(asking, step, request))
            chunks = response.iter_bytes()
            step = asking.after(_receive(asking, response, chunks))
            if isinstance(step, Streaming):
                return response, chunks, step
        assert isinstance(step, SdkResponse)
        return step

    def _count(self, asking: SdkCount, request: Any) -> SdkResponse:
        try:
            response = self._wrapped.handle_request(self._outgoing(asking.outgoing, request))
            return asking.counted(response.status_code, _body(response))
        except library_of(self._wrapped).TransportError:
            return asking.estimate

    def close(self) -> None:
        if self._wrapped is not None:
            self._wrapped.close()

    def __enter__(self) -> DragomanTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncDragomanTransport(_Transport["AsyncFirst | AsyncSecond"], AsyncFirst, AsyncSecond):
    """For `httpx.AsyncClient` and `httpx2.AsyncClient`."""

    @overload
    async def handle_async_request(self, request: httpx.Request) -> httpx.Response: ...
    @overload
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response: ...
    async def handle_async_request(self, request: Any) -> Any:
        library = library_of(request)
        if self._wrapped is None:
            self._wrapped = library.AsyncHTTPTransport()
        asking = self._read(request, await request.aread())
        if isinstance(asking, SdkCount):
            asking = await self._count(asking, request)
        if isinstance(asking, SdkResponse):
            return _render_whole(library, asking)
        ask = partial(self._ask, asking, request)
        opened = await ask(asking.start())
        if isinstance(opened, SdkResponse):
            return _render_whole(library, opened)
        return _render_stream(library, asking, _async_stream(library)(asking, ask, *opened))

    async def _ask(
        self, asking: SdkExchange, request: Any, step: Send[HttpDestination] | Streaming | SdkResponse
    ) -> tuple[Any, AsyncIterator[bytes], Streaming] | SdkResponse:
        """Send until there is a stream, or an answer."""
        while isinstance(step, Send):
            outgoing = await self._async_attempt(asking, step, request)
            response = await self._wrapped.handle_async_request(outgoing)
            chunks = response.aiter_bytes()
            step = asking.after(await _async_received(asking, response, chunks))
            if isinstance(step, Streaming):
                return response, chunks, step
        assert isinstance(step, SdkResponse)
        return step

    async def _async_attempt(self, asking: SdkExchange, send: Send[HttpDestination], request: Any) -> Any:
        """Credentials may have to be fetched first: the event loop does not wait for them."""
        if send.destination.scheme is None:
            return self._attempt(asking, send, request)
        return await asyncio.to_thread(self._attempt, asking, send, request)

    async def _count(self, asking: SdkCount, request: Any) -> SdkResponse:
        try:
            response = await self._wrapped.handle_async_request(self._outgoing(asking.outgoing, request))
            return asking.counted(response.status_code, await _async_body(response))
        except library_of(self._wrapped).TransportError:
            return asking.estimate

    async def aclose(self) -> None:
        if self._wrapped is not None:
            await self._wrapped.aclose()

    async def __aenter__(self) -> AsyncDragomanTransport:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _receive(asking: SdkExchange, response: Any, chunks: Iterator[bytes]) -> Step[HttpDestination]:
    """What an answer is, read as far as that takes; one that is not streamed on is closed."""
    exchange, asking.date = asking.exchange, response.headers.get("date", "")
    if exchange.head(response.status_code, response.headers.multi_items()) is not Reading.PIECES:
        return exchange.body(_body(response))
    step: Step[HttpDestination] | None = None
    try:
        while step is None:
            chunk = next(chunks, None)
            step = exchange.piece(chunk)
    finally:
        if not isinstance(step, Streaming):
            response.close()
    return step


async def _async_received(asking: SdkExchange, response: Any, chunks: AsyncIterator[bytes]) -> Step[HttpDestination]:
    exchange, asking.date = asking.exchange, response.headers.get("date", "")
    if exchange.head(response.status_code, response.headers.multi_items()) is not Reading.PIECES:
        return exchange.body(await _async_body(response))
    step: Step[HttpDestination] | None = None
    try:
        while step is None:
            chunk = await anext(chunks, None)
            step = exchange.piece(chunk)
    finally:
        if not isinstance(step, Streaming):
            await response.aclose()
    return step


def _body(response: Any) -> bytes:
    try:
        body: bytes = response.read()
        return body
    finally:
        response.close()


async def _async_body(response: Any) -> bytes:
    try:
        body: bytes = await response.aread()
        return body
    finally:
        await response.aclose()


def _render_whole(library: ModuleType, answer: SdkResponse) -> Any:
    extensions = {"dragoman": answer.request} if answer.request is not None else {}
    headers = {**answer.headers, "content-length": str(len(answer.body))}
    return library.Response(answer.status, headers=headers, content=answer.body, extensions=extensions)


def _render_stream(library: ModuleType, asking: SdkExchange, stream: Any) -> Any:
    extensions = {"dragoman": asking.adapted()}
    return library.Response(200, headers=asking.stream_headers(), stream=stream, extensions=extensions)


def _describe_break(library: ModuleType, fault: Exception) -> Failure:
    """The connection failed in the middle of a stream: the SDK gets an error of its own dialect."""
    if isinstance(fault, library.TimeoutException):
        return Failure(FailureKind.TIMEOUT, str(fault) or "the provider took too long", 504)
    return Failure(FailureKind.NETWORK, str(fault) or "the connection to the provider broke", 502)


class _TranslatedStream:
    """The provider's stream in the SDK's dialect: what both streams have in common."""

    def __init__(self, asking: SdkExchange, ask: Any, response: Any, chunks: Any, opened: Streaming) -> None:
        self._asking = asking
        self._ask = ask
        """Sends what follows if the provider has paused."""
        self._response = response
        self._chunks = chunks
        self._opened = opened
        self._library = library_of(response)

    def _begin(self, opened: Streaming) -> bytes:
        if opened.translation.settled:
            self._asking.stream_ended()
        return opened.first

    def _feed(self, opened: Streaming, chunk: bytes) -> bytes:
        out = self._asking.take(opened.translation.feed(chunk))
        if opened.translation.settled:
            self._asking.stream_ended()  # SDKs stop reading at the last event
        return out

    def _end(self, opened: Streaming, fault: Exception | None) -> bytes:
        if fault is not None:
            last = opened.translation.fail(_describe_break(self._library, fault))
        else:
            last = b"" if opened.over else opened.translation.close()
        self._asking.stream_ended()
        return self._asking.take(last)

    def _follow(self, came: tuple[Any, Any, Streaming] | SdkResponse) -> Streaming | bytes:
        if isinstance(came, SdkResponse):
            return self._asking.cut()
        self._response, self._chunks, opened = came
        return opened


@cache
def _sync_stream(library: ModuleType) -> Any:
    class Translated(_TranslatedStream, library.SyncByteStream):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Iterator[bytes]:
            opened: Streaming | bytes = self._opened
            while isinstance(opened, Streaming):
                yield self._begin(opened)
                broken: Exception | None = None
                try:
                    for chunk in self._chunks:
                        if out := self._feed(opened, chunk):
                            yield out
                        if opened.translation.failure is not None:
                            break
                except self._library.TransportError as fault:
                    broken = fault
                if last := self._end(opened, broken):
                    yield last
                opened = self._go_on()
            if opened:
                yield opened

        def _go_on(self) -> Streaming | bytes:
            """What follows if the provider has paused; else the last bytes."""
            step = self._asking.next_round()
            if step is None:
                return self._asking.take(b"")
            self._response.close()
            try:
                return self._follow(self._ask(self._asking.after(step)))
            except self._library.TransportError as fault:
                return self._asking.cut(_describe_break(self._library, fault))

        def close(self) -> None:
            self._response.close()

    return Translated


@cache
def _async_stream(library: ModuleType) -> Any:
    class Translated(_TranslatedStream, library.AsyncByteStream):  # type: ignore[misc, name-defined]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            opened: Streaming | bytes = self._opened
            while isinstance(opened, Streaming):
                yield self._begin(opened)
                broken: Exception | None = None
                try:
                    async for chunk in self._chunks:
                        if out := self._feed(opened, chunk):
                            yield out
                        if opened.translation.failure is not None:
                            break
                except self._library.TransportError as fault:
                    broken = fault
                if last := self._end(opened, broken):
                    yield last
                opened = await self._go_on()
            if opened:
                yield opened

        async def _go_on(self) -> Streaming | bytes:
            """What follows if the provider has paused; else the last bytes."""
            step = self._asking.next_round()
            if step is None:
                return self._asking.take(b"")
            await self._response.aclose()
            try:
                return self._follow(await self._ask(self._asking.after(step)))
            except self._library.TransportError as fault:
                return self._asking.cut(_describe_break(self._library, fault))

        async def aclose(self) -> None:
            await self._response.aclose()

    return Translated
