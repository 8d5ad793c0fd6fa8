"""A request, and its head as bytes."""

from collections.abc import AsyncIterator
from functools import lru_cache

import msgspec

from dragoman.config.sendable import TRANSPORT_HEADERS
from dragoman.upstream.transport.address import Address
from dragoman.upstream.transport.failures import Unsendable

_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_HOST, _ENCODING = 1, 2
_KINDS = {"host": _HOST, "accept-encoding": _ENCODING}
_SAFE = bytes([9, *range(32, 127), *range(128, 256)])
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class Outgoing(msgspec.Struct, frozen=True):
    """One request. A body of bytes is sent at once, an iterator in chunks as fast as the server accepts them."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | AsyncIterator[bytes] = b""
    private: tuple[tuple[str, str], ...] = ()
    """Headers that are remembered nowhere."""

    def __repr__(self) -> str:
        return f"<Outgoing: {self.method} {self.url.partition('?')[0]}>"


def render_head(outgoing: Outgoing, address: Address, proxy_header: str | None = None) -> bytes:
    """The head of a request. `proxy_header` is set for a proxy, which needs the whole URL in the request line."""
    body = outgoing.body
    head = _render_lines(outgoing.method, address, outgoing.headers, proxy_header)
    if outgoing.private:
        head += _encode_lines([f"{name}: {value}" for name, value in outgoing.private if not _kind(name)])
    if not isinstance(body, bytes):
        return head + b"transfer-encoding: chunked\r\n\r\n"
    if body or outgoing.method in _WITH_BODY:
        return b"%bcontent-length: %d\r\n\r\n" % (head, len(body))
    return head + b"\r\n"


@lru_cache(maxsize=256)
def _render_lines(
    method: str, address: Address, headers: tuple[tuple[str, str], ...], proxy_header: str | None
) -> bytes:
    """The head without its last line. Cached, because it is the same for all requests to one address with one key."""
    target = address.target if proxy_header is None else f"{address.origin}{address.target}"
    _check_method(method)
    lines = [f"{method} {target} HTTP/1.1"]
    seen = 0
    for name, value in headers:
        kind = _kind(name)
        if kind:
            if kind & seen & _HOST:
                raise _refusal("the host header is given twice", "Give it once")
            seen |= kind
        lines.append(f"{name}: {value}")
    if not seen & _HOST:
        lines.append(f"host: {address.host}")
    if not seen & _ENCODING:
        lines.append("accept-encoding: identity")
    if proxy_header:
        lines.append(proxy_header)
    return _encode_lines(lines)


def _encode_lines(lines: list[str]) -> bytes:
    """Join the lines. Refuses any other line end, so that no value can start another header."""
    lines.append("")
    try:
        head = "\r\n".join(lines).encode("latin-1")
    except UnicodeEncodeError:
        raise _refusal("a header value contains a character outside latin-1", "Percent-encode it") from None
    if head.translate(None, _SAFE) != b"\r\n" * (len(lines) - 1):
        raise _refusal("a header contains a line end or another control character", "Remove it")
    return head


def _kind(name: str) -> int:
    """Check the name of a header. Returns which default header it replaces, or 0."""
    lower = name.lower()
    if not name or not _TOKEN.issuperset(name):
        raise _refusal(f"{name!r} is not a header name", "Use letters, digits and hyphens")
    if lower in TRANSPORT_HEADERS:
        raise _refusal(f"the header {lower} is set by the transport", "Leave it out")
    return _KINDS.get(lower, 0)


def _check_method(method: str) -> None:
    if not method or not _TOKEN.issuperset(method) or method.upper() == "CONNECT":
        raise _refusal(f"{method!r} is not a supported method", "Use GET, POST or another plain method")


def _refusal(what: str, advice: str) -> Unsendable:
    return Unsendable("request", what, advice)
