"""A caller: what it may ask for, and its place among the requests under way."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from itertools import count

import msgspec

from dragoman.config.clients import Client
from dragoman.config.schema.keys import Budget
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.gateway.http.coarse_timer import CoarseTimer
from dragoman.gateway.records.metrics import Metrics
from dragoman.store.contracts.rate_limits import KeyLimits
from dragoman.store.ledger_entry import Viewer
from dragoman.upstream.heavy_work import BUSY, HeavyWork, RequestWork
from dragoman.wire.json_size import SHORT, is_heavy

LONGEST_MODEL = 512
"""Of a model's name: it is sent in a header and written into logs. The longest real ones are ARNs of 200."""


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


OWNER = Caller("", admin=True)
STRANGER = Caller("", admin=False)


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


class Traffic:
    """The requests of this process."""

    closing = False
    """New ones are no longer welcome."""
    ending = False
    """Those under way are cut."""

    def __init__(self, metrics: Metrics, most: int) -> None:
        self.started = time.time()
        self.ids: Iterator[str] = map(f"req_{secrets.token_hex(5)}%08x".__mod__, count(1))
        """Ids for requests, unlike any other of this or another process."""
        self.metrics = metrics
        """Count those under way."""
        self.by_caller: dict[str, int] = {}
        """How many are under way, by caller."""
        self.most = most
        """How many may be, for all callers."""
        self.ticker = CoarseTimer()


class Slot(msgspec.Struct):
    """A place among the requests under way; taken on entry, or with `take`, and given back on exit."""

    traffic: Traffic
    caller: Caller
    taken: int = 0
    """How many places: a request that is sent several times takes more."""

    def __enter__(self) -> Slot:
        self.take(1)
        return self

    def take(self, count: int) -> None:
        """Take so many places more. Raises Refused."""
        traffic, known = self.traffic, self.caller
        if traffic.metrics.active + count > traffic.most:
            raise Refused(Failure(FailureKind.RATE_LIMIT, "the gateway is full", 429, retry_after=1.0))
        own = traffic.by_caller.get(known.name, 0)
        limit = known.client.key.concurrent if known.client is not None else None
        if limit is not None and own + count > limit:
            message = f"the key's limit of {limit} requests at a time is reached"
            raise Refused(Failure(FailureKind.RATE_LIMIT, message, 429, retry_after=1.0))
        traffic.metrics.active += count
        traffic.by_caller[known.name] = own + count
        self.taken += count

    def __exit__(self, *_: object) -> None:
        self.give_back()

    def give_back(self) -> None:
        """Give back what was taken."""
        self.traffic.metrics.active -= self.taken
        self.traffic.by_caller[self.caller.name] -= self.taken
        self.taken = 0


def begin_work(heavy: HeavyWork, caller: str, body: bytes) -> RequestWork:
    """Where the work for a request is done: beside the event loop if its body is a heavy one. Raises Refused if so and
    too many of them wait already."""
    work = RequestWork(heavy, caller, len(body) > SHORT and is_heavy(body))
    if work.is_large and heavy.is_full(caller):
        raise Refused(BUSY)
    return work
