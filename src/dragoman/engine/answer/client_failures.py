"""Failures as a client gets them: the same status, headers and body at every entrance."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from dragoman.conversation.conversation import Ask
from dragoman.conversation.events import Failed, Started
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.dialects import registry
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.shared.client_agents import find_agent
from dragoman.engine.tokens.token_estimate import estimate_request
from dragoman.errors import DragomanError, RepairRefused

_EXACT = frozenset({405, 408, 415, 422, 426})
"""Statuses of our own that say more than the dialect's 400 does."""
_LONGEST_RAW, _LONGEST_MESSAGE = 1 << 20, 1 << 16
"""Bytes and characters that are kept of what a provider says went wrong."""
_KINDS = {413: FailureKind.TOO_LARGE, 503: FailureKind.OVERLOADED}


class RenderedFailure(msgspec.Struct, frozen=True):
    """An error answer in a client's dialect. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def failure_of(fault: DragomanError) -> Failure:
    """What an error of ours tells a client: what cannot be read is 400, what may not be repaired 422."""
    kind = _KINDS.get(fault.status, FailureKind.BAD_REQUEST if fault.status < 500 else FailureKind.SERVER)
    code = fault.rule if isinstance(fault, RepairRefused) else ""
    return Failure(kind, str(fault), fault.status, code, param=fault.at)


def render_failure(dialect: str, failure: Failure, context: AnswerContext) -> RenderedFailure:
    """The answer that a client of this dialect gets in place of a reply."""
    render = context.errors or registry.dialect(dialect).answers.render_error
    status, headers, body = render(failure, context)
    if status == 400 and failure.status in _EXACT:
        status = failure.status
    return RenderedFailure(status, {name.lower(): value for name, value in headers.items()}, body)


def render_failed_stream(dialect: str, failure: Failure, context: AnswerContext) -> bytes | None:
    """The whole stream that tells a failure to an agent that would not act on an error; None for all others."""
    if not find_agent(context.headers).acts_on_stream(failure):
        return None
    return registry.dialect(dialect).answers.stream_renderer(context).render([Started(), Failed(failure)])


def clip_failure(failure: Failure) -> Failure:
    """A failure with no more of the provider's words than anybody reads."""
    if len(failure.raw) <= _LONGEST_RAW and len(failure.message) <= _LONGEST_MESSAGE:
        return failure
    return replace(failure, raw=failure.raw[:_LONGEST_RAW], message=failure.message[:_LONGEST_MESSAGE])


def with_numbers(failure: Failure, ask: Ask, context_window: int) -> Failure:
    """A context-length failure with the numbers by which agents compact: if the provider gave none, our estimate,
    and the message says so."""
    if failure.kind is not FailureKind.CONTEXT_LENGTH or failure.overflow or (failure.tokens and failure.limit):
        return failure
    limit = failure.limit or context_window
    if not limit:
        return failure
    tokens = failure.tokens or max(estimate_request(ask.conversation), limit + 1)
    message = f"{failure.message} [dragoman: the number of tokens is an estimate]"
    return replace(failure, message=message, tokens=tokens, limit=limit)
