"""What providers themselves say about their models: names, windows, prices. Asked when needed, and kept a while.

A provider that does not answer costs nothing but its share of the list: a request waits for a first list for a short
time, and for a later one not at all.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import msgspec

from dragoman.dialects.registry import dialect
from dragoman.upstream.auth.caller_credential import CallerCredential
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.transport.failures import TransportFailure
from dragoman.upstream.transport.outgoing import Outgoing
from dragoman.upstream.transport.transport import Transport

Entry = Mapping[str, Any]
KEPT_SECONDS = 300.0
RETRY_SECONDS = 30.0
FIRST_TIMEOUT = 3.0
"""Seconds that a request waits for the first list of a provider."""
OWN_TIMEOUT = 2.0
"""Seconds that a request waits for the list that its caller's own credential shows."""
MOST_MODELS = 5000
_LONGEST_NAME = 512
_TIMEOUT = 10.0
_LIMIT = 8 * 1024 * 1024


class _Listed(msgspec.Struct, frozen=True):
    """The last list of a provider, and until when it is good."""

    until: float
    entries: Mapping[str, Entry]


_NOTHING = _Listed(0.0, {})


class LiveModels:
    """The lists of models of all providers. Each is asked by one task at a time, beside the requests."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], _Listed] = {}
        self._asking: dict[tuple[str, str], asyncio.Task[None]] = {}
        self._described_models: dict[tuple[str, str], _Listed] = {}

    async def entry(
        self, destination: HttpDestination, transport: Transport, credential: CallerCredential | None = None
    ) -> Entry | None:
        """What the provider says about the model of a destination, in its list and where it describes one."""
        entry = (await self.entries(destination, transport, credential=credential)).get(destination.target.model)
        if entry is None or not dialect(destination.target.dialect).show_path:
            return entry
        return {**entry, **await self._describe(destination, transport)}

    async def _describe(self, destination: HttpDestination, transport: Transport) -> Entry:
        """What a provider says about one model when it is asked for that alone."""
        key = (destination.base_url, destination.target.model)
        known = self._described_models.get(key)
        if known is None or known.until < time.monotonic():
            found = await _ask_about(destination, transport)
            if len(self._described_models) >= MOST_MODELS:
                self._described_models.clear()
            kept = KEPT_SECONDS if found else RETRY_SECONDS
            known = self._described_models[key] = _Listed(time.monotonic() + kept, {"": found})
        return known.entries[""]

    async def entries(
        self,
        destination: HttpDestination,
        transport: Transport,
        seconds: float = FIRST_TIMEOUT,
        credential: CallerCredential | None = None,
    ) -> Mapping[str, Entry]:
        """All models of a destination's provider, by their names; none if it does not tell. `seconds`: how long to
        wait for its first list. What a caller's own credential shows is the caller's, and not kept."""
        if destination.as_caller:
            own = credential is not None and credential.scheme == destination.scheme
            return await _ask(destination, transport, credential) or {} if own else {}
        key = (destination.provider, destination.base_url)
        known = self._known.get(key)
        if known is None or known.until < time.monotonic():
            asking = self._asked(key, destination, transport)
            if known is None:
                await asyncio.wait((asking,), timeout=seconds)
        return self._known.get(key, _NOTHING).entries

    def known_names(self) -> Iterable[str]:
        """Every name that is known at this moment, without asking anybody."""
        return (name for listed in self._known.values() for name in listed.entries)

    def close(self) -> None:
        for asking in self._asking.values():
            asking.cancel()

    def _asked(self, key: tuple[str, str], destination: HttpDestination, transport: Transport) -> asyncio.Task[None]:
        found = self._asking.get(key)
        if found is None:
            found = self._asking[key] = asyncio.create_task(self._refresh(key, destination, transport))
        return found

    async def _refresh(self, key: tuple[str, str], destination: HttpDestination, transport: Transport) -> None:
        """Ask once more. What was known before stays if the provider does not answer."""
        try:
            entries = await _ask(destination, transport)
            before = self._known.get(key, _NOTHING).entries
            kept = KEPT_SECONDS if entries is not None else RETRY_SECONDS
            self._known[key] = _Listed(time.monotonic() + kept, before if entries is None else entries)
        finally:
            del self._asking[key]


async def _ask(
    destination: HttpDestination, transport: Transport, credential: CallerCredential | None = None
) -> Mapping[str, Entry] | None:
    if not destination.target.profile.lists_models:
        return {}
    url = destination.url(dialect(destination.target.dialect).models_path)
    headers = (*destination.signed(0), ("accept", "application/json"))
    outgoing = Outgoing("GET", url, headers, private=credential.headers if credential is not None else ())
    try:
        async with asyncio.timeout(_TIMEOUT if credential is None else OWN_TIMEOUT):
            incoming = await transport.send(outgoing, destination.timeouts)
            body = await incoming.read(_LIMIT)
        return _by_name(msgspec.json.decode(body)) if incoming.status == 200 else None
    except (TransportFailure, TimeoutError, msgspec.DecodeError):
        return None


async def _ask_about(destination: HttpDestination, transport: Transport) -> Entry:
    url = destination.url(dialect(destination.target.dialect).show_path)
    headers = (*destination.signed(0), ("content-type", "application/json"))
    body = msgspec.json.encode({"model": destination.target.model})
    try:
        async with asyncio.timeout(FIRST_TIMEOUT):
            incoming = await transport.send(Outgoing("POST", url, headers, body), destination.timeouts)
            shown = await incoming.read(_LIMIT)
        return _description(msgspec.json.decode(shown)) if incoming.status == 200 else {}
    except (TransportFailure, TimeoutError, msgspec.DecodeError):
        return {}


def _description(shown: Any) -> Entry:
    """What is kept of a description: abilities, details, and the window, which stands under the architecture's name."""
    if not isinstance(shown, dict):
        return {}
    kept = {name: shown[name] for name in ("capabilities", "details") if name in shown}
    known = shown.get("model_info")
    windows = (
        [value for name, value in known.items() if name.endswith(".context_length")] if isinstance(known, dict) else []
    )
    return {**kept, "context_length": windows[0]} if windows and isinstance(windows[0], int) else kept


def _by_name(listed: Any) -> Mapping[str, Entry]:
    entries = listed.get("data") or listed.get("models") if isinstance(listed, dict) else listed
    if not isinstance(entries, list):
        return {}
    return dict(islice(_find_named(entry for entry in entries if isinstance(entry, dict)), MOST_MODELS))


def _find_named(entries: Iterable[dict[str, Any]]) -> Iterable[tuple[str, Entry]]:
    for entry in entries:
        name = entry.get("id") or entry.get("name")
        if isinstance(name, str) and len(name) <= _LONGEST_NAME:
            yield name.removeprefix("models/"), entry


def context_window(entry: Entry) -> int | None:
    """The window that a provider states, under any of the usual names."""
    for name in ("context_length", "context_window", "max_context_length", "max_model_len", "inputTokenLimit"):
        if isinstance(value := entry.get(name), int):
            return value
    return None
