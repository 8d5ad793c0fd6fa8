"""A Chat stream: bytes to events here, events to bytes in the renderer."""

from __future__ import annotations

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event, Failed
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Origin
from dragoman.dialects.openai_chat import ORIGIN
from dragoman.dialects.openai_chat.answer_events import ChatAnswerParser
from dragoman.dialects.openai_chat.stream_render import ChatStreamRenderer
from dragoman.dialects.raw_json import UNREADABLE, valid_utf8
from dragoman.wire.sse import Frame, SseDecoder, one_line

__all__ = ["ChatStreamParser", "ChatStreamRenderer"]

TOO_LONG = Failure(FailureKind.BROKEN_STREAM, "The provider sent an event that is too long to be one.", 502)


class ChatStreamParser:
    """Reads a Chat stream. `think_tags`: the model writes its thinking into its text. `seed` stands for the answer's id
    where ids of calls have to be made and the answer has none."""

    __slots__ = ("_answer", "_decoder", "skipped")

    def __init__(self, origin: Origin | None = None, *, think_tags: bool = False, seed: str = "") -> None:
        self.skipped = 0
        self._decoder = SseDecoder(joint=b" ")
        self._answer = ChatAnswerParser(origin or ORIGIN, seed, think_tags)

    def feed(self, data: bytes) -> list[Event]:
        out: list[Event] = []
        if self._answer.over:
            return out
        self._take(self._decoder.feed(data), out)
        return out

    def close(self) -> list[Event]:
        """The end of the bytes. A stream whose choices all stopped is complete without its marker."""
        out: list[Event] = []
        if self._answer.over:
            return out
        self._take(self._decoder.close(), out)
        answer = self._answer
        if not answer.over and not answer.begun and self._decoder.stray:
            self._parse_plain_body(one_line(bytes(self._decoder.stray)), out)
        if not answer.over and answer.stopped:
            answer.finish(out)
        if not answer.over:
            answer.over = True
            out.append(Failed(UNFINISHED))
        return out

    def _take(self, frames: list[Frame], out: list[Event]) -> None:
        answer = self._answer
        for frame in frames:
            data = frame.data
            if data.startswith(b"[DONE]"):
                if answer.begun:
                    answer.finish(out)
            elif frame.event == b"error":
                answer.fail(data, out)
            else:
                self._parse_frame(data, out)
            if answer.over:
                return
        if self._decoder.overflowed:
            answer.over = True
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
            if self._answer.take(valid_utf8(body), out, whole=True) and self._answer.begun and not self._answer.over:
                self._answer.finish(out)
        except UNREADABLE:
            self.skipped += 1
            self._answer.over = False
