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
    """The events of an answer that arrived at once. What is no answer is a failure."""
    answer = ResponsesAnswerParser(origin or ORIGIN, seed)
    out: list[Event] = []
    try:
        body.decode()
        read = answer.take_whole(body, out)
    except (*UNREADABLE, UnicodeDecodeError):
        read = False
    if not read:
        said = body[:200].decode("utf-8", "replace")
        text = f"The provider's answer cannot be read: {said}"
        return [Failed(Failure(FailureKind.BROKEN_STREAM, text, 502, raw=body[:2000]))]
    return out
