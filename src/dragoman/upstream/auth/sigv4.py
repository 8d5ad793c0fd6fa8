"""AWS Signature Version 4: the headers that sign one request.

The canonical path is the path as it is sent, percent-encoded once more: `%3A` signs as `%253A`. So the path must not be
encoded again after it is signed.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import quote

import msgspec

from dragoman.upstream.transport.address import parse_address
from dragoman.upstream.transport.outgoing import Outgoing

ALGORITHM = "AWS4-HMAC-SHA256"
UNSIGNED = frozenset(
    {
        *("authorization", "baggage", "connection", "expect", "keep-alive"),
        *("proxy-authenticate", "proxy-authorization", "te", "trailer", "traceparent"),
        *("tracestate", "transfer-encoding", "upgrade", "user-agent", "x-amzn-trace-id"),
    }
)
"""Headers that proxies on the way may change."""


class AwsKeys(msgspec.Struct, frozen=True):
    """An access key."""

    access_key: str
    secret_key: str
    token: str = ""
    """Of a key that is valid for a while only."""


class SigningScope(msgspec.Struct, frozen=True):
    """What a signature is valid for."""

    region: str
    service: str


def sign(request: Outgoing, keys: AwsKeys, scope: SigningScope, at: float) -> tuple[tuple[str, str], ...]:
    """The headers to add to a request. `at` is the time in seconds since 1970."""
    moment = datetime.fromtimestamp(at, UTC).strftime("%Y%m%dT%H%M%SZ")
    added = [("x-amz-date", moment)]
    if keys.token:
        added.append(("x-amz-security-token", keys.token))
    day = moment[:8]
    credential = f"{day}/{scope.region}/{scope.service}/aws4_request"
    canonical, signed = _canonical(request, added)
    to_sign = "\n".join((ALGORITHM, moment, credential, _sha256(canonical.encode())))
    signature = hmac.new(_signing_key(keys.secret_key, day, scope), to_sign.encode(), hashlib.sha256).hexdigest()
    value = f"{ALGORITHM} Credential={keys.access_key}/{credential}, SignedHeaders={signed}, Signature={signature}"
    return (*added, ("authorization", value))


def _canonical(request: Outgoing, added: Iterable[tuple[str, str]]) -> tuple[str, str]:
    """The canonical request, and the names of its headers."""
    address = parse_address(request.url)
    path, _, query = address.target.partition("?")
    headers: dict[str, list[str]] = {"host": [address.host]}
    for name, value in (*request.headers, *added):
        if name.lower() not in UNSIGNED:
            headers.setdefault(name.lower(), []).append(" ".join(value.split()))
    names = sorted(headers)
    lines = "".join([f"{name}:{','.join(headers[name])}\n" for name in names])
    body = request.body if isinstance(request.body, bytes) else b""
    signed = ";".join(names)
    canonical = (request.method, quote(path, safe="/~"), _canonical_query(query), lines, signed, _sha256(body))
    return "\n".join(canonical), signed


def _canonical_query(query: str) -> str:
    pairs = [pair.partition("=") for pair in query.split("&") if pair]
    return "&".join([f"{name}={value}" for name, _, value in sorted(pairs, key=lambda pair: (pair[0], pair[2]))])


def _signing_key(secret: str, day: str, scope: SigningScope) -> bytes:
    key = f"AWS4{secret}".encode()
    for step in (day, scope.region, scope.service, "aws4_request"):
        key = hmac.new(key, step.encode(), hashlib.sha256).digest()
    return key


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
