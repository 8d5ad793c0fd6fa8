"""Bytes of a Chat stream to events."""

from __future__ import annotations

from dragoman.conversation.events import Event
from dragoman.conversation.parts import Origin
from dragoman.dialects.openai_chat import ORIGIN
from dragoman.dialects.openai_chat.answer_events import ChatAnswerParser
from dragoman.dialects.openai_stream import OpenAiStreamParser
from dragoman.dialects.raw_json import UNREADABLE, valid_utf8
from dragoman.wire.sse import Frame


class ChatStreamParser(OpenAiStreamParser[ChatAnswerParser]):
    """Chunks, and `[DONE]` at the end. A stream whose choices have all stopped is complete without it."""

    __slots__ = ()

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        super().__init__(ChatAnswerParser(origin or ORIGIN, seed, think_tags))

    def _take_frame(self, frame: Frame, out: list[Event]) -> None:
        data = frame.data
        if data.startswith(b"[DONE]"):
            if self._answer.begun:
                self._answer.finish(out)
        elif frame.event == b"error":
            self._answer.fail(data, out)
        else:
            self._parse_frame(data, out)

    def _parse_plain_body(self, body: bytes, out: list[Event]) -> None:
        answer = self._answer
        try:
            if answer.take(valid_utf8(body), out, whole=True) and answer.begun and not answer.over:
                answer.finish(out)
        except UNREADABLE:
            self.skipped += 1
            answer.over = False

    def _end(self, out: list[Event]) -> None:
        if self._answer.stopped:
            self._answer.finish(out)
        else:
            super()._end(out)
