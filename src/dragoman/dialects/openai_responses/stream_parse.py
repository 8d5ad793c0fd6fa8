"""Bytes of a Responses stream to events."""

from __future__ import annotations

from dragoman.conversation.events import Event, Failed
from dragoman.conversation.parts import Origin
from dragoman.dialects.openai_responses import ORIGIN
from dragoman.dialects.openai_responses.answer_events import ResponsesAnswerParser
from dragoman.dialects.openai_stream import OpenAiStreamParser
from dragoman.dialects.raw_json import UNREADABLE, valid_utf8
from dragoman.wire.error_bodies import parse_failure
from dragoman.wire.sse import Frame


class ResponsesStreamParser(OpenAiStreamParser[ResponsesAnswerParser]):
    """Events that name themselves. The last one repeats the whole answer."""

    __slots__ = ()

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        super().__init__(ResponsesAnswerParser(origin or ORIGIN, seed))

    def _take_frame(self, frame: Frame, out: list[Event]) -> None:
        if not frame.data.startswith(b"[DONE]"):
            self._parse_frame(frame.data, out)

    def _parse_plain_body(self, body: bytes, out: list[Event]) -> None:
        try:
            parsed = self._answer.take_whole(valid_utf8(body), out)
        except UNREADABLE:
            parsed = False
        if not parsed and body.lstrip()[:1] == b"{":
            self._answer.over = True
            out.append(Failed(parse_failure(200, {}, body)))
