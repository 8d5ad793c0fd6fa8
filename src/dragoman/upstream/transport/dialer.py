"""Open a connection: directly or through a proxy, with or without TLS."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import TypeVar

from dragoman.upstream.transport.address import HttpOrigin
from dragoman.upstream.transport.address_guard import Guard, is_address
from dragoman.upstream.transport.failures import AddressRefused, ConnectFailed, ProxyFailed, TlsFailed, TransportFailure
from dragoman.upstream.transport.proxy import Proxy, Tunnel
from dragoman.upstream.transport.tls import Tls

_P = TypeVar("_P", bound=asyncio.Protocol)
_TLS_SHUTDOWN_SECONDS = 2.0
# A model may think for minutes without sending a byte. Firewalls drop silent connections earlier.
_KEEP_ALIVE_OPTIONS = (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 30), ("TCP_KEEPCNT", 4))


class Dialer:
    """Opens connections. Made once, because loading the system's certificates takes a while."""

    def __init__(self, tls: Tls, guard: Guard | None = None) -> None:
        self._tls = tls
        self._guard = guard
        self._context: ssl.SSLContext | None = None

    async def dial(self, origin: HttpOrigin, proxy: Proxy | None, make: Callable[[], _P]) -> _P:
        """Connect. Every failure is a `ConnectFailed` with advice."""
        made: list[_P] = []

        def remember() -> _P:
            made.append(make())
            return made[-1]

        try:
            return await self._dial(origin, proxy, remember)
        except BaseException:
            for connection in made:  # uvloop does not tell one that was cancelled as it was made
                connection.connection_lost(None)
            raise

    async def _dial(self, origin: HttpOrigin, proxy: Proxy | None, make: Callable[[], _P]) -> _P:
        try:
            if proxy is None:
                return await self._direct(origin, make)
            if self._guard is not None and is_address(origin.host):  # the proxy resolves names and decides about them
                await self._find_addresses(origin, self._guard)
            if origin.secure:
                return await self._open_tunnel(origin, proxy, make)
            return (await self._reach_proxy(origin, proxy, make))[1]
        except TransportFailure:
            raise
        except (OSError, ssl.SSLError) as error:
            raise _failure(origin, error) from error

    async def _direct(self, origin: HttpOrigin, make: Callable[[], _P]) -> _P:
        hosts = [origin.host] if self._guard is None else await self._find_addresses(origin, self._guard)
        for host in hosts[:-1]:
            with contextlib.suppress(OSError):
                return (await self._reach(origin, make, host))[1]
        return (await self._reach(origin, make, hosts[-1]))[1]

    async def _find_addresses(self, origin: HttpOrigin, guard: Guard) -> list[str]:
        """The addresses of a host. Raises if one of them is not allowed."""
        loop = asyncio.get_running_loop()
        known = await loop.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(entry[4][0]) for entry in known))
        for address in addresses:
            if not guard(address):
                advice = "Allow it explicitly if you trust the sender of the URL"
                raise AddressRefused(str(origin), f"it resolves to {address}, which is not allowed", advice)
        return addresses

    async def _reach(self, origin: HttpOrigin, make: Callable[[], _P], host: str) -> tuple[asyncio.Transport, _P]:
        loop = asyncio.get_running_loop()
        if origin.secure:
            transport, protocol = await loop.create_connection(
                make,
                host,
                origin.port,
                ssl=self._ssl_context(),
                server_hostname=origin.host,
                ssl_shutdown_timeout=_TLS_SHUTDOWN_SECONDS,
            )
        else:
            transport, protocol = await loop.create_connection(make, host, origin.port)
        _keep_alive(transport)
        return transport, protocol

    async def _reach_proxy(
        self, origin: HttpOrigin, proxy: Proxy, make: Callable[[], _P]
    ) -> tuple[asyncio.Transport, _P]:
        try:
            return await self._reach(proxy.origin, make, proxy.origin.host)
        except OSError as error:
            where = f"proxy {proxy.origin} for {origin}"
            raise ProxyFailed(where, f"it cannot be reached ({_reason(error)})", "Check HTTP(S)_PROXY") from error

    async def _open_tunnel(self, origin: HttpOrigin, proxy: Proxy, make: Callable[[], _P]) -> _P:
        raw, tunnel = await self._reach_proxy(origin, proxy, lambda: Tunnel(proxy, origin))
        try:
            await tunnel.opened
            connection = make()
            secured = await asyncio.get_running_loop().start_tls(
                raw,
                connection,
                self._ssl_context(),
                server_hostname=origin.host,
                ssl_shutdown_timeout=_TLS_SHUTDOWN_SECONDS,
            )
        except BaseException:
            raw.abort()
            raise
        if secured is None:
            raise ProxyFailed(f"proxy {proxy.origin} for {origin}", "the tunnel broke during TLS", "Try again")
        connection.connection_made(secured)
        return connection

    def _ssl_context(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = self._tls.context()
        return self._context


def _keep_alive(transport: asyncio.BaseTransport) -> None:
    sock: socket.socket | None = transport.get_extra_info("socket")
    if sock is None:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEP_ALIVE_OPTIONS:
        option: int | None = getattr(socket, name, None)
        if option is not None:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST")
"""What OpenSSL calls an answer in plain text."""


def _failure(origin: HttpOrigin, error: Exception) -> ConnectFailed:
    where = str(origin)
    if isinstance(error, ssl.SSLCertVerificationError):
        what = f"its certificate is not trusted ({error.verify_message})"
        return TlsFailed(
            where, what, "If it is your own server, set ca_file of its provider to its certificate authority"
        )
    if isinstance(error, ssl.SSLError):
        if error.reason in _NO_TLS:
            return TlsFailed(where, f"it does not speak TLS ({error.reason})", "Write http:// in its URL")
        return TlsFailed(where, f"the TLS handshake failed ({error.reason or error})", "Check scheme and port")
    if isinstance(error, ConnectionAbortedError | ConnectionResetError) and origin.secure:
        return TlsFailed(where, f"it closed the connection during TLS ({_reason(error)})", "Check scheme and port")
    if isinstance(error, socket.gaierror):
        return ConnectFailed(where, f"its name cannot be resolved ({_reason(error)})", "Check the host name and DNS")
    return ConnectFailed(where, f"it cannot be reached ({_reason(error)})", "Check that it is running and reachable")


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error or type(error).__name__)
