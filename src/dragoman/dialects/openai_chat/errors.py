"""Chat's errors: the status, type and code that the OpenAI SDKs and their users look for."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.answering import Answering
from dragoman.wire.failures import read_failure

KINDS: Mapping[FailureKind, tuple[int, str, str | None]] = {
    FailureKind.AUTH: (401, "invalid_request_error", "invalid_api_key"),
    FailureKind.PERMISSION: (403, "invalid_request_error", "permission_denied"),
    FailureKind.NOT_FOUND: (404, "invalid_request_error", "model_not_found"),
    FailureKind.QUOTA: (429, "insufficient_quota", "insufficient_quota"),
    FailureKind.RATE_LIMIT: (429, "rate_limit_error", "rate_limit_exceeded"),
    FailureKind.OVERLOADED: (503, "server_error", "server_is_overloaded"),
    FailureKind.CONTEXT_LENGTH: (400, "invalid_request_error", "context_length_exceeded"),
    FailureKind.CONTENT_FILTER: (400, "invalid_request_error", "content_filter"),
    FailureKind.BAD_REQUEST: (400, "invalid_request_error", None),
    FailureKind.TOO_LARGE: (413, "invalid_request_error", "request_too_large"),
    FailureKind.TIMEOUT: (504, "server_error", "timeout"),
    FailureKind.NETWORK: (502, "server_error", "upstream_unreachable"),
    FailureKind.BROKEN_STREAM: (502, "server_error", "upstream_broken_stream"),
    FailureKind.SERVER: (500, "server_error", "server_error"),
}
"""Kind → status, type, and the code where the provider gave none. A rate limit is worth a retry, a spent quota is not:
the code tells them apart."""

_OWN_CODES = frozenset({FailureKind.BAD_REQUEST, FailureKind.SERVER, FailureKind.NETWORK, FailureKind.TIMEOUT})
NO_MODEL = frozenset({"unknown_url", "unknown_request"})
"""Codes for what is not found and is no model."""
_TOO_LONG = "maximum context length"

_encode = msgspec.json.Encoder().encode


def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> Failure:
    """A refusal, or an error told in a stream (status 200), as a failure."""
    return read_failure(status, headers, body)


def render_error(failure: Failure, answering: Answering) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    status = status_of(failure)
    headers = {"content-type": "application/json"}
    if answering.id:
        headers["x-request-id"] = answering.id
    if failure.retry_after is not None:
        headers["retry-after"] = str(math.ceil(failure.retry_after))
    if failure.kind is FailureKind.QUOTA:
        headers["x-should-retry"] = "false"
    return status, headers, error_body(failure)


def status_of(failure: Failure) -> int:
    status = KINDS[failure.kind][0]
    own = failure.status in (409, 422) and failure.kind is FailureKind.BAD_REQUEST
    return failure.status if own else status


def error_body(failure: Failure) -> bytes:
    """The body alone, which is also the last chunk of a stream that failed."""
    return _encode({"error": error_object(failure)})


def error_object(failure: Failure) -> dict[str, str | None]:
    _, kind, code = KINDS[failure.kind]
    if failure.kind in _OWN_CODES or failure.code in NO_MODEL:
        code = failure.code or code
    return {"message": message_of(failure), "type": kind, "param": failure.param or None, "code": code}


def message_of(failure: Failure) -> str:
    """The provider's words; a conversation that is too long also in the words that agents parse."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or _TOO_LONG in failure.message:
        return failure.message
    if failure.tokens is None or failure.limit is None:
        return failure.message
    return (
        f"This model's maximum context length is {failure.limit} tokens. However, your messages resulted in "
        f"{failure.tokens} tokens. ({failure.message})"
    )
