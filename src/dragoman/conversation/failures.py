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
    SERVER = "server"


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
