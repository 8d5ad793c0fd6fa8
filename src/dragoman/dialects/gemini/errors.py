"""Google's errors: code, status and details as its SDK reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext, Framing
from dragoman.dialects.shared.raw_json import encode
from dragoman.dialects.shared.retry_after import plain_seconds, wait_headers, with_wait

_KINDS: Mapping[FailureKind, tuple[int, str]] = {
    FailureKind.AUTH: (401, "UNAUTHENTICATED"),
    FailureKind.PERMISSION: (403, "PERMISSION_DENIED"),
    FailureKind.NOT_FOUND: (404, "NOT_FOUND"),
    FailureKind.QUOTA: (429, "RESOURCE_EXHAUSTED"),
    FailureKind.RATE_LIMIT: (429, "RESOURCE_EXHAUSTED"),
    FailureKind.OVERLOADED: (503, "UNAVAILABLE"),
    FailureKind.CONTEXT_LENGTH: (400, "INVALID_ARGUMENT"),
    FailureKind.CONTENT_FILTER: (400, "INVALID_ARGUMENT"),
    FailureKind.BAD_REQUEST: (400, "INVALID_ARGUMENT"),
    FailureKind.TOO_LARGE: (413, "INVALID_ARGUMENT"),
    FailureKind.TIMEOUT: (504, "DEADLINE_EXCEEDED"),
    FailureKind.NETWORK: (502, "UNAVAILABLE"),
    FailureKind.BROKEN_STREAM: (502, "UNAVAILABLE"),
    FailureKind.ANSWER_TOO_LARGE: (502, "INTERNAL"),
    FailureKind.SERVER: (500, "INTERNAL"),
    FailureKind.NOT_SERVED: (501, "UNIMPLEMENTED"),
}

_EXACT = (405, 408, 409, 415, 422)
"""Statuses that are more precise than 400 for a bad request. Only a gateway has them."""
_TYPES = "type.googleapis.com/google.rpc."
_TOO_LONG = "The input token count"


def render_error(failure: Failure, context: AnswerContext) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    status, body = error_body(failure)
    headers = {"content-type": "application/json; charset=UTF-8"}
    headers |= wait_headers(failure)
    return status, headers, b"[" + body + b"]" if context.framing is Framing.JSON_ARRAY else body


def error_body(failure: Failure) -> tuple[int, bytes]:
    """The body alone, which is also the last object of a stream that failed."""
    status, word = _KINDS[failure.kind]
    if failure.kind is FailureKind.BAD_REQUEST and failure.status in _EXACT:
        status = failure.status
    message = with_wait(failure, _message(failure), "Please retry in")
    error: dict[str, Any] = {"code": status, "message": message, "status": word}
    if details := list(_details(failure)):
        error["details"] = details
    return status, encode({"error": error})


def _details(failure: Failure) -> Iterator[dict[str, Any]]:
    """What Gemini CLI acts on: it waits for the delay, and takes a quota of the day for final."""
    if failure.kind is FailureKind.QUOTA:
        yield {"@type": f"{_TYPES}QuotaFailure", "violations": [{"quotaId": "SpendPerDay"}]}
    if failure.retry_after is not None:
        yield {"@type": f"{_TYPES}RetryInfo", "retryDelay": f"{plain_seconds(failure.retry_after)}s"}


def _message(failure: Failure) -> str:
    """For a conversation that is too long: Google's sentence with the known numbers, then the provider's own."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or failure.message.startswith(_TOO_LONG):
        return failure.message
    tokens = f" ({failure.tokens})" if failure.tokens is not None else ""
    limit = f" ({failure.limit})" if failure.limit is not None else ""
    sentence = f"{_TOO_LONG}{tokens} exceeds the maximum number of tokens allowed{limit}. {failure.message}"
    return sentence.rstrip()
