"""Ollama's errors: a status and one sentence."""

from __future__ import annotations

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.error_statuses import STATUSES
from dragoman.dialects.shared.raw_json import encode
from dragoman.dialects.shared.retry_after import wait_headers

_EXACT = (405, 408, 409, 415, 422)
"""Statuses that are more precise than 400 for a bad request. Only a gateway has them."""
_TOO_LONG = "prompt too long; exceeded max context length"


def render_error(failure: Failure, context: AnswerContext) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    headers = {"content-type": "application/json; charset=utf-8"}
    headers |= wait_headers(failure)
    return _status(failure), headers, error_body(failure)


def error_body(failure: Failure) -> bytes:
    """The body alone, which is also the last line of a stream that failed."""
    return encode({"error": _message(failure)})


def _status(failure: Failure) -> int:
    own = failure.kind is FailureKind.BAD_REQUEST and failure.status in _EXACT
    return failure.status if own else STATUSES[failure.kind]


def _message(failure: Failure) -> str:
    """For a conversation that is too long: Ollama's sentence with the known numbers, then the provider's own."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or failure.message.startswith(_TOO_LONG):
        return failure.message
    surplus = ""
    if failure.tokens is not None and failure.limit is not None and failure.tokens > failure.limit:
        surplus = f" by {failure.tokens - failure.limit} tokens"
    return f"{_TOO_LONG}{surplus} ({failure.message})"
