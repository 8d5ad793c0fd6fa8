"""Responses' errors: as Chat's over HTTP, and a word of its own in a stream."""

from __future__ import annotations

import math
from collections.abc import Mapping

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.answering import Answering
from dragoman.wire.failures import read_failure

_KINDS: Mapping[FailureKind, tuple[int, str, str | None]] = {
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
"""Kind → status, type, and the code where the provider gave none."""

_OWN_CODES = frozenset({FailureKind.BAD_REQUEST, FailureKind.SERVER, FailureKind.NETWORK, FailureKind.TIMEOUT})
NO_MODEL = frozenset({"unknown_url", "unknown_request"})
"""Codes for what is not found and is no model."""
_TOO_LONG = "exceeds the context window"

_encode = msgspec.json.Encoder().encode


def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> Failure:
    """A refusal, or an error told in a stream (status 200), as a failure."""
    return read_failure(status, headers, body)


def render_error(failure: Failure, answering: Answering) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    status = _KINDS[failure.kind][0]
    if failure.kind is FailureKind.BAD_REQUEST and failure.status in (409, 422):
        status = failure.status
    headers = {"content-type": "application/json"}
    if answering.id:
        headers["x-request-id"] = answering.id
    if failure.retry_after is not None:
        headers["retry-after"] = str(math.ceil(failure.retry_after))
    if failure.kind is FailureKind.QUOTA:
        headers["x-should-retry"] = "false"
    return status, headers, _encode({"error": error_object(failure)})


def error_object(failure: Failure) -> dict[str, str | None]:
    """The error as it stands in a body and in the `error` event."""
    _, kind, code = _KINDS[failure.kind]
    if failure.kind in _OWN_CODES or failure.code in NO_MODEL:
        code = failure.code or code
    return {"type": kind, "code": code, "message": _message(failure), "param": failure.param or None}


def response_error(failure: Failure) -> bytes:
    """The error as it stands in a failed response, which has a code always."""
    told = error_object(failure)
    return _encode({"code": told["code"] or "invalid_request_error", "message": told["message"]})


def error_event(failure: Failure, number: int) -> bytes:
    """The `error` event: flat, as it is documented, and with the object that it really carries."""
    told = error_object(failure)
    flat = {"code": told["code"], "message": told["message"], "param": told["param"]}
    return _encode({"type": "error", "sequence_number": number, **flat, "error": told})


def _message(failure: Failure) -> str:
    """The provider's words; a conversation that is too long also in the words that agents parse."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or _TOO_LONG in failure.message:
        return failure.message
    return f"Your input exceeds the context window of this model. ({failure.message})"
