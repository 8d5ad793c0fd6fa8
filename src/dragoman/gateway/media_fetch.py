"""Fetching media that a client names by URL, for a target that takes it only inline.

The URL comes from a stranger: only https and http, only public addresses unless the configuration allows a host, a
bound on size and time, and no redirects, which could lead anywhere.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from dragoman.config.schema import MediaConfig
from dragoman.upstream.transport import Outgoing, Proxies, Timeouts, Transport, TransportFailure, public_only


class MediaFetcher:
    """Two clients: one for the public internet, one for the hosts that are allowed by name."""

    def __init__(self, config: MediaConfig) -> None:
        self._config = config
        self._public: Transport | None = None
        self._allowed: Transport | None = None

    async def fetch(self, urls: Sequence[str]) -> Mapping[str, bytes]:
        """What could be fetched, by URL. What could not is left out, and then told as text."""
        if not self._config.fetch:
            return {}
        found = await asyncio.gather(*[self._one(url) for url in urls[:32]])
        return {url: content for url, content in zip(urls, found, strict=False) if content is not None}

    async def _one(self, url: str) -> bytes | None:
        host = _host(url)
        if not host:
            return None
        patience = Timeouts(connect=5, first_byte=self._config.timeout, idle=5, total=self._config.timeout)
        try:
            incoming = await self._transport(host).send(Outgoing("GET", url), patience)
            async with incoming:
                return await incoming.read(self._config.max_bytes) if incoming.status == 200 else None
        except TransportFailure:
            return None

    def _transport(self, host: str) -> Transport:
        if self._is_allowed(host):
            self._allowed = self._allowed or Transport(proxies=Proxies())
            return self._allowed
        self._public = self._public or Transport(proxies=Proxies(), guard=public_only)
        return self._public

    def _is_allowed(self, host: str) -> bool:
        return any(fnmatchcase(host, allowed) or _within(host, allowed) for allowed in self._config.allow)

    async def close(self) -> None:
        for transport in (self._public, self._allowed):
            if transport is not None:
                await transport.close()


def _host(url: str) -> str:
    """The host of a URL that may be fetched; nothing where it may not, or is none."""
    try:
        parts = urlsplit(url)
        return parts.hostname or "" if parts.scheme in ("http", "https") else ""
    except ValueError:
        return ""


def _within(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
