"""AWS's errors: the class stands in a header, and in a frame of its own inside a stream."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext, ErrorAnswer
from dragoman.dialects.shared.raw_json import encode
from dragoman.wire.aws_event_stream import render_frame
from dragoman.wire.retry_after import render_wait

ERROR_TYPE = "x-amzn-errortype"

_KINDS: Mapping[FailureKind, tuple[int, str]] = {
    FailureKind.AUTH: (403, "UnrecognizedClientException"),
    FailureKind.PERMISSION: (403, "AccessDeniedException"),
    FailureKind.NOT_FOUND: (404, "ResourceNotFoundException"),
    FailureKind.QUOTA: (400, "ServiceQuotaExceededException"),
    FailureKind.RATE_LIMIT: (429, "ThrottlingException"),
    FailureKind.OVERLOADED: (503, "ServiceUnavailableException"),
    FailureKind.CONTEXT_LENGTH: (400, "ValidationException"),
    FailureKind.CONTENT_FILTER: (400, "ValidationException"),
    FailureKind.BAD_REQUEST: (400, "ValidationException"),
    FailureKind.TOO_LARGE: (400, "ValidationException"),
    FailureKind.TIMEOUT: (408, "ModelTimeoutException"),
    FailureKind.NETWORK: (503, "ServiceUnavailableException"),
    FailureKind.BROKEN_STREAM: (424, "ModelErrorException"),
    FailureKind.ANSWER_TOO_LARGE: (424, "ModelErrorException"),
    FailureKind.SERVER: (500, "InternalServerException"),
    FailureKind.NOT_SERVED: (404, "UnknownOperationException"),
}

_IN_STREAM: Mapping[FailureKind, str] = {
    FailureKind.RATE_LIMIT: "throttlingException",
    FailureKind.OVERLOADED: "serviceUnavailableException",
    FailureKind.TIMEOUT: "modelStreamErrorException",
    FailureKind.NETWORK: "modelStreamErrorException",
    FailureKind.BROKEN_STREAM: "modelStreamErrorException",
    FailureKind.ANSWER_TOO_LARGE: "modelStreamErrorException",
    FailureKind.SERVER: "internalServerException",
}
"""The classes that a stream can end with. Everything else is a validation exception there."""

_TOO_LONG = "Input is too long for requested model."


def render_error(failure: Failure, context: AnswerContext) -> ErrorAnswer:
    """Status, headers and body of the answer."""
    status, kind = _KINDS[failure.kind]
    headers = {"content-type": "application/json", ERROR_TYPE: kind}
    if context.id:
        headers["x-amzn-requestid"] = context.id
    headers |= render_wait(failure)
    return status, headers, encode({"message": _word_error(failure)})


def render_exception(failure: Failure) -> bytes:
    """The frame with which a stream ends."""
    kind = _IN_STREAM.get(failure.kind, "validationException")
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return render_frame(headers, encode({"message": _word_error(failure)}))


def _word_error(failure: Failure) -> str:
    if failure.kind is not FailureKind.CONTEXT_LENGTH or _TOO_LONG in failure.message:
        return failure.message
    return f"{_TOO_LONG} {failure.message}".strip()
