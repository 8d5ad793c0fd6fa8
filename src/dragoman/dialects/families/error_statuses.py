"""The usual HTTP status of each kind of failure, for dialects whose errors are a status and a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.failures import FailureKind

STATUSES: Mapping[FailureKind, int] = {
    FailureKind.AUTH: 401,
    FailureKind.PERMISSION: 403,
    FailureKind.NOT_FOUND: 404,
    FailureKind.QUOTA: 429,
    FailureKind.RATE_LIMIT: 429,
    FailureKind.OVERLOADED: 503,
    FailureKind.CONTEXT_LENGTH: 400,
    FailureKind.CONTENT_FILTER: 400,
    FailureKind.BAD_REQUEST: 400,
    FailureKind.TOO_LARGE: 413,
    FailureKind.TIMEOUT: 504,
    FailureKind.NETWORK: 502,
    FailureKind.BROKEN_STREAM: 502,
    FailureKind.ANSWER_TOO_LARGE: 502,
    FailureKind.SERVER: 500,
    FailureKind.NOT_SERVED: 501,
}
