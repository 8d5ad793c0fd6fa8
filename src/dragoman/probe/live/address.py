"""Where a server takes requests, in which dialect, and which models it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.registry import list_dialects
from dragoman.errors import ProbeError
from dragoman.probe.asked_dialects import AskedDialect, find_asked_dialect, list_asked
from dragoman.probe.live.probed_server import ProbedServer
from dragoman.upstream.transport.failures import TransportFailure
from dragoman.upstream.transport.limits import Timeouts
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.transport import Transport

Headers = tuple[tuple[str, str], ...]
_LIST_LIMIT = 4 * 1024 * 1024
_MOST_MODELS = 1000
_LONGEST_NAME = 512
_MOST_WINDOW = 10**9
_WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx", "inputTokenLimit")
_LISTS = ("data", "models")
_NAMES = ("id", "name")
_PATH_IN_NAME = "models/"
_THERE = frozenset({200, 400, 401, 402, 403, 415, 422, 429, 500, 503})
"""Statuses of a path that is served, for a request that is none."""


class FoundServer(msgspec.Struct, frozen=True):
    """A server that takes requests."""

    server: ProbedServer
    base: str = ""
    """The address without the dialect's path."""
    models: tuple[str, ...] = ()
    """What it lists."""
    window: int = 0
    """The context that it states, or 0."""


class SoughtServer(msgspec.Struct, frozen=True):
    """What is looked for."""

    url: str
    model: str = ""
    """Any if empty."""
    headers: Callable[[str], Headers] = lambda name: ()
    """Those that a dialect wants, with the key."""
    dialects: tuple[str, ...] = ()
    """Those that are tried, in this order."""


async def find_server(sought: SoughtServer, transport: Transport, seconds: float) -> FoundServer:
    """The place at this address that takes requests. Raises ProbeError if there is none."""
    timeouts = Timeouts(connect=min(seconds, 10.0), first_byte=seconds, idle=seconds, total=seconds, queue=seconds)
    search = _Search(transport, timeouts)
    nameless = ""
    for name in _in_order(sought):
        asked = find_asked_dialect(name)
        headers = sought.headers(name)
        for base in _bases(sought.url, asked):
            listing = await search.list_models(base + asked.dialect.models_path, headers)
            if search.fault:
                raise ProbeError(search.fault, at=sought.url, hint=search.advice)
            chosen = sought.model or next(iter(listing), "")
            server = ProbedServer(base + _path(asked, chosen), chosen, headers, asked)
            if not await search.serves(server):
                continue
            if chosen:
                return FoundServer(server, base, tuple(listing), listing.get(chosen, 0))
            nameless = nameless or base
    if nameless:
        hint = "give its key with --key-env, or name a model with --model" if search.locked else "name one with --model"
        raise ProbeError("the server does not list its models", at=nameless, hint=hint)
    raise await search.nowhere(sought)


def _in_order(sought: SoughtServer) -> Sequence[str]:
    """The dialects to try: the one that the address ends with, or those that are wanted, or all."""
    wanted = sought.dialects or list_asked()
    url = sought.url.rstrip("/")
    ending = [name for name in wanted if url.endswith(_path(find_asked_dialect(name), sought.model))]
    return ending[:1] or wanted


def _path(asked: AskedDialect, model: str) -> str:
    return asked.dialect.request_path(RenderOptions(model, False), "")


def _bases(url: str, asked: AskedDialect) -> Iterator[str]:
    """The addresses below which the path may be. Many people leave out `/v1`, some give more than the base."""
    plain, path = url.rstrip("/"), _path(asked, "")
    if plain.endswith(path):
        yield plain.removesuffix(path)
        return
    version = f"/{path.split('/')[1]}"
    if plain.endswith(version) and path.count("/") > 1:
        yield plain.removesuffix(version)
    usual = asked.dialect.prefixes[0]
    if not urlsplit(plain).path and not path.startswith(usual):
        yield f"{plain}{usual}"
    yield plain


class _Search:
    """Looks at the paths of a server."""

    def __init__(self, transport: Transport, timeouts: Timeouts) -> None:
        self._transport = transport
        self._timeouts = timeouts
        self.fault = ""
        self.advice = ""
        self.locked = False
        """Whether it wants a key, or another one."""

    async def list_models(self, url: str, headers: Headers) -> dict[str, int]:
        """The models by name, each with its window; none if the server does not list them."""
        status, content = await self._fetch(Outgoing("GET", url, headers))
        self.locked = self.locked or status in (401, 403)
        try:
            listed = msgspec.json.decode(content) if status == 200 else None
        except (msgspec.DecodeError, RecursionError):
            return {}
        if isinstance(listed, dict):
            listed = next((listed[name] for name in _LISTS if isinstance(listed.get(name), list)), None)
        return dict(_windows(listed)) if isinstance(listed, list) else {}

    async def serves(self, server: ProbedServer) -> bool:
        """Whether a path is served. The request is none: it has no turns, so that it costs nothing."""
        status, content = await self._fetch(server.outgoing({server.asked.form.turns_at: []}))
        return status in _THERE and content.lstrip()[:1] in (b"{", b"[")

    async def nowhere(self, sought: SoughtServer) -> ProbeError:
        """What is there instead."""
        root = f"{urlsplit(sought.url).scheme}://{urlsplit(sought.url).netloc}"
        for other in list_dialects():
            path = other.request_path(RenderOptions("model", False), "")
            tried = [Outgoing("POST", f"{root}{prefix}{path}", (), b"{}") for prefix in other.prefixes[:2]]
            answers = [await self._fetch(one) for one in tried]
            if any(status in _THERE and content.lstrip()[:1] in (b"{", b"[") for status, content in answers):
                known = other.name in list_asked()
                hint = f"give --dialect {other.name}" if known else "use a profile of that dialect"
                return ProbeError(f"the server speaks {other.title}", at=sought.url, hint=hint)
        paths = ", ".join(_path(find_asked_dialect(name), "MODEL") for name in sought.dialects or list_asked())
        return ProbeError(f"the server serves none of {paths}", at=sought.url, hint="give the address with its path")

    async def _fetch(self, outgoing: Outgoing) -> tuple[int, bytes]:
        try:
            incoming = await self._transport.send(outgoing, self._timeouts)
            async with incoming:
                return incoming.status, await incoming.read(_LIST_LIMIT)
        except TransportFailure as fault:
            self.fault, self.advice = fault.what, fault.advice
            return 0, b""


def _windows(entries: list[Any]) -> Iterator[tuple[str, int]]:
    """The names of the models, each with the window that the server states."""
    for entry in entries[:_MOST_MODELS]:
        names = [entry.get(key) for key in _NAMES] if isinstance(entry, dict) else []
        name = next((one for one in names if isinstance(one, str)), "").removeprefix(_PATH_IN_NAME)
        if 0 < len(name) <= _LONGEST_NAME:
            yield name, _window(entry)


def _window(entry: dict[str, Any]) -> int:
    meta = entry.get("meta")
    tables = (entry, meta) if isinstance(meta, dict) else (entry,)
    stated = [table.get(name) for table in tables for name in _WINDOWS]
    return next((one for one in stated if isinstance(one, int) and 0 < one < _MOST_WINDOW), 0)
