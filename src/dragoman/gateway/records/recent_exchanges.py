"""The last requests in memory, for the console: references only. Nothing is written out until somebody looks."""

from __future__ import annotations

import time
from collections import deque

import msgspec

from dragoman.config.schema.config_file import Config
from dragoman.config.validation import is_loopback
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.exchange.attempts import KEY_BOUND
from dragoman.engine.routing.candidates import Decision
from dragoman.gateway.records.request_record import RequestRecord
from dragoman.store.ledger_entry import Entry
from dragoman.upstream.cooldowns import COUNTED

MOST = 200
"""Requests with their bodies."""
MOST_BYTES = 48 * 1024 * 1024
"""That all of them take, about."""
LARGEST = 16 * 1024 * 1024
"""A request that takes more is not kept."""
OF_BODY = 4
"""Bytes in memory for one of a body: itself, and the values that were read from it and written into it."""
OF_CHANGE = 450
"""Bytes in memory for one change of the report."""
OF_VALUE = 250
"""Bytes in memory for one member or message, beside its text: short ones take more than their text does."""
MOST_DECISIONS = 50
"""Of routes, with or without bodies."""
MOST_FAILING = 1024
"""Targets whose failures are remembered."""
MOST_NOTED = 1024
"""Requests that watchers of the list may be behind."""
MOST_NOTED_BYTES = 8 * 1024 * 1024
"""That their reports may take, and their bodies if the ledger keeps them."""


class RecentExchange(msgspec.Struct, frozen=True, gc=False):
    """A request with all that became of it, and about how many bytes of memory it takes."""

    record: RequestRecord
    entry: Entry
    weight: int

    def since_start(self, moment: float) -> float:
        """Seconds between the arrival of the request and a moment of the steady clock."""
        return moment - self.record.started


class TargetFailures(msgspec.Struct):
    """The sends to a target that failed for a reason of its own: it was down, busy, or refused its key."""

    sends: int = 0
    kind: str = ""
    """The kind of the last failure."""
    status: int = 0
    message: str = ""
    at: float = 0.0
    over: bool = False
    """A request succeeded since."""


AGAINST_TARGET = COUNTED | KEY_BOUND | {FailureKind.NOT_FOUND}
"""Failures that another request to the same target would meet, too."""


def keeps_bodies(config: Config) -> bool:
    """Whether bodies may be in memory: only if nobody but the owner of this machine can look at them."""
    return not config.keys and is_loopback(config.server.host) and not config.server.allow_public_without_keys


class RecentExchanges:
    """The last requests. `keeps`: their bodies too. `count` is the number of all requests so far, `watchers` that of
    the pages that see them come in."""

    def __init__(self, keeps: bool) -> None:
        self.keeps = keeps
        self.count = self.watchers = 0
        self._exchanges: deque[RecentExchange] = deque()
        self._bytes = 0
        self._entries: deque[Entry] = deque()
        self._noted = 0
        self._routed: deque[tuple[Entry, Decision]] = deque(maxlen=MOST_DECISIONS)
        self.failures: dict[str, TargetFailures] = {}
        """Targets that have failed, also if another one saved the request."""

    def keep(self, keeps: bool) -> None:
        """Whether bodies are kept from now on; if not, those that are here are forgotten."""
        self.keeps = keeps
        if not keeps:
            self._exchanges.clear()
            self._bytes = 0

    def note(self, entry: Entry) -> None:
        """A request without bodies."""
        self._count(entry)

    def add(self, record: RequestRecord, entry: Entry) -> None:
        self._count(entry)
        if record.routed is not None:
            self._routed.append((entry, record.routed.decision))
        if record.dispatch is not None:
            record.dispatch.let_go()
        if self.keeps:
            self._put(RecentExchange(record, entry, _weight(record)))

    def _count(self, entry: Entry) -> None:
        self.count += 1
        self._entries.append(entry)
        self._noted += entry.weight()
        while len(self._entries) > MOST_NOTED or (self._noted > MOST_NOTED_BYTES and len(self._entries) > 1):
            self._noted -= self._entries.popleft().weight()
        if self.failures and entry.status < 400 and (failed := self.failures.get(entry.target)) is not None:
            failed.over = True

    def note_failure(self, target: str, failure: Failure, message: str) -> None:
        """A send that failed. Clients may make up names of models: only so many are remembered."""
        if failure.kind not in AGAINST_TARGET:
            return
        known = self.failures.setdefault(target, TargetFailures())
        known.sends += 1
        known.kind, known.status, known.message = failure.kind.value, failure.status, message
        known.at, known.over = time.time(), False
        if len(self.failures) > MOST_FAILING:
            del self.failures[next(iter(self.failures))]

    def find(self, request_id: str) -> RecentExchange | None:
        return next((one for one in self._exchanges if one.entry.id == request_id), None)

    def routed(self) -> list[tuple[Entry, Decision]]:
        """The last requests whose model was chosen by a route, the newest first."""
        return list(reversed(self._routed))

    def since(self, count: int) -> list[Entry]:
        """The requests after the first `count`, the oldest first; fewer if a watcher is far behind."""
        new = min(self.count - count, len(self._entries))
        return [self._entries[at] for at in range(len(self._entries) - new, len(self._entries))]

    def _put(self, exchange: RecentExchange) -> None:
        if exchange.weight > LARGEST:
            return
        self._exchanges.append(exchange)
        self._bytes += exchange.weight
        while len(self._exchanges) > MOST or self._bytes > MOST_BYTES:
            self._bytes -= self._exchanges.popleft().weight


def _weight(record: RequestRecord) -> int:
    """About what the request takes in memory."""
    bodies = len(record.ask.source) if record.ask is not None else 0
    if record.copy:
        bodies += sum(map(len, record.copy))
    elif record.answer is not None:
        bodies += len(record.answer)
    changes = 0
    if (exchange := record.exchange) is not None:
        for one in (exchange, *exchange.parts):
            changes += len(one.changes)
            bodies += len(one.request.body) if one.request is not None else 0
            bodies += sum([len(failed.request.body) for failed in one.attempts.failures])
    return OF_BODY * bodies + OF_CHANGE * changes + OF_VALUE * _count_values(record)


def _count_values(record: RequestRecord) -> int:
    """About how many values were read from a heavy request; those of others weigh little."""
    ask, dispatch = record.ask, record.dispatch
    if ask is None or dispatch is None or not dispatch.work.is_large:
        return 0
    messages = ask.conversation.messages
    fields = sum([len(message.extras.fields) for message in messages if message.extras is not None])
    return len(ask.members) + len(messages) + fields
