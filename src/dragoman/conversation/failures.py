"""What can go wrong upstream: one closed set of kinds, with the provider's own words."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class FailureKind(StrEnum):
    AUTH = "auth"
    PERMISSION = "permission"
    NOT_FOUND = "not-found"
    QUOTA = "quota"
    RATE_LIMIT = "rate-limit"
    OVERLOADED = "overloaded"
    CONTEXT_LENGTH = "context-length"
    CONTENT_FILTER = "content-filter"
    BAD_REQUEST = "bad-request"
    TOO_LARGE = "too-large"
    TIMEOUT = "timeout"
    NETWORK = "network"
    BROKEN_STREAM = "broken-stream"
    ANSWER_TOO_LARGE = "answer-too-large"
    SERVER = "server"
    NOT_SERVED = "not-served"

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


class Failure(msgspec.Struct, frozen=True):
    """`message` is the innermost one, verbatim. `status` is 0 where no answer came. `limit` and `tokens` are the
    numbers of a context-length refusal, where the provider gave them. `retry_after` is in seconds."""

    kind: FailureKind
    message: str
    status: int = 0
    code: str = ""
    type: str = ""
    param: str = ""
    retry_after: float | None = None
    tokens: int | None = None
    limit: int | None = None
    provider: str = ""
    raw: bytes = b""

    def at(self, provider: str) -> Failure:
        """With the provider's name, where the provider does not name one itself."""
        return self if self.provider else msgspec.structs.replace(self, provider=provider)

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.kind.retryable
