"""The frames of OpenAI's two dialects. What they mean is for each of the two."""

from __future__ import annotations

from typing import Protocol, TypeVar

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event, Failed
from dragoman.dialects.shared.raw_json import UNREADABLE, valid_utf8
from dragoman.dialects.shared.sse_stream import AnswerProgress, SseStreamParser


class OpenAiAnswerParser(AnswerProgress, Protocol):
    """Frames to events."""

    def take(self, frame: bytes, out: list[Event]) -> bool: ...


Answer = TypeVar("Answer", bound=OpenAiAnswerParser)


class OpenAiStreamParser(SseStreamParser[Answer]):
    """Each frame is one piece of JSON."""

    __slots__ = ()

    def _parse_frame(self, data: bytes, out: list[Event]) -> None:
        if not data.isascii():
            data = valid_utf8(data)
        try:
            parsed = self._answer.take(data, out)
        except UNREADABLE:
            parsed = False
        if not parsed:
            self.skipped += 1
            if self._answer.over:
                out.append(Failed(UNFINISHED))
