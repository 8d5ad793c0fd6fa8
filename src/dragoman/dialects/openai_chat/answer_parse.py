"""A whole Chat answer to events."""

from __future__ import annotations

import msgspec

from dragoman.conversation.events import Event, Failed
from dragoman.conversation.parts import (
    Origin,
)
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.openai_chat import ORIGIN
from dragoman.dialects.openai_chat.answer_events import ChatAnswerParser, unreadable
from dragoman.dialects.openai_chat.answer_wire import decode_glanced
from dragoman.dialects.openai_chat.stop_reasons import FAILURES, parse_stop
from dragoman.dialects.openai_chat.usage import count_usage
from dragoman.dialects.raw_json import ABSENT, UNREADABLE


def parse_answer(body: bytes, origin: Origin | None = None, *, think_tags: bool = False, seed: str = "") -> list[Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    answer = ChatAnswerParser(origin or ORIGIN, seed, think_tags)
    out: list[Event] = []
    try:
        body.decode()
        read = answer.take(body, out, whole=True)
    except (*UNREADABLE, UnicodeDecodeError):
        read = False
    if not read or not (answer.begun or answer.over):
        return [unreadable(body)]
    if not answer.over:
        answer.finish(out)
    return [out[-1]] if type(out[-1]) is Failed else out


def glance(body: bytes) -> tuple[Usage | None, Stop] | None:
    """Usage and stop of an answer that is relayed as it is; None where only parsing can tell."""
    try:
        if not body.isascii():
            body.decode()
        glanced = decode_glanced(body)
    except (*UNREADABLE, UnicodeDecodeError):
        return None
    first = None
    for choice in glanced.choices:
        if choice.finish_reason in FAILURES:
            return None
        if choice.index == 0 and first is None:
            first = choice
    if first is None or not _is_empty(glanced.error) or glanced.x_groq is not ABSENT:
        return None
    message = first.message
    calls = not _is_empty(message.tool_calls) or not _is_empty(message.function_call)
    stop = parse_stop(first.finish_reason, calls, not _is_empty(message.refusal))
    return None if _is_empty(glanced.usage) else count_usage(glanced.usage), stop


def _is_empty(raw: msgspec.Raw) -> bool:
    return raw is ABSENT or bytes(raw) in (b"null", b"[]", b'""')
