"""Chat's errors: the status, type and code that the OpenAI SDKs and their users look for."""

from __future__ import annotations

from typing import Any

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.openai_errors import error_object, headers_of, status_of
from dragoman.dialects.shared.raw_json import encode
from dragoman.wire.error_bodies import readable

_MAX_RAW = 8192
_TOO_LONG = "maximum context length"


def render_error(failure: Failure, context: AnswerContext) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the answer."""
    return status_of(failure), headers_of(failure, context), error_body(failure)


def error_body(failure: Failure) -> bytes:
    """The body alone, which is also the last chunk of a stream that failed. `metadata`, as OpenRouter has it, names the
    provider and holds its own words in full."""
    error: dict[str, Any] = error_object(failure, message_of(failure))
    if failure.raw or failure.provider:
        error["metadata"] = {"provider_name": failure.provider, "raw": readable(failure.raw)[:_MAX_RAW]}
    return encode({"error": error})


def message_of(failure: Failure) -> str:
    """The provider's message. For a conversation that is too long, with the sentence that agents look for."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or _TOO_LONG in failure.message:
        return failure.message
    if failure.tokens is None or failure.limit is None:
        return failure.message
    return (
        f"This model's maximum context length is {failure.limit} tokens. However, your messages resulted in "
        f"{failure.tokens} tokens. ({failure.message})"
    )
