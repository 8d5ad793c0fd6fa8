"""A whole response to events."""

from __future__ import annotations

from dragoman.conversation.events import Event, Failed
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import (
    Origin,
)
from dragoman.dialects.openai_responses import ORIGIN
from dragoman.dialects.openai_responses.answer_events import ResponsesAnswerParser
from dragoman.dialects.raw_json import UNREADABLE


def parse_answer(body: bytes, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> list[Event]:
    """The events of a whole answer. A body that is no answer gives one event, the failure."""
    answer = ResponsesAnswerParser(origin or ORIGIN, seed)
    out: list[Event] = []
    try:
        body.decode()
        read = answer.take_whole(body, out)
    except (*UNREADABLE, UnicodeDecodeError):
        read = False
    if not read:
        beginning = body[:200].decode("utf-8", "replace")
        text = f"The provider's answer cannot be read: {beginning}"
        return [Failed(Failure(FailureKind.BROKEN_STREAM, text, 502, raw=body[:2000]))]
    return out
