"""What providers themselves say about their models, such as windows and prices: asked on demand, and kept a while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from dragoman.dialects.registry import dialect
from dragoman.upstream.destinations import HttpDestination
from dragoman.upstream.transport import Outgoing, Transport, TransportFailure

Entry = Mapping[str, Any]
KEPT_SECONDS = 300.0
_TIMEOUT = 5.0
_LIMIT = 16 * 1024 * 1024


class LiveModels:
    """The lists of models of all providers, by the provider's name. A provider that does not answer has none."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[float, Mapping[str, Entry]]] = {}
        self._asking = asyncio.Lock()

    async def entry(self, destination: HttpDestination, transport: Transport) -> Entry | None:
        """What the provider says about the model of a destination."""
        async with self._asking:
            known = self._known.get(destination.provider)
            if known is None or known[0] < time.monotonic():
                found = await _ask(destination, transport)
                known = self._known[destination.provider] = (time.monotonic() + KEPT_SECONDS, found)
        return known[1].get(destination.target.model)


async def _ask(destination: HttpDestination, transport: Transport) -> Mapping[str, Entry]:
    url = destination.url(dialect(destination.target.dialect).models_path)
    outgoing = Outgoing("GET", url, (*destination.signed(0), ("accept", "application/json")), b"")
    try:
        async with asyncio.timeout(_TIMEOUT):
            incoming = await transport.send(outgoing, destination.timeouts)
            body = await incoming.read(_LIMIT)
        return _by_name(msgspec.json.decode(body)) if incoming.status == 200 else {}
    except (TransportFailure, TimeoutError, msgspec.DecodeError):
        return {}


def _by_name(listed: Any) -> Mapping[str, Entry]:
    entries = listed.get("data") or listed.get("models") if isinstance(listed, dict) else listed
    if not isinstance(entries, list):
        return {}
    return dict(_named(entry for entry in entries if isinstance(entry, dict)))


def _named(entries: Iterable[dict[str, Any]]) -> Iterable[tuple[str, Entry]]:
    for entry in entries:
        name = entry.get("id") or entry.get("name")
        if isinstance(name, str):
            yield name.removeprefix("models/"), entry


def context_window(entry: Entry) -> int | None:
    """The window that a provider states, under any of the usual names."""
    for name in ("context_length", "context_window", "max_context_length", "max_model_len", "inputTokenLimit"):
        if isinstance(value := entry.get(name), int):
            return value
    return None
