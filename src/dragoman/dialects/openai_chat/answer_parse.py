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
from dragoman.dialects.openai_chat.stop_reasons import BREAKDOWNS, parse_stop
from dragoman.dialects.openai_chat.usage import count_usage
from dragoman.dialects.raw_json import ABSENT, UNREADABLE


def parse_answer(body: bytes, origin: Origin | None = None, *, think_tags: bool = False, seed: str = "") -> list[Event]:
    """The events of an answer that arrived at once. What is no answer is a failure."""
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
    """Usage and stop of an answer that goes through as it is; None where it must be read to be judged."""
    try:
        if not body.isascii():
            body.decode()
        said = decode_glanced(body)
    except (*UNREADABLE, UnicodeDecodeError):
        return None
    first = None
    for choice in said.choices:
        if choice.finish_reason in BREAKDOWNS:
            return None
        if choice.index == 0 and first is None:
            first = choice
    if first is None or not _silent(said.error) or said.x_groq is not ABSENT:
        return None
    message = first.message
    calls = not _silent(message.tool_calls) or not _silent(message.function_call)
    stop = parse_stop(first.finish_reason, calls, not _silent(message.refusal))
    return None if _silent(said.usage) else count_usage(said.usage), stop


def _silent(raw: msgspec.Raw) -> bool:
    return raw is ABSENT or bytes(raw) in (b"null", b"[]", b'""')
