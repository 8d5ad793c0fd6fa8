"""How streams of server-sent events are cut and ended. What the frames mean is for each dialect."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event, Failed
from dragoman.conversation.failures import UNREADABLE_ANSWERS
from dragoman.dialects.shared.parsing import FRAME_TOO_LONG
from dragoman.wire.error_bodies import parse_no_answer, unreadable_answer
from dragoman.wire.sse import Frame, SseDecoder, one_line


class AnswerProgress(Protocol):
    """An answer on its way in."""

    begun: bool
    """Something of the answer was read."""
    over: bool
    """It has ended or failed."""


Answer = TypeVar("Answer", bound=AnswerProgress)


class SseStreamParser(ABC, Generic[Answer]):
    """Bytes of a stream to events. It never raises; `skipped` counts the frames that could not be read."""

    __slots__ = ("_answer", "_decoder", "skipped")

    def __init__(self, answer: Answer) -> None:
        self.skipped = 0
        self._decoder = SseDecoder(line_separator=b" ")
        self._answer = answer

    def feed(self, data: bytes) -> list[Event]:
        out: list[Event] = []
        answer, decoder = self._answer, self._decoder
        if answer.over:
            return out
        for frame in decoder.feed(data):
            self._take_frame(frame, out)
            if answer.over:
                return out
        if decoder.overflowed:
            self._fail_too_long(out)
        return out

    def close(self) -> list[Event]:
        """The end of the bytes. It is the end of the answer only if the answer says so."""
        out: list[Event] = []
        answer = self._answer
        if answer.over:
            return out
        for frame in self._decoder.close():
            self._take_frame(frame, out)
            if answer.over:
                return out
        if self._decoder.overflowed:
            self._fail_too_long(out)
        if not answer.over and not answer.begun and self._decoder.stray:
            body = one_line(bytes(self._decoder.stray))
            self._parse_plain_body(body, out)
            if not answer.over and not answer.begun:
                answer.over = True
                out.append(Failed(unreadable_answer(body)))
        if not answer.over:
            self._end(out)
            tell_stray_error(self._decoder, out)
        return out

    # What each dialect does in its own way.

    @abstractmethod
    def _take_frame(self, frame: Frame, out: list[Event]) -> None: ...

    @abstractmethod
    def _parse_plain_body(self, body: bytes, out: list[Event]) -> None:
        """The server answered a request for a stream with a plain body."""

    def _end(self, out: list[Event]) -> None:
        """The bytes have ended before the answer did."""
        self._answer.over = True
        out.append(Failed(UNFINISHED))

    def _fail_too_long(self, out: list[Event]) -> None:
        self._answer.over = True
        out.append(Failed(FRAME_TOO_LONG))


def tell_stray_error(decoder: SseDecoder, out: list[Event]) -> None:
    """Some servers write the error that ends a stream as they write it in a body, outside of any frame."""
    if decoder.stray and out and out[-1] == Failed(UNFINISHED):
        failure = parse_no_answer(one_line(bytes(decoder.stray)))
        if failure.kind not in UNREADABLE_ANSWERS:
            out[-1] = Failed(failure)
