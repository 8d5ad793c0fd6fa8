"""Proxies: which one to use for an origin, and how to open a tunnel through it."""

import asyncio
import ipaddress
from base64 import b64encode
from collections.abc import Mapping
from typing import Self, cast
from urllib.parse import unquote, urlsplit

import msgspec

from dragoman.upstream.transport.address import PORTS, HttpOrigin
from dragoman.upstream.transport.failures import ProxyFailed

_MAX_ANSWER = 16384


class Proxy(msgspec.Struct, frozen=True):
    """One proxy."""

    origin: HttpOrigin
    credentials: str = ""
    """A header line, or empty."""

    @classmethod
    def parse(cls, url: str) -> Self:
        """Parse `http://user:password@host:port`. A bare `host:port` counts as http."""
        split = urlsplit(url if "://" in url else f"http://{url}")
        if split.scheme not in PORTS or not split.hostname:
            what = f"a proxy with scheme {split.scheme!r} is not supported"
            raise ProxyFailed("proxy", what, "Give an http:// or https:// proxy, or list the host in NO_PROXY")
        try:
            port = split.port or PORTS[split.scheme]
        except ValueError as error:
            raise ProxyFailed("proxy", f"its port cannot be parsed ({error})", "Correct the URL of the proxy") from None
        return cls(HttpOrigin(split.scheme, split.hostname, port), _credentials(split.username, split.password))


class Proxies(msgspec.Struct, frozen=True):
    """Which requests go through a proxy. Those to this machine never do."""

    http: str | None = None
    """The proxy for `http`."""
    https: str | None = None
    """The proxy for `https`."""
    bypass: tuple[str, ...] = ()
    """Hosts that are reached without one."""

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Proxies from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY. The lower-case spelling wins."""

        def setting(name: str) -> str | None:
            return environ.get(name.lower()) or environ.get(name) or None

        everything = setting("ALL_PROXY")
        # Under CGI a client's "Proxy:" header becomes HTTP_PROXY (CVE-2016-5385), so only lower case is trusted.
        plain = environ.get("http_proxy") if "REQUEST_METHOD" in environ else setting("HTTP_PROXY")
        bypass = tuple(entry.strip().lower() for entry in (setting("NO_PROXY") or "").split(",") if entry.strip())
        return cls(plain or everything, setting("HTTPS_PROXY") or everything, bypass)

    def for_origin(self, origin: HttpOrigin) -> Proxy | None:
        """The proxy for an origin; None for a direct connection."""
        url = self.https if origin.secure else self.http
        if url is None or _is_loopback(origin.host) or any(_covers(entry, origin) for entry in self.bypass):
            return None
        return Proxy.parse(url)


class Tunnel(asyncio.Protocol):
    """The CONNECT handshake: send the request, and wait for a 200 without further bytes."""

    def __init__(self, proxy: Proxy, origin: HttpOrigin) -> None:
        self._proxy = proxy
        self._origin = origin
        self._answer = b""
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        place = f"{self._origin.bracketed}:{self._origin.port}"
        lines = [f"CONNECT {place} HTTP/1.1", f"host: {place}"]
        if self._proxy.credentials:
            lines.append(self._proxy.credentials)
        cast(asyncio.Transport, transport).write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, end, rest = self._answer.partition(b"\r\n\r\n")
        if not end and len(self._answer) <= _MAX_ANSWER:
            return
        self._settle(self._judge(head, bool(end), rest))

    def connection_lost(self, exc: Exception | None) -> None:
        self._settle(self._failure("it closed the connection during CONNECT", "See the log of the proxy"))

    def _judge(self, head: bytes, ended: bool, rest: bytes) -> ProxyFailed | None:
        version, _, status = head.split(b"\r\n", 1)[0].partition(b" ")
        if not ended or version not in (b"HTTP/1.1", b"HTTP/1.0"):
            return self._failure("it does not answer CONNECT with HTTP/1.1", "Check the address of the proxy")
        if status[:3] == b"407":
            return self._failure("it requires other credentials (407)", "Put user:password into the URL of the proxy")
        if status[:1] != b"2":
            shown = status.decode("latin-1")[:80]
            return self._failure(
                f"it refused CONNECT ({shown})", "Allow this host on the proxy, or list it in NO_PROXY"
            )
        # In TLS the client sends first, so bytes before that come from the proxy itself.
        return self._failure("it sent bytes before the tunnel was open", "Check the proxy") if rest else None

    def _settle(self, failure: ProxyFailed | None) -> None:
        if self.opened.done():
            return
        if failure is None:
            self.opened.set_result(None)
        else:
            self.opened.set_exception(failure)

    def _failure(self, what: str, advice: str) -> ProxyFailed:
        return ProxyFailed(f"proxy {self._proxy.origin} for {self._origin}", what, advice)


def _credentials(user: str | None, password: str | None) -> str:
    if user is None:
        return ""
    pair = f"{unquote(user)}:{unquote(password or '')}"
    return f"proxy-authorization: Basic {b64encode(pair.encode()).decode()}"


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    address = _ip(host)
    return address is not None and address.is_loopback


def _covers(entry: str, origin: HttpOrigin) -> bool:
    """Whether an entry of NO_PROXY covers an origin: `*`, a name with its subdomains, an address, a network."""
    if entry == "*":
        return True
    if "/" in entry:
        return _in_network(origin.host, entry)
    if entry in (origin.host, origin.bracketed):
        return True
    name, colon, port = entry.rpartition(":")
    if colon and port.isdigit() and "]" not in port:
        return int(port) == origin.port and _covers(name, origin)
    suffix = entry.lstrip("*").lstrip(".")
    return origin.host == suffix or origin.host.endswith(f".{suffix}")


def _in_network(host: str, network: str) -> bool:
    address = _ip(host)
    try:
        return address is not None and address in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
