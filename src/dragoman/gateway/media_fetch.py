"""Fetch media that a client gives by URL, for targets that take it only inline.

The URL comes from a client, so the gateway does not trust it: only http and https, only public addresses (unless the
configuration allows a host), limits on size and time, and no redirects.
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
    """Fetches with two HTTP clients: one for public addresses, one for the hosts that the configuration allows."""

    def __init__(self, config: MediaConfig) -> None:
        self._config = config
        self._public: Transport | None = None
        self._allowed: Transport | None = None

    async def fetch(self, urls: Sequence[str]) -> Mapping[str, bytes]:
        """The fetched contents by URL. Those that could not be fetched are missing; a rule sends their URL as text."""
        if not self._config.fetch:
            return {}
        found = await asyncio.gather(*[self._fetch_one(url) for url in urls[:32]])
        return {url: content for url, content in zip(urls, found, strict=False) if content is not None}

    async def _fetch_one(self, url: str) -> bytes | None:
        host = _host(url)
        if not host:
            return None
        timeouts = Timeouts(connect=5, first_byte=self._config.timeout, idle=5, total=self._config.timeout)
        try:
            incoming = await self._transport(host).send(Outgoing("GET", url), timeouts)
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
    """The host of an http or https URL; empty for any other."""
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
