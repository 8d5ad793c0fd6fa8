"""Who is asking, and may they? Decided before it is looked up whether a model exists."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import urlsplit

from dragoman.config.clients import Client, Clients
from dragoman.config.schema.keys import ClientKey
from dragoman.config.schema.server import ServerConfig
from dragoman.config.validation import is_loopback
from dragoman.conversation.bounded_cache import BoundedCache, CacheEntry
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.gateway.callers.caller import OWNER, STRANGER, Caller, Refused
from dragoman.gateway.callers.console_sessions import is_own_page, session_client
from dragoman.gateway.http.inbound import Inbound
from dragoman.gateway.live_config import LiveConfig
from dragoman.store.contracts.rate_limits import KeyLimits

_WANTED = (
    "this gateway wants a key: as `Authorization: Bearer KEY`, `x-dragoman-key`, `x-api-key`, `x-goog-api-key`, "
    "`api-key` or `?key=`"
)
_UNKNOWN = "the key is not known to this gateway; `dragoman keys list` there shows which are"
_OWN_NAMES = frozenset({"localhost", "127.0.0.1"})  # the usual ones, so that most requests cost no parsing


def identify(live: LiveConfig, inbound: Inbound) -> Caller:
    """The caller behind a request. Raises Refused."""
    if not live.clients.by_hash:
        server = live.config.server
        _may_be_called(server, inbound.headers.get("host"))
        if (origin := inbound.headers.get("origin")) is not None:
            _may_come_from(server, origin)
        elif inbound.headers.get("sec-fetch-site") == "cross-site":  # a picture or a link has no origin
            _may_come_from(server, "elsewhere")
        return OWNER
    clients, keys = live.clients, live.config.keys
    client = clients.identify(inbound.key()) or _by_password(clients, inbound) or _find_signed_in(keys, inbound)
    if client is None:
        raise Refused(Failure(FailureKind.AUTH, _WANTED if not inbound.key() else _UNKNOWN, 401))
    if client.key.expires is not None and client.is_expired(datetime.now(UTC)):
        raise Refused(Failure(FailureKind.AUTH, "the key has expired", 401))
    if client.key.allowed_endpoints and not client.may_call(inbound.path):
        raise Refused(Failure(FailureKind.PERMISSION, f"the key may not call {inbound.path}", 403))
    return _KNOWN.get(id(client)) or _know(client)


def _by_password(clients: Clients, inbound: Inbound) -> Client | None:
    """Whose key stands as the password of HTTP Basic. A browser adds it to requests of foreign pages too: those do not
    count."""
    password = inbound.password()
    return clients.identify(password) if password and is_own_page(inbound.headers) else None


def _find_signed_in(keys: dict[str, ClientKey], inbound: Inbound) -> Client | None:
    """Who signed in to the console with this browser. A page of another site cannot use that."""
    cookies = inbound.headers.get("cookie")
    if cookies is None or inbound.key() or not is_own_page(inbound.headers):
        return None
    client = session_client(cookies, keys)
    return client if client is not None and client.key.admin else None


def _know(client: Client) -> Caller:
    key = client.key
    limits = KeyLimits.of(key) if key.is_limited() else None
    known = Caller(
        name=client.name,
        admin=key.admin,
        client=client,
        limits=limits,
        counts_tokens=limits is not None and limits.tokens_per_minute is not None,
        budget=key.budget,
    )
    _KNOWN.put(id(client), CacheEntry(known, 1024, client))
    return known


_KNOWN: BoundedCache[int] = BoundedCache(f"{__name__}.{Caller.__qualname__}")
"""By the id of the client."""


def _may_be_called(server: ServerConfig, host: str | None) -> None:
    """Raise Refused for a name that is not ours.

    A web page can have its own name resolve to this machine (DNS rebinding). Its requests then have no foreign origin,
    but they have its name as their host. A program that is no browser need not send one.
    """
    if host is None or server.allow_public_without_keys:
        return
    name = host_name(host)
    if name in _OWN_NAMES or is_loopback(name) or name in server.hosts or name == server.host.strip("[]").lower():
        return
    what = f'a gateway without keys does not answer to "{name[:100]}"; add it to server.hosts, or make a key with: '
    raise Refused(Failure(FailureKind.PERMISSION, what + "dragoman keys create NAME", 403, "host_not_allowed"))


def host_name(host: str) -> str:
    """The name in a Host header: without its port, in small letters."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].rstrip(".").lower()


def _may_come_from(server: ServerConfig, origin: str) -> None:
    """Raise Refused for a web page of another site: it may post to this machine unasked, and no key stops it."""
    try:
        parts = urlsplit(origin)
        ours = parts.scheme not in ("http", "https", "") or is_loopback(parts.hostname or "")
    except ValueError:
        ours = False
    if ours or server.allow_public_without_keys:
        return
    what = f"pages of {origin} may not use a gateway without keys; make one with: dragoman keys create NAME"
    raise Refused(Failure(FailureKind.PERMISSION, what, 403))


def recognise(live: LiveConfig, inbound: Inbound) -> Caller:
    """The caller, if anybody may ask: a stranger without a good key."""
    try:
        return identify(live, inbound)
    except Refused:
        return STRANGER
