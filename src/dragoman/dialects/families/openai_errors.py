"""What the errors of OpenAI's two dialects have in common: status, type, code and headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.shared.retry_after import wait_headers, with_wait

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
    FailureKind.ANSWER_TOO_LARGE: (502, "server_error", "answer_too_large"),
    FailureKind.SERVER: (500, "server_error", "server_error"),
    FailureKind.NOT_SERVED: (501, "invalid_request_error", "not_implemented"),
}
"""Kind → status, type, and the code if the provider gave none. The code separates a rate limit, which is worth a
retry, from a spent quota, which is not."""

_OWN_CODES = frozenset({FailureKind.BAD_REQUEST, FailureKind.SERVER, FailureKind.NETWORK, FailureKind.TIMEOUT})
_FINAL = frozenset({FailureKind.QUOTA, FailureKind.ANSWER_TOO_LARGE})
"""The SDK would send the request again after these, and pay for the same end."""
_NO_MODEL = frozenset(
    {"unknown_url", "unknown_request", "response_not_found", "conversation_not_found", "item_not_found"}
)
"""Codes of things other than models that were not found."""


def status_of(failure: Failure) -> int:
    status = KINDS[failure.kind][0]
    own = failure.status in (409, 422, 424) and failure.kind is FailureKind.BAD_REQUEST
    return failure.status if own else status


def headers_of(failure: Failure, context: AnswerContext) -> dict[str, str]:
    headers = {"content-type": "application/json"}
    if context.id:
        headers["x-request-id"] = context.id
    if failure.retry_after is not None:
        headers |= wait_headers(failure) | {"retry-after-ms": f"{failure.retry_after * 1000:.0f}"}
    if failure.kind in _FINAL:
        headers["x-should-retry"] = "false"
    return headers


def error_object(failure: Failure, message: str) -> dict[str, Any]:
    """The `error` object of a body, with this message."""
    message = with_wait(failure, message, "Please try again in")
    _, kind, code = KINDS[failure.kind]
    if failure.kind in _OWN_CODES or failure.code in _NO_MODEL:
        code = failure.code or code
    return {"message": message, "type": kind, "param": failure.param or None, "code": code}
