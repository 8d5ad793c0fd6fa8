"""A Chat stream: bytes to events here, events to bytes in the renderer."""

from __future__ import annotations

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event, Failed
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Origin
from dragoman.dialects.openai_chat import ORIGIN
from dragoman.dialects.openai_chat.answer_events import ChatAnswerParser
from dragoman.dialects.openai_chat.answer_wire import UNREADABLE
from dragoman.dialects.openai_chat.stream_render import ChatStreamRenderer
from dragoman.wire.sse import Frame, SseDecoder, one_line

__all__ = ["ChatStreamParser", "ChatStreamRenderer"]

TOO_LONG = Failure(FailureKind.BROKEN_STREAM, "The provider sent an event that is too long to be one.", 502)


class ChatStreamParser:
    """Reads a Chat stream. `think_tags`: the model writes its thinking into its text. `seed` stands for the answer's id
    where ids of calls have to be made and the answer has none."""

    __slots__ = ("_decoder", "_reader", "skipped")

    def __init__(self, origin: Origin | None = None, *, think_tags: bool = False, seed: str = "") -> None:
        self.skipped = 0
        self._decoder = SseDecoder(joint=b" ")
        self._reader = ChatAnswerParser(origin or ORIGIN, seed, think_tags)

    def feed(self, data: bytes) -> list[Event]:
        out: list[Event] = []
        if self._reader.over:
            return out
        self._take(self._decoder.feed(data), out)
        return out

    def close(self) -> list[Event]:
        """The end of the bytes. A stream whose choices all stopped is complete without its marker."""
        out: list[Event] = []
        if self._reader.over:
            return out
        self._take(self._decoder.close(), out)
        reader = self._reader
        if not reader.over and not reader.begun and self._decoder.stray:
            self._read_plain_body(one_line(bytes(self._decoder.stray)), out)
        if not reader.over and reader.stopped:
            reader.finish(out)
        if not reader.over:
            reader.over = True
            out.append(Failed(UNFINISHED))
        return out

    def _take(self, frames: list[Frame], out: list[Event]) -> None:
        reader = self._reader
        for frame in frames:
            data = frame.data
            if data.startswith(b"[DONE]"):
                if reader.begun:
                    reader.finish(out)
            elif frame.event == b"error":
                reader.fail(data, out)
            else:
                self._read(data, out)
            if reader.over:
                return
        if self._decoder.overflowed:
            reader.over = True
            out.append(Failed(TOO_LONG))

    def _read(self, data: bytes, out: list[Event]) -> None:
        if not data.isascii():
            data = _valid(data)
        try:
            read = self._reader.take(data, out)
        except UNREADABLE:
            read = False
        if not read:
            self.skipped += 1
            if self._reader.over:
                out.append(Failed(UNFINISHED))

    def _read_plain_body(self, body: bytes, out: list[Event]) -> None:
        """The server answered a request for a stream with a plain body."""
        try:
            if self._reader.take(_valid(body), out, whole=True) and self._reader.begun and not self._reader.over:
                self._reader.finish(out)
        except UNREADABLE:
            self.skipped += 1
            self._reader.over = False


def _valid(data: bytes) -> bytes:
    """Bytes that are UTF-8: skipping over raw JSON does not look."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").encode()
    return data
