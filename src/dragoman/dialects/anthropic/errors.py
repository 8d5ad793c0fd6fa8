"""Anthropic's errors: the status, type and wording that its SDK and its agents look for."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.shared.raw_json import encode
from dragoman.wire.error_bodies import parse_failure

_KINDS: Mapping[FailureKind, tuple[int, str]] = {
    FailureKind.AUTH: (401, "authentication_error"),
    FailureKind.PERMISSION: (403, "permission_error"),
    FailureKind.NOT_FOUND: (404, "not_found_error"),
    FailureKind.QUOTA: (402, "billing_error"),
    FailureKind.RATE_LIMIT: (429, "rate_limit_error"),
    FailureKind.OVERLOADED: (529, "overloaded_error"),
    FailureKind.CONTEXT_LENGTH: (400, "invalid_request_error"),
    FailureKind.CONTENT_FILTER: (400, "invalid_request_error"),
    FailureKind.BAD_REQUEST: (400, "invalid_request_error"),
    FailureKind.TOO_LARGE: (413, "request_too_large"),
    FailureKind.TIMEOUT: (504, "timeout_error"),
    FailureKind.NETWORK: (502, "api_error"),
    FailureKind.BROKEN_STREAM: (502, "api_error"),
    FailureKind.ANSWER_TOO_LARGE: (502, "api_error"),
    FailureKind.SERVER: (500, "api_error"),
    FailureKind.NOT_SERVED: (501, "invalid_request_error"),
}

_TOO_LONG = "prompt is too long"


def parse_error(status: int, headers: Mapping[str, str], body: bytes) -> Failure:
    """A refusal, or an error inside a stream (status 200), as a failure."""
    return parse_failure(status, headers, body, "anthropic")


def render_error(failure: Failure, context: AnswerContext) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    status, body = error_body(failure, context)
    headers = {"content-type": "application/json"}
    if context.id:
        headers["request-id"] = context.id
    if failure.retry_after is not None:
        headers["retry-after"] = str(math.ceil(failure.retry_after))
    if status in (400, 402) or failure.kind is FailureKind.ANSWER_TOO_LARGE:
        headers["x-should-retry"] = "false"
    return status, headers, body


def error_body(failure: Failure, context: AnswerContext) -> tuple[int, bytes]:
    """The body alone, which is also the last event of a stream that failed."""
    status, kind = _KINDS[failure.kind]
    body = {
        "type": "error",
        "error": {"type": kind, "message": _message(failure)},
        "request_id": context.id or None,
    }
    return status, encode(body)


def _message(failure: Failure) -> str:
    if failure.kind is not FailureKind.CONTEXT_LENGTH or failure.message.startswith(_TOO_LONG):
        return failure.message
    if failure.tokens is None or failure.limit is None:
        return f"{_TOO_LONG}: {failure.message or 'the provider gave no numbers.'}"
    return f"{_TOO_LONG}: {failure.tokens} tokens > {failure.limit} maximum ({failure.message})"
