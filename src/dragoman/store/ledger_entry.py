"""What the ledger keeps of a request."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from dragoman.conversation.changes import ChangeKind
from dragoman.conversation.replies import MOST_TOKENS
from dragoman.engine.history.trimming import TrimStatistics
from dragoman.store.journals.redaction import Redactor

LATEST = 32_503_680_000.0
"""The year 3000: a later time is a broken clock's."""
_COUNTS = (
    *("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"),
    *("written_tokens", "resent_tokens", "attempts", "overhead_us"),
)
_BODIES = ("request", "sent", "answer")


class Viewer(Struct, frozen=True):
    """Who asks: the name of a client key (empty if the gateway has none), and whether it sees everything."""

    name: str = ""
    admin: bool = False

    def may_see(self, entry: Entry) -> bool:
        return self.admin or entry.caller == self.name


class RecordedChange(Struct, gc=False):
    """A change of a request, with the digests of what stood there and of what stands there now."""

    rule: str
    at: str = ""
    did: str = ""
    loses: str = ""
    kind: ChangeKind = "repair"
    before: str | None = None
    after: str | None = None


_decode_changes = msgspec.json.Decoder(list[RecordedChange]).decode


class TakenRoute(Struct, frozen=True, gc=False):
    """What a route chose for a request, and why."""

    model: str
    """The model that was chosen first."""
    reason: str
    skipped: str = ""
    """Why no router model was asked."""
    session: str = ""
    """The session whose next turn finds its model again."""


class Entry(Struct, frozen=True, gc=False):
    """One request in the ledger. Times are in seconds."""

    id: str
    time: float
    caller: str = ""
    client_dialect: str = ""
    upstream_dialect: str = ""
    asked: str = ""
    target: str = ""
    upstream_model: str = ""
    stream: bool = False
    attempts: int = 1
    changes: bytes = b"[]"
    lessons: tuple[str, ...] = ()
    """Those that were tried on this request."""
    known_lessons: tuple[str, ...] = ()
    """Those that were known before and held for it."""
    tried: bytes = b"[]"
    """The sends that failed before, as JSON."""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    estimated: bool = False
    """Whether the provider reported no usage, or the stream ended before it could."""
    cost: float | None = None
    """What the provider says that it cost, else computed from the tokens and the price, and None if neither is
    known."""
    reported_cost: bool = False
    """Whether the provider said so."""
    ttfb: float | None = None
    duration: float = 0.0
    overhead_us: int = 0
    """What we added, in microseconds."""
    status: int = 200
    error_kind: str | None = None
    error: str | None = None
    request: bytes | None = None
    sent: bytes | None = None
    answer: bytes | None = None
    trimmed: TrimStatistics | None = None
    """What trimming did to a long history; None if it did nothing."""
    socket: str = ""
    """Of a turn on a WebSocket: `new`, `continued` from an answer that it named, or `prepared`. Else empty."""
    session: str = ""
    """The conversation that it belongs to: an id that the client gave, or a digest of how it begins."""
    written_tokens: int = 0
    """Tokens that were written to the provider's cache."""
    resent_tokens: int = 0
    """Tokens that the provider had in its cache, and that were sent and read once more."""
    cache_saved: float = 0.0
    """What reading from the cache saved, less what writing to it cost."""
    cache_lost: float = 0.0
    """What the tokens that were sent again cost more."""
    cache_break: str = ""
    """Why they were sent again."""
    profile: str = ""
    """By whose facts the request was compiled."""
    messages_read: int = 0
    """Messages of the conversation as the client sent it, system texts included."""
    messages_written: int = 0
    """The same as it was sent last."""
    route: TakenRoute | None = None
    """What a route chose; None if the client named a model."""

    def read_changes(self) -> list[RecordedChange]:
        return _decode_changes(self.changes)

    @property
    def failed(self) -> bool:
        return self.status >= 400 or self.error_kind is not None

    @property
    def estimated_cost(self) -> float:
        """The part of the cost that was computed from estimated tokens: all of it or nothing."""
        return (self.cost or 0.0) if self.estimated and not self.reported_cost else 0.0

    @property
    def unpriced(self) -> bool:
        """Tokens were used, and nobody knows what they cost."""
        return self.cost is None and self.input_tokens + self.output_tokens > 0

    @property
    def day(self) -> str:
        """The day of the request, in UTC."""
        return datetime.fromtimestamp(int(self.time), UTC).date().isoformat()

    def weight(self) -> int:
        """The bytes of everything in it that may be large."""
        size = len(self.changes)
        if self.request is None and self.sent is None and self.answer is None and self.error is None:
            return size
        for large in (self.request, self.sent, self.answer, self.error):
            if large is not None:
                size += len(large)
        return size

    def report(self) -> bytes:
        """The entry as the JSON that its owner may read; changes and bodies are included as JSON."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__struct_fields__}
        fields["changes"] = Raw(self.changes)
        fields["tried"] = Raw(self.tried)
        fields["trimmed"] = self.trimmed.figures() if self.trimmed is not None else None
        for name in _BODIES:
            body = fields.pop(name)
            if body is not None:
                fields[name] = _json_or_text(body)
        return msgspec.json.encode(fields)


class By(StrEnum):
    """What totals are grouped by. `asked` is the model that the client named; `day` is in UTC."""

    TARGET = "target"
    CALLER = "caller"
    ASKED = "asked"
    DAY = "day"


class Totals(Struct, frozen=True):
    """Sums over the requests of one group."""

    name: str
    requests: int = 0
    errors: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    seconds: float = 0.0
    cost: float = 0.0
    estimated: int = 0
    """The requests whose tokens were estimated."""
    estimated_cost: float = 0.0
    """The part of the cost that follows from them."""
    unpriced: int = 0
    """The requests that used tokens of a model without a price: they are not in the cost."""

    def plus(self, entry: Entry) -> Totals:
        return Totals(
            name=self.name,
            requests=self.requests + 1,
            errors=self.errors + entry.failed,
            input_tokens=self.input_tokens + entry.input_tokens,
            output_tokens=self.output_tokens + entry.output_tokens,
            cached_tokens=self.cached_tokens + entry.cached_tokens,
            reasoning_tokens=self.reasoning_tokens + entry.reasoning_tokens,
            seconds=self.seconds + entry.duration,
            cost=self.cost + (entry.cost or 0.0),
            estimated=self.estimated + entry.estimated,
            estimated_cost=self.estimated_cost + entry.estimated_cost,
            unpriced=self.unpriced + entry.unpriced,
        )


def sanitize(entry: Entry, redactor: Redactor, bodies: bool) -> Entry:
    """The entry as it may be stored: no secret in a provider's words, bodies only if asked for, counts bounded."""
    # All bits together are negative if one count is, and no less than the largest of them.
    tokens = entry.input_tokens | entry.output_tokens | entry.cached_tokens | entry.reasoning_tokens
    tokens |= entry.written_tokens | entry.resent_tokens | entry.attempts | entry.overhead_us
    if (
        entry.error is None
        and entry.request is None
        and entry.sent is None
        and entry.answer is None
        and 0 <= tokens <= MOST_TOKENS
        and 0 <= entry.duration <= MOST_TOKENS
        and 0 <= entry.time <= LATEST
    ):
        return entry  # nearly always, and this is on every request's way
    changed = _limit_figures(entry)
    if entry.error is not None:
        changed["error"] = redactor.text(entry.error)
    changed |= {name: _redact_body(getattr(entry, name), redactor, bodies) for name in _BODIES}
    return replace(entry, **changed)


def _redact_body(body: bytes | None, redactor: Redactor, bodies: bool) -> bytes | None:
    return redactor.body(body) if bodies and body is not None else None


def _limit_figures(entry: Entry) -> dict[str, object]:
    counts: dict[str, object] = {name: min(max(getattr(entry, name), 0), MOST_TOKENS) for name in _COUNTS}
    return counts | {"duration": _within(entry.duration, MOST_TOKENS), "time": _within(entry.time, LATEST)}


def _within(seconds: float, most: float) -> float:
    return 0.0 if math.isnan(seconds) else min(max(seconds, 0.0), float(most))


def _json_or_text(body: bytes) -> Raw | str:
    try:
        msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.decode("utf-8", "replace")
    return Raw(body)
