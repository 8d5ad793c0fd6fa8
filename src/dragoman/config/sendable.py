"""Whether an address, a key and a header can stand in a request at all."""

from __future__ import annotations

from urllib.parse import urlsplit

TRANSPORT_HEADERS = frozenset(
    {
        *("connection", "content-length", "expect", "keep-alive", "proxy-authorization"),
        *("proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
    }
)
"""These decide where a message ends or what a connection becomes, so only the transport may set them."""


def key_fault(key: str) -> str | None:
    """What is wrong with a key."""
    if key.isprintable() and key.isascii():
        return None
    return "contains characters that a header cannot carry; copy it again, without quotes and line breaks"


def url_fault(url: str) -> str | None:
    """What is wrong with an address."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or not url.isprintable() or " " in url:
        return 'is not a valid URL; write it like "https://api.example.com/v1"'
    if parts.username or parts.password:
        return "contains a user name or password; use headers instead"
    if parts.query or parts.fragment:
        return "has a query or fragment; give only scheme, host and path"
    return None
