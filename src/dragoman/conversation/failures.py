"""What can go wrong upstream: one closed set of kinds, with the provider's own words."""

from __future__ import annotations

from enum import StrEnum

import msgspec
from msgspec.structs import replace


class FailureKind(StrEnum):
    """A kind, and its usual HTTP status."""

    status: int

    def __new__(cls, name: str, status: int) -> FailureKind:
        made = str.__new__(cls, name)
        made._value_ = name
        made.status = status
        return made

    AUTH = "auth", 401
    PERMISSION = "permission", 403
    NOT_FOUND = "not-found", 404
    QUOTA = "quota", 429
    RATE_LIMIT = "rate-limit", 429
    OVERLOADED = "overloaded", 503
    CONTEXT_LENGTH = "context-length", 400
    CONTENT_FILTER = "content-filter", 400
    BAD_REQUEST = "bad-request", 400
    TOO_LARGE = "too-large", 413
    TIMEOUT = "timeout", 504
    NETWORK = "network", 502
    BROKEN_STREAM = "broken-stream", 502
    ANSWER_TOO_LARGE = "answer-too-large", 502
    SERVER = "server", 500
    NOT_SERVED = "not-served", 501

    @property
    def reduced(self) -> str:
        """One of four words: `auth`, `rate_limit`, `timeout`, `api_error`."""
        return _REDUCED.get(self, "api_error")

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self in PASSING


PASSING = frozenset(
    {
        FailureKind.RATE_LIMIT,
        FailureKind.OVERLOADED,
        FailureKind.TIMEOUT,
        FailureKind.NETWORK,
        FailureKind.SERVER,
        FailureKind.BROKEN_STREAM,
    }
)
"""Failures that may be gone on the next try."""
EXACT_STATUSES = (405, 408, 409, 415, 422)
"""Statuses that are more precise than 400 for a bad request. Only a gateway has them."""
UNREADABLE_ANSWERS = frozenset({FailureKind.BROKEN_STREAM, FailureKind.ANSWER_TOO_LARGE})
"""Failures that the provider does not tell: we find them in what it sends."""
_REDUCED = {
    FailureKind.AUTH: "auth",
    FailureKind.PERMISSION: "auth",
    FailureKind.RATE_LIMIT: "rate_limit",
    FailureKind.QUOTA: "rate_limit",
    FailureKind.OVERLOADED: "rate_limit",
    FailureKind.TIMEOUT: "timeout",
}


class Overflow(msgspec.Struct, frozen=True):
    """A conversation that would fit, if less room were asked for its answer."""

    input: int
    """The tokens of the conversation."""
    answer: int
    """The tokens that are asked for the answer."""
    limit: int
    """The tokens that the model holds."""


class ExhaustedBudget(msgspec.Struct, frozen=True):
    """The budget of a key of ours that is spent."""

    period: str
    """What it is for, such as `day`."""
    ends: float | None = None
    """When there is a new one, in seconds since 1970; None: never."""


class Failure(msgspec.Struct, frozen=True):
    """Why there is no answer."""

    kind: FailureKind
    message: str
    """The innermost one, verbatim."""
    status: int = 0
    """The HTTP status; 0: no answer came."""
    code: str = ""
    type: str = ""
    param: str = ""
    retry_after: float | None = None
    """Seconds to wait, if the provider says so."""
    is_final: bool = False
    """The provider says that another try is in vain (`x-should-retry: false`)."""
    tokens: int | None = None
    """The tokens of a conversation that is too long, if the provider tells them."""
    limit: int | None = None
    """The tokens that the model holds, if the provider tells them."""
    overflow: Overflow | None = None
    """The numbers, if only the room for the answer is too much."""
    budget: ExhaustedBudget | None = None
    """The budget of the caller that is spent, if that is why."""
    provider: str = ""
    raw: bytes = b""
    """The provider's own body."""
    place: str = ""
    """The address that could not be asked. No client is told it."""

    def __repr__(self) -> str:
        return f"<Failure: {self.kind}, status {self.status}, {self.message[:200]!r}>"

    def status_for(self, *exact: int) -> int:
        """The HTTP status for a client. `exact`: the provider's that say more of a bad request than 400."""
        own = self.kind is FailureKind.BAD_REQUEST and self.status in exact
        return self.status if own else self.kind.status

    def at(self, provider: str) -> Failure:
        """With the provider's name, if the provider does not name one itself."""
        return self if self.provider else replace(self, provider=provider)

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.kind.retryable and not self.is_final
