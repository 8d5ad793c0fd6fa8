"""A Responses stream: bytes to events here, events to bytes in the renderer."""

from __future__ import annotations

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event, Failed
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Origin
from dragoman.dialects.openai_responses import ORIGIN
from dragoman.dialects.openai_responses.answer_events import ResponsesAnswerParser
from dragoman.dialects.openai_responses.stream_render import ResponsesStreamRenderer
from dragoman.dialects.raw_json import UNREADABLE, valid_utf8
from dragoman.wire.error_bodies import read_failure
from dragoman.wire.sse import Frame, SseDecoder, one_line

__all__ = ["ResponsesStreamParser", "ResponsesStreamRenderer"]

TOO_LONG = Failure(FailureKind.BROKEN_STREAM, "The provider sent an event that is too long to be one.", 502)


class ResponsesStreamParser:
    """Reads a Responses stream. `seed` stands for the answer's id where ids of calls must be made and it has none."""

    __slots__ = ("_answer", "_decoder", "skipped")

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        self.skipped = 0
        self._decoder = SseDecoder(joint=b" ")
        self._answer = ResponsesAnswerParser(origin or ORIGIN, seed)

    def feed(self, data: bytes) -> list[Event]:
        out: list[Event] = []
        if not self._answer.over:
            self._take(self._decoder.feed(data), out)
        return out

    def close(self) -> list[Event]:
        """The end of the bytes, which is the end of the answer only if an event said so."""
        out: list[Event] = []
        answer = self._answer
        if answer.over:
            return out
        self._take(self._decoder.close(), out)
        if not answer.over and not answer.begun and self._decoder.stray:
            self._parse_plain_body(one_line(bytes(self._decoder.stray)), out)
        if not answer.over:
            answer.over = True
            out.append(Failed(UNFINISHED))
        return out

    def _take(self, frames: list[Frame], out: list[Event]) -> None:
        for frame in frames:
            if not frame.data.startswith(b"[DONE]"):
                self._parse_frame(frame.data, out)
            if self._answer.over:
                return
        if self._decoder.overflowed:
            self._answer.over = True
            out.append(Failed(TOO_LONG))

    def _parse_frame(self, data: bytes, out: list[Event]) -> None:
        if not data.isascii():
            data = valid_utf8(data)
        try:
            read = self._answer.take(data, out)
        except UNREADABLE:
            read = False
        if not read:
            self.skipped += 1
            if self._answer.over:
                out.append(Failed(UNFINISHED))

    def _parse_plain_body(self, body: bytes, out: list[Event]) -> None:
        """The server answered a request for a stream with a plain body."""
        try:
            read = self._answer.take_whole(valid_utf8(body), out)
        except UNREADABLE:
            read = False
        if not read and body.lstrip()[:1] == b"{":
            self._answer.over = True
            out.append(Failed(read_failure(200, {}, body)))
