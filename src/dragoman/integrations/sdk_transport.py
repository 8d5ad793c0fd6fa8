"""A transport inside the official SDKs: one line changed, no server.

    from openai import OpenAI
    import httpx
    from dragoman.integrations.sdk_transport import DragomanTransport

    client = OpenAI(http_client=httpx.Client(transport=DragomanTransport("anthropic/claude-sonnet-4-5", api_key=…)))

The request that the SDK makes is read in its dialect, compiled for the target, sent there, and the answer or stream
comes back in the SDK's dialect. What was changed stands in the response header `x-dragoman-changes`, and in full in
`response.extensions["dragoman"]`. Works with httpx and httpx2.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dragoman.engine.adapt import Adapted
from dragoman.engine.translation import Translation
from dragoman.integrations.http_libraries import ancestors, library_of
from dragoman.integrations.sdk_exchange import Interpreter, Sending, Settings, Told
from dragoman.profiles.profile import Profiles

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport as AsyncFirst
    from httpx import BaseTransport as First
    from httpx2 import AsyncBaseTransport as AsyncSecond
    from httpx2 import BaseTransport as Second
else:
    First, Second = ancestors("BaseTransport")
    AsyncFirst, AsyncSecond = ancestors("AsyncBaseTransport")

__all__ = ["AsyncDragomanTransport", "DragomanTransport"]


class _Transport:
    """What both transports are told."""

    def __init__(
        self,
        target: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        facts: Mapping[str, Any] | None = None,
        rules: Mapping[str, Any] | None = None,
        max_loss: str | None = None,
        synthetic: bool = True,
        profiles: Profiles | None = None,
        wrap: Any = None,
        on_adapted: Callable[[Adapted], None] | None = None,
    ) -> None:
        """
        `target` is `PROFILE/MODEL`, or `PROFILE` alone where the SDK's own model names are meant. Without `api_key` the
        vendor's environment variable is used, unless `base_url` leads elsewhere. `wrap` is the transport that sends;
        `on_adapted` is told of every request that was compiled. `facts`, `rules`, `max_loss` and `synthetic` as in
        `dragoman.yaml`.
        """
        self._interpreter = Interpreter(
            Settings(target, api_key, base_url, headers or {}, facts or {}, rules or {}, max_loss, synthetic, profiles)
        )
        self._wrapped = wrap
        self._on_adapted = on_adapted

    def _read(self, request: Any, body: bytes) -> Sending | Told:
        url = request.url
        query = dict(url.params.multi_items())
        headers = {name.lower(): value for name, value in request.headers.items()}
        return self._interpreter.read(request.method, url.path, query, headers, body)

    def _outgoing(self, sending: Sending, request: Any) -> Any:
        """The request for the provider, of the library that sends it. The SDK's timeouts go along."""
        if self._on_adapted is not None:
            self._on_adapted(sending.adapted)
        library = library_of(self._wrapped)
        headers = [*sending.headers, ("accept-encoding", "identity"), ("content-length", str(len(sending.body)))]
        host = ("host", library.URL(sending.url).netloc.decode("ascii"))
        timeouts = {"timeout": request.extensions["timeout"]} if "timeout" in request.extensions else {}
        return library.Request("POST", sending.url, headers=[host, *headers], content=sending.body, extensions=timeouts)


class DragomanTransport(_Transport, First, Second):
    """For `httpx.Client` and `httpx2.Client`."""

    def handle_request(self, request: Any) -> Any:
        library = library_of(request)
        if self._wrapped is None:
            self._wrapped = library.HTTPTransport()
        step = self._read(request, request.read())
        while isinstance(step, Sending):
            response = self._wrapped.handle_request(self._outgoing(step, request))
            if response.status_code == 200 and step.streams:
                translation = self._interpreter.translation(step)
                return _streamed(library, step, _sync_stream(library)(response, translation))
            try:
                body = response.read()
            finally:
                response.close()
            step = _heard(self._interpreter, step, response, body)
        return _whole(library, step)

    def close(self) -> None:
        if self._wrapped is not None:
            self._wrapped.close()

    def __enter__(self) -> DragomanTransport:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncDragomanTransport(_Transport, AsyncFirst, AsyncSecond):
    """For `httpx.AsyncClient` and `httpx2.AsyncClient`."""

    async def handle_async_request(self, request: Any) -> Any:
        library = library_of(request)
        if self._wrapped is None:
            self._wrapped = library.AsyncHTTPTransport()
        step = self._read(request, await request.aread())
        while isinstance(step, Sending):
            response = await self._wrapped.handle_async_request(self._outgoing(step, request))
            if response.status_code == 200 and step.streams:
                translation = self._interpreter.translation(step)
                return _streamed(library, step, _async_stream(library)(response, translation))
            try:
                body = await response.aread()
            finally:
                await response.aclose()
            step = _heard(self._interpreter, step, response, body)
        return _whole(library, step)

    async def aclose(self) -> None:
        if self._wrapped is not None:
            await self._wrapped.aclose()

    async def __aenter__(self) -> AsyncDragomanTransport:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _heard(interpreter: Interpreter, sending: Sending, response: Any, body: bytes) -> Sending | Told:
    if response.status_code == 200:
        return interpreter.whole(sending, body)
    return interpreter.refused(sending, response.status_code, dict(response.headers.items()), body)


def _whole(library: ModuleType, told: Told) -> Any:
    extensions = {"dragoman": told.adapted} if told.adapted is not None else {}
    headers = {**told.headers, "content-length": str(len(told.body))}
    return library.Response(told.status, headers=headers, content=told.body, extensions=extensions)


def _streamed(library: ModuleType, sending: Sending, stream: Any) -> Any:
    extensions = {"dragoman": sending.adapted}
    return library.Response(200, headers=sending.answer_headers(), stream=stream, extensions=extensions)


@cache
def _sync_stream(library: ModuleType) -> Any:
    class Translated(library.SyncByteStream):  # type: ignore[misc, name-defined]
        """The provider's stream in the SDK's dialect."""

        def __init__(self, response: Any, translation: Translation) -> None:
            self._response = response
            self._translation = translation

        def __iter__(self) -> Iterator[bytes]:
            for chunk in self._response.iter_bytes():
                out = self._translation.feed(chunk)
                if out:
                    yield out
                if self._translation.failure is not None:
                    break
            last = self._translation.close()
            if last:
                yield last

        def close(self) -> None:
            self._response.close()

    return Translated


@cache
def _async_stream(library: ModuleType) -> Any:
    class Translated(library.AsyncByteStream):  # type: ignore[misc, name-defined]
        """The provider's stream in the SDK's dialect."""

        def __init__(self, response: Any, translation: Translation) -> None:
            self._response = response
            self._translation = translation

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in self._response.aiter_bytes():
                out = self._translation.feed(chunk)
                if out:
                    yield out
                if self._translation.failure is not None:
                    break
            last = self._translation.close()
            if last:
                yield last

        async def aclose(self) -> None:
            await self._response.aclose()

    return Translated
