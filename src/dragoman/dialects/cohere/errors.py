"""Cohere's errors: the status and the sentence that its SDK and its users look for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.error_statuses import STATUSES
from dragoman.dialects.shared.raw_json import encode
from dragoman.dialects.shared.retry_after import wait_headers

_STATUSES: Mapping[FailureKind, int] = {**STATUSES, FailureKind.QUOTA: 402}
_TOO_LONG = "too many tokens"


def render_error(failure: Failure, context: AnswerContext) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    headers = {"content-type": "application/json"}
    headers |= wait_headers(failure)
    return _status(failure), headers, error_body(failure, context)


def _status(failure: Failure) -> int:
    own = failure.status == 422 and failure.kind is FailureKind.BAD_REQUEST
    return failure.status if own else _STATUSES[failure.kind]


def error_body(failure: Failure, context: AnswerContext) -> bytes:
    body: dict[str, Any] = {"id": context.id} if context.id else {}
    body["message"] = message_of(failure)
    if failure.kind is FailureKind.CONTEXT_LENGTH:
        body["error_type"] = "TOO_MANY_TOKENS"
    return encode(body)


def message_of(failure: Failure) -> str:
    """The provider's message. For a conversation that is too long, with the sentence that clients look for."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or failure.message.startswith(_TOO_LONG):
        return failure.message
    if failure.tokens is None or failure.limit is None:
        return f"{_TOO_LONG}: {failure.message}"
    over = max(1, failure.tokens - failure.limit)
    return (
        f"{_TOO_LONG}: size limit exceeded by {over} tokens. Try using shorter or fewer inputs. "
        f"The limit for this model is {failure.limit} tokens. ({failure.message})"
    )
