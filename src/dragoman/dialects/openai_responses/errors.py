"""Responses' errors: as in Chat over HTTP, and with events of their own in a stream."""

from __future__ import annotations

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.openai_errors import error_object, headers_of, status_of
from dragoman.dialects.shared.raw_json import encode

_INVALID = "invalid_prompt"
"""The code of a failed response that another try does not change."""
_REFUSALS = frozenset({FailureKind.BAD_REQUEST, FailureKind.CONTENT_FILTER})
_TOO_LONG = "exceeds the context window"


def render_error(failure: Failure, context: AnswerContext) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    body = encode({"error": error_object(failure, _message(failure))})
    return status_of(failure), headers_of(failure, context), body


def response_error(failure: Failure) -> bytes:
    """The `error` of a failed response, which always has a code."""
    error = error_object(failure, _message(failure))
    code = _INVALID if failure.kind in _REFUSALS else error["code"]
    return encode({"code": code or _INVALID, "message": error["message"]})


def error_event(failure: Failure, number: int) -> bytes:
    """The `error` event: flat as documented, and with the object that OpenAI really sends."""
    error = error_object(failure, _message(failure))
    flat = {"code": error["code"], "message": error["message"], "param": error["param"]}
    return encode({"type": "error", "sequence_number": number, **flat, "error": error})


def _message(failure: Failure) -> str:
    """The provider's message. For a conversation that is too long, with the sentence that agents look for."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or _TOO_LONG in failure.message:
        return failure.message
    return f"Your input exceeds the context window of this model. ({failure.message})"
