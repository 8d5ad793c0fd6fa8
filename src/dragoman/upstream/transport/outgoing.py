"""A request as the caller means it, and the bytes it becomes."""

from collections.abc import AsyncIterator
from functools import lru_cache

import msgspec

from dragoman.upstream.transport.address import Address
from dragoman.upstream.transport.failures import Unsendable

_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
# Who may set these decides where a message ends, or what a connection becomes; that has to be us.
_OURS = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_HOST, _ENCODING = 1, 2
_KINDS = {"host": _HOST, "accept-encoding": _ENCODING}
_SAFE = bytes([9, *range(32, 127), *range(128, 256)])
_BODIED = frozenset({"POST", "PUT", "PATCH"})


class Outgoing(msgspec.Struct, frozen=True):
    """One request. A body of bytes goes out at once; an iterator is sent in chunks, as fast as the server takes it."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | AsyncIterator[bytes] = b""


def compose(outgoing: Outgoing, address: Address, relay: str | None = None) -> bytes:
    """The head of a request. `relay` is the header block of a proxy that wants the whole URL in the request line."""
    body = outgoing.body
    head = _head(outgoing.method, address, outgoing.headers, relay)
    if not isinstance(body, bytes):
        return head + b"transfer-encoding: chunked\r\n\r\n"
    if body or outgoing.method in _BODIED:
        return b"%bcontent-length: %d\r\n\r\n" % (head, len(body))
    return head + b"\r\n"


@lru_cache(maxsize=256)
def _head(method: str, address: Address, headers: tuple[tuple[str, str], ...], relay: str | None) -> bytes:
    """All of the head but its last line. The same for every request to one place with one key, so written once."""
    target = address.target if relay is None else f"{address.origin}{address.target}"
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
    if relay:
        lines.append(relay)
    return _written(lines)


def _written(lines: list[str]) -> bytes:
    """Join the lines, and prove that the only line ends are our own: nothing in them can start another header."""
    lines.append("")
    try:
        head = "\r\n".join(lines).encode("latin-1")
    except UnicodeEncodeError:
        raise _refusal("a header value holds a letter beyond latin-1", "Percent-encode it") from None
    if head.translate(None, _SAFE) != b"\r\n" * (len(lines) - 1):
        raise _refusal("a header holds a line end or another control character", "Remove it")
    return head


def _kind(name: str) -> int:
    """Check a header's name and say whether it takes the place of one of our own."""
    lower = name.lower()
    if not name or not _TOKEN.issuperset(name):
        raise _refusal(f"{name!r} is not a header name", "Use letters, digits and hyphens")
    if lower in _OURS:
        raise _refusal(f"the header {lower} is set by the transport", "Leave it out")
    return _KINDS.get(lower, 0)


def _check_method(method: str) -> None:
    if not method or not _TOKEN.issuperset(method) or method.upper() == "CONNECT":
        raise _refusal(f"{method!r} is not a method that can be sent", "Use GET, POST or another plain method")


def _refusal(what: str, advice: str) -> Unsendable:
    return Unsendable("request", what, advice)
