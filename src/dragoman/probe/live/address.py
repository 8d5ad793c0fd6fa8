"""Where a server takes Chat requests, and which models it has. Servers of other dialects are recognised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import msgspec

from dragoman.conversation.dialect_names import DEFAULT_DIALECT
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.registry import all_dialects, dialect
from dragoman.errors import ProbeError
from dragoman.probe.live.probed_server import ProbedServer
from dragoman.upstream.transport import Outgoing, Timeouts, Transport, TransportFailure

Headers = tuple[tuple[str, str], ...]
_LIST_LIMIT = 4 * 1024 * 1024
_MOST_MODELS = 1000
_LONGEST_NAME = 512
_MOST_WINDOW = 10**9
_WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")
_THERE = frozenset({200, 400, 401, 402, 403, 415, 422, 429, 500, 503})
"""Statuses of a path that is served, for a request that is none."""


class FoundServer(msgspec.Struct, frozen=True):
    """A server that takes Chat requests. `models`: what it lists. `window`: the context that it states, or 0."""

    server: ProbedServer
    models: tuple[str, ...] = ()
    window: int = 0


async def find_server(url: str, model: str, headers: Headers, transport: Transport, seconds: float) -> FoundServer:
    """The place at this address that takes Chat requests. Raises ProbeError if there is none."""
    timeouts = Timeouts(connect=min(seconds, 10.0), first_byte=seconds, idle=seconds, total=seconds, queue=seconds)
    search = _Search(headers, transport, timeouts)
    for base in _bases(url):
        listing = await search.list_models(base)
        chosen = model or next(iter(listing), "")
        if not await search.serves(base + _chat_path(), chosen):
            continue
        if not chosen:
            raise ProbeError("the server does not list its models", at=base, hint="name one with --model")
        return FoundServer(ProbedServer(base + _chat_path(), chosen, headers), tuple(listing), listing.get(chosen, 0))
    raise await search.nowhere(url)


def _chat_path() -> str:
    return dialect(DEFAULT_DIALECT).request_path(RenderOptions("", False), "")


def _bases(url: str) -> Iterator[str]:
    """The addresses below which the path may be. Many people leave out `/v1`, some give the whole path."""
    plain = url.rstrip("/")
    if plain.endswith(_chat_path()):
        yield plain.removesuffix(_chat_path())
        return
    if not urlsplit(plain).path:
        yield f"{plain}/v1"
    yield plain


class _Search:
    """Looks at the paths of a server."""

    def __init__(self, headers: Headers, transport: Transport, timeouts: Timeouts) -> None:
        self._headers = headers
        self._transport = transport
        self._timeouts = timeouts
        self._fault = ""

    async def list_models(self, base: str) -> dict[str, int]:
        """The models by name, each with its window; none where the server does not list them."""
        status, content = await self._fetch(Outgoing("GET", f"{base}/models", self._headers))
        try:
            listed = msgspec.json.decode(content) if status == 200 else None
        except (msgspec.DecodeError, RecursionError):
            return {}
        entries = listed.get("data") if isinstance(listed, dict) else listed
        return dict(_windows(entries)) if isinstance(entries, list) else {}

    async def serves(self, url: str, model: str) -> bool:
        """Whether a path is served. The request is none: it has no messages, so that it costs nothing."""
        headers = (*self._headers, ("content-type", "application/json"))
        body = msgspec.json.encode({"model": model, "messages": []})
        status, content = await self._fetch(Outgoing("POST", url, headers, body))
        return status in _THERE and content.lstrip()[:1] in (b"{", b"[")

    async def nowhere(self, url: str) -> ProbeError:
        """What is there instead."""
        if self._fault:
            return ProbeError(self._fault, at=url, hint="is the server running?")
        root = f"{urlsplit(url).scheme}://{urlsplit(url).netloc}"
        for other in all_dialects():
            if other.name == DEFAULT_DIALECT:
                continue
            path = other.request_path(RenderOptions("model", False), "")
            if any([await self.serves(root + prefix + path, "model") for prefix in other.prefixes[:2]]):
                return ProbeError(
                    f"the server speaks {other.title}, and questions are asked in Chat only",
                    at=url,
                    hint="use a profile of that dialect; see `dragoman profiles`",
                )
        return ProbeError("the server does not serve /chat/completions", at=url, hint="give the address with its path")

    async def _fetch(self, outgoing: Outgoing) -> tuple[int, bytes]:
        try:
            incoming = await self._transport.send(outgoing, self._timeouts)
            async with incoming:
                return incoming.status, await incoming.read(_LIST_LIMIT)
        except TransportFailure as fault:
            self._fault = fault.what
            return 0, b""


def _windows(entries: list[Any]) -> Iterator[tuple[str, int]]:
    """The names of the models, each with the window that the server states."""
    for entry in entries[:_MOST_MODELS]:
        name = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME:
            yield name, _window(entry)


def _window(entry: dict[str, Any]) -> int:
    meta = entry.get("meta")
    tables = (entry, meta) if isinstance(meta, dict) else (entry,)
    stated = [table.get(name) for table in tables for name in _WINDOWS]
    return next((one for one in stated if isinstance(one, int) and 0 < one < _MOST_WINDOW), 0)
