"""A stream of binary frames that is relayed as it is, observed for its end, its usage and its failure.

Frames have checksums, so each is read anyway: only whole frames that are in order go to the client, with the bytes in
which they came. A frame that holds one of our secrets is written again without it.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from dragoman.conversation.collect import merge_usage
from dragoman.conversation.events import Ended, Event, Failed, Stopped, Used
from dragoman.conversation.failures import Failure
from dragoman.conversation.replies import Stop, Usage
from dragoman.dialects.dialect import StreamParser
from dragoman.engine.tokens.answer_tally import AnswerTally
from dragoman.wire.aws_event_stream import BinaryFrame, EventStreamDecoder, render_frame


class BinaryRelay(Struct, eq=False):
    """Between the provider's bytes and the client: whole frames, without our secrets."""

    _redact: Callable[[bytes], bytes] | None
    _decoder: EventStreamDecoder = field(default_factory=EventStreamDecoder)
    skipped: int = 0

    def feed(self, data: bytes) -> bytes:
        return b"".join([self._show(frame) for frame in self._decoder.feed(data)])

    def close(self) -> bytes:
        """Nothing: a half frame never goes out."""
        return b""

    drop = close

    def _show(self, frame: BinaryFrame) -> bytes:
        payload = frame.payload if self._redact is None else self._redact(frame.payload)
        if payload == frame.payload:
            return frame.raw
        texts = {name: value for name, value in frame.headers.items() if isinstance(value, str)}
        return render_frame(texts, payload)


class BinaryObserver(Struct, eq=False):
    """Reads all frames as they go by. Its members are those of a `RelayObserver`."""

    framed = True
    marked_end = False

    _parser: StreamParser
    _tally: AnswerTally
    closed: bool = False
    usage: Usage | None = None
    stop: Stop | None = None
    failure: Failure | None = None
    ended: bool = False

    def see(self, data: bytes) -> None:
        self._note(self._parser.feed(data))

    def close(self) -> bool:
        """True if the stream came to its proper end."""
        self.closed = True
        self._note(self._parser.close())
        return self.ended and self.failure is None

    def count_held(self) -> None:
        """Nothing is held: every word was counted as it went by."""

    def _note(self, events: list[Event]) -> None:
        for event in events:
            self._tally.add(event)
            if isinstance(event, Used):
                self.usage = merge_usage(self.usage, event.usage)
            elif isinstance(event, Stopped):
                self.stop = event.reason
            elif isinstance(event, Failed):
                self.failure = self.failure or event.failure
            elif isinstance(event, Ended):
                self.ended = True
