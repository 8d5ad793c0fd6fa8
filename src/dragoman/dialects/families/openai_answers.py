"""What the answers of OpenAI's two dialects have in common: errors, and the frames of streams."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event, Failed
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.shared.raw_json import UNREADABLE, valid_utf8
from dragoman.dialects.shared.sse_stream import AnswerProgress, SseStreamParser
from dragoman.wire.retry_after import render_wait, tell_wait

KINDS: Mapping[FailureKind, tuple[str, str | None]] = {
    FailureKind.AUTH: ("invalid_request_error", "invalid_api_key"),
    FailureKind.PERMISSION: ("invalid_request_error", "permission_denied"),
    FailureKind.NOT_FOUND: ("invalid_request_error", "model_not_found"),
    FailureKind.QUOTA: ("insufficient_quota", "insufficient_quota"),
    FailureKind.RATE_LIMIT: ("rate_limit_error", "rate_limit_exceeded"),
    FailureKind.OVERLOADED: ("server_error", "server_is_overloaded"),
    FailureKind.CONTEXT_LENGTH: ("invalid_request_error", "context_length_exceeded"),
    FailureKind.CONTENT_FILTER: ("invalid_request_error", "content_filter"),
    FailureKind.BAD_REQUEST: ("invalid_request_error", None),
    FailureKind.TOO_LARGE: ("invalid_request_error", "request_too_large"),
    FailureKind.TIMEOUT: ("server_error", "timeout"),
    FailureKind.NETWORK: ("server_error", "upstream_unreachable"),
    FailureKind.BROKEN_STREAM: ("server_error", "upstream_broken_stream"),
    FailureKind.ANSWER_TOO_LARGE: ("server_error", "answer_too_large"),
    FailureKind.SERVER: ("server_error", "server_error"),
    FailureKind.NOT_SERVED: ("invalid_request_error", "not_implemented"),
}
"""Kind → type, and the code if the provider gave none. The code separates a rate limit, which is worth a
retry, from a spent quota, which is not."""

_OWN_CODES = frozenset({FailureKind.BAD_REQUEST, FailureKind.SERVER, FailureKind.NETWORK, FailureKind.TIMEOUT})
_FINAL = frozenset({FailureKind.QUOTA, FailureKind.ANSWER_TOO_LARGE})
"""The SDK would send the request again after these, and pay for the same end."""
_NAMES_MODEL = re.compile(r"(?<![/\w-])(?:models?\b|model_|deployment)", re.IGNORECASE)
"""Stands in the code or the words of a 404 that is about a model. Often it is about a path."""
_NO_MODEL = frozenset(
    {"unknown_url", "unknown_request", "response_not_found", "conversation_not_found", "item_not_found"}
)
"""Codes of things other than models that were not found."""


def status_of(failure: Failure) -> int:
    return failure.status_for(409, 422, 424)


def headers_of(failure: Failure, context: AnswerContext) -> dict[str, str]:
    headers = {"content-type": "application/json"}
    if context.id:
        headers["x-request-id"] = context.id
    headers |= render_wait(failure)
    if failure.retry_after is not None:
        headers["retry-after-ms"] = f"{failure.retry_after * 1000:.0f}"
    if failure.kind in _FINAL:
        headers["x-should-retry"] = "false"
    return headers


def error_object(failure: Failure, message: str) -> dict[str, Any]:
    """The `error` object of a body, with this message."""
    message = tell_wait(failure, message, "Please try again in")
    kind, code = KINDS[failure.kind]
    if failure.kind in _OWN_CODES:
        code = failure.code or code
    elif failure.kind is FailureKind.NOT_FOUND and not _is_about_model(failure):
        code = failure.code or None
    return {"message": message, "type": kind, "param": failure.param or None, "code": code}


def _is_about_model(failure: Failure) -> bool:
    words = f"{failure.code} {failure.param} {failure.message}"
    return failure.code not in _NO_MODEL and _NAMES_MODEL.search(words) is not None


class OpenAiAnswerParser(AnswerProgress, Protocol):
    """Frames to events."""

    def take(self, frame: bytes, out: list[Event]) -> bool: ...


Answer = TypeVar("Answer", bound=OpenAiAnswerParser)


class OpenAiStreamParser(SseStreamParser[Answer]):
    """Each frame is one piece of JSON."""

    __slots__ = ()

    def _parse_frame(self, data: bytes, out: list[Event]) -> None:
        if not data.isascii():
            data = valid_utf8(data)
        try:
            parsed = self._answer.take(data, out)
        except UNREADABLE:
            parsed = False
        if not parsed:
            self.skipped += 1
            if self._answer.over:
                out.append(Failed(UNFINISHED))
