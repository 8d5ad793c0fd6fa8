"""Anthropic's errors: the status, type and wording that its SDK and its agents look for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dragoman.conversation.failures import ExhaustedBudget, Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.shared.raw_json import encode
from dragoman.dialects.shared.retry_after import wait_headers

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
    FailureKind.NOT_SERVED: (501, "not_supported"),
}

_FINAL = (400, 401, 402)
"""Statuses that another try does not change. Claude Code repeats a 401 for minutes unless it is told."""
_PERIODS = {"day": "daily", "month": "monthly"}
_TOO_LONG = "prompt is too long"
_NO_ROOM = "input length and `max_tokens` exceed context limit"
_DETAILED = ("compaction_", "thread_")
"""How codes begin that clients look for in the details of an error."""


def render_error(failure: Failure, context: AnswerContext) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    status, body = error_body(failure, context)
    headers = {"content-type": "application/json"}
    if context.id:
        headers["request-id"] = context.id
    headers |= wait_headers(failure)
    if status in _FINAL or failure.kind in (FailureKind.QUOTA, FailureKind.ANSWER_TOO_LARGE):
        headers["x-should-retry"] = "false"
    if failure.budget is not None:
        headers |= _spent_headers(failure.budget)
    return status, headers, body


def _spent_headers(budget: ExhaustedBudget) -> dict[str, str]:
    """What tells Claude Code a spent budget from a limit for which it waits. With `representative-claim` it would show
    a sentence of its own."""
    spent = {
        "status": "rejected",
        "overage-utilization": "1",
        "overage-surpassed-threshold": "1",
        "overage-disabled-reason": "org_spend_cap_reached",
    }
    if budget.period in _PERIODS:
        spent["overage-period"] = _PERIODS[budget.period]
    if budget.ends is not None:
        spent |= dict.fromkeys(("reset", "overage-reset"), str(math.ceil(budget.ends)))
    return {f"anthropic-ratelimit-unified-{name}": value for name, value in spent.items()}


def error_body(failure: Failure, context: AnswerContext) -> tuple[int, bytes]:
    """The body alone, which is also the last event of a stream that failed."""
    status, kind = _KINDS[failure.kind]
    if failure.budget is not None:
        status = 429
    error: dict[str, Any] = {"type": kind, "message": _message(failure)}
    if failure.code.startswith(_DETAILED):
        error["details"] = {"error_code": failure.code}
    body = {
        "type": "error",
        "error": error,
        "request_id": context.id or None,
    }
    return status, encode(body)


def _message(failure: Failure) -> str:
    """The provider's message. For a conversation that is too long, with the sentence after which agents shorten it; if
    only the answer has no room, with the one after which they ask for a shorter answer."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or failure.message.startswith((_TOO_LONG, _NO_ROOM)):
        return failure.message
    if (over := failure.overflow) is not None:
        return f"{_NO_ROOM}: {over.input} + {over.answer} > {over.limit} ({failure.message})"
    if failure.tokens is None or failure.limit is None:
        return f"{_TOO_LONG}: {failure.message or 'the provider gave no numbers.'}"
    return f"{_TOO_LONG}: {failure.tokens} tokens > {failure.limit} maximum ({failure.message})"
