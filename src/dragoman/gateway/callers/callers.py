"""Who is asking, and may they? Decided before it is looked up whether a model exists."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import urlsplit

import msgspec

from dragoman.config.clients import Client, Clients
from dragoman.config.schema.keys import Budget, ClientKey
from dragoman.config.schema.server import ServerConfig
from dragoman.config.validation import is_loopback
from dragoman.conversation.bounded_cache import BoundedCache, CacheEntry
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.gateway.callers.console_sessions import is_own_page, session_client
from dragoman.gateway.http.inbound import Inbound
from dragoman.gateway.live_config import LiveConfig
from dragoman.gateway.services import Services
from dragoman.store.contracts.rate_limits import KeyLimits
from dragoman.store.ledger_entry import Viewer
from dragoman.upstream.heavy_work import BUSY, HeavyWork, RequestWork
from dragoman.wire.json_size import SHORT, is_heavy


class Refused(Exception):
    """A request that goes no further, and the error for its client."""

    def __init__(self, failure: Failure, headers: tuple[tuple[bytes, bytes], ...] = ()) -> None:
        super().__init__(failure.message)
        self.failure = failure
        self.headers = headers


def nothing_at(path: str) -> Refused:
    first, second = [*path[:200].split("/")[1:3], "", ""][:2]
    if first and first == second:
        hint = f"it has /{first} twice: leave it out of the client's base URL"
    else:
        hint = "GET /openapi.json lists what there is"
    what = f"there is nothing at {path[:200]}; {hint}"
    return Refused(Failure(FailureKind.NOT_FOUND, what, 404, "unknown_url"))


class Caller(Viewer, frozen=True):
    """Who asks, and may go on. Without keys everybody on this machine is the owner."""

    client: Client | None = None
    """The client whose key was given, if there are keys."""
    limits: KeyLimits | None = None
    """How much the key may ask for."""
    counts_tokens: bool = False
    """Its tokens are limited, and must be known."""
    budget: Budget | None = None


_WANTED = (
    "this gateway wants a key: as `Authorization: Bearer KEY`, `x-dragoman-key`, `x-api-key`, `x-goog-api-key`, "
    "`api-key` or `?key=`"
)
_UNKNOWN = "the key is not known to this gateway; `dragoman keys list` there shows which are"
_OWN_NAMES = frozenset({"localhost", "127.0.0.1"})  # the usual ones, so that most requests cost no parsing
LONGEST_MODEL = 512
"""Of a model's name: it is sent in a header and written into logs. The longest real ones are ARNs of 200."""
OWNER = Caller("", admin=True)
STRANGER = Caller("", admin=False)


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
    client = clients.identify(inbound.key()) or _by_password(clients, inbound) or _signed_in(keys, inbound)
    if client is None:
        raise Refused(Failure(FailureKind.AUTH, _WANTED if not inbound.key() else _UNKNOWN, 401))
    if client.key.expires is not None and client.expired(datetime.now(UTC)):
        raise Refused(Failure(FailureKind.AUTH, "the key has expired", 401))
    if client.key.allowed_endpoints and not client.may_call(inbound.path):
        raise Refused(Failure(FailureKind.PERMISSION, f"the key may not call {inbound.path}", 403))
    return _KNOWN.get(id(client)) or _know(client)


def _by_password(clients: Clients, inbound: Inbound) -> Client | None:
    """Whose key stands as the password of HTTP Basic. A browser adds it to requests of foreign pages too: those do not
    count."""
    password = inbound.password()
    return clients.identify(password) if password and is_own_page(inbound.headers) else None


def _signed_in(keys: dict[str, ClientKey], inbound: Inbound) -> Client | None:
    """Who signed in to the console with this browser. A page of another site cannot use that."""
    cookies = inbound.headers.get("cookie")
    if cookies is None or inbound.key() or not is_own_page(inbound.headers):
        return None
    client = session_client(cookies, keys)
    return client if client is not None and client.key.admin else None


def _know(client: Client) -> Caller:
    key = client.key
    limits = KeyLimits.of(key) if key.limited() else None
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


def may_ask(caller: Caller, model: str) -> None:
    """Raise Refused if the caller may not use a model; the answer does not say whether there is one."""
    if len(model) > LONGEST_MODEL:
        what = f"the model's name has {len(model)} characters; at most {LONGEST_MODEL} are taken"
        raise Refused(Failure(FailureKind.BAD_REQUEST, what, 400, param="model"))
    if caller.client is not None and caller.client.key.allowed_models and not caller.client.may_ask(model):
        what = f'the key may not use "{model[:200]}"; GET /v1/models lists what it may use'
        raise Refused(Failure(FailureKind.PERMISSION, what, 403, "model_not_allowed"))


def may_look(caller: Caller, what: str) -> None:
    """Raise Refused unless the caller is an admin, or its key is made for just this endpoint: `/v1/*` is not."""
    if not caller.admin and not (caller.client is not None and caller.client.is_made_for(what)):
        raise Refused(Failure(FailureKind.PERMISSION, f"{what} is for admin keys", 403))


class Slot(msgspec.Struct):
    """A place among the requests under way; taken on entry, or with `take`, and given back on exit."""

    services: Services
    caller: Caller
    taken: int = 0
    """How many places: a request that is sent several times takes more."""

    def __enter__(self) -> Slot:
        self.take(1)
        return self

    def take(self, count: int) -> None:
        """Take so many places more. Raises Refused."""
        services, known = self.services, self.caller
        if services.records.metrics.active + count > services.live.config.server.max_concurrent:
            raise Refused(Failure(FailureKind.RATE_LIMIT, "the gateway is full", 429, retry_after=1.0))
        own = services.traffic.concurrent.get(known.name, 0)
        limit = known.client.key.concurrent if known.client is not None else None
        if limit is not None and own + count > limit:
            message = f"the key's limit of {limit} requests at a time is reached"
            raise Refused(Failure(FailureKind.RATE_LIMIT, message, 429, retry_after=1.0))
        services.records.metrics.active += count
        services.traffic.concurrent[known.name] = own + count
        self.taken += count

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def give_back(self) -> None:
        """Give back what was taken."""
        self.services.records.metrics.active -= self.taken
        self.services.traffic.concurrent[self.caller.name] -= self.taken
        self.taken = 0


def begin_work(heavy: HeavyWork, caller: str, body: bytes) -> RequestWork:
    """Where the work for a request is done: beside the event loop if its body is a heavy one. Raises Refused if so and
    too many of them wait already."""
    work = RequestWork(heavy, caller, len(body) > SHORT and is_heavy(body))
    if work.is_large and heavy.is_full(caller):
        raise Refused(BUSY)
    return work
