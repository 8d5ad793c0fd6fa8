"""Requests of a vendor's own dialect as a cloud takes them, and the cloud's stream as the vendor's own; also the other
way, for clients of a cloud.

A cloud runs a vendor's model under an API of its own. The body is nearly the vendor's, the path names the model, and
the stream may be wrapped in frames of the cloud. The profile says which (`Envelope`); the dialect knows nothing of it.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping

import msgspec

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import quote
from dragoman.dialects.families.aws_errors import render_exception
from dragoman.profiles.profile import Envelope, StreamWrapping
from dragoman.wire.aws_event_stream import BinaryFrame, EventStreamDecoder, render_frame
from dragoman.wire.error_bodies import parse_failure
from dragoman.wire.json_reader import render_list, render_object, split_members
from dragoman.wire.sse import Frame, SseDecoder, render_event_frame


def with_header_members(body: bytes, headers: Mapping[str, str], envelope: Envelope) -> tuple[bytes, Mapping[str, str]]:
    """The body with the headers that the cloud takes as members, and the headers without them."""
    members: dict[str, bytes | msgspec.Raw] = {}
    for header, name in envelope.headers.items():
        words = [word.strip() for word in headers.get(header, "").split(",") if word.strip()]
        if words:
            members[name] = render_list([quote(word) for word in words])
    rest = {name: value for name, value in headers.items() if name not in envelope.headers}
    return render_object({**members, **split_members(body)}) if members else body, rest


def unwrapping(envelope: Envelope) -> ChunkReader | None:
    """What takes the events out of a cloud's stream; None if nothing stands around them."""
    return ChunkReader() if envelope.stream is StreamWrapping.AWS_CHUNKS else None


class ChunkReader(msgspec.Struct, eq=False):
    """AWS's frames to the server-sent events that they hold. `failure` is set if a frame says so or is damaged."""

    _frames: EventStreamDecoder = msgspec.field(default_factory=EventStreamDecoder)
    failure: Failure | None = None

    def feed(self, data: bytes) -> bytes:
        out = b"".join([self._event(frame) for frame in self._frames.feed(data) if self.failure is None])
        if self._frames.fault and self.failure is None:
            why = f"The provider sent a stream that cannot be read: {self._frames.fault}."
            self.failure = Failure(FailureKind.BROKEN_STREAM, why, 502)
        return out

    def _event(self, frame: BinaryFrame) -> bytes:
        if frame.text(":message-type") != "event":
            name = frame.text(":exception-type") or frame.text(":error-code")
            self.failure = parse_failure(200, {"x-amzn-errortype": name}, frame.payload)
            return b""
        try:
            event = b64decode(_decode_chunk(frame.payload).bytes)
            kind = _decode_kind(event).type
        except (msgspec.DecodeError, ValueError):
            return b""
        return render_event_frame(kind.encode(), event)


class _Chunk(msgspec.Struct, gc=False):
    bytes: str


class _ChunkKind(msgspec.Struct, gc=False):
    type: str


_decode_chunk = msgspec.json.Decoder(_Chunk).decode
_decode_kind = msgspec.json.Decoder(_ChunkKind).decode


class ChunkWriter(msgspec.Struct, eq=False):
    """Server-sent events of a dialect to AWS's frames, for clients that ask as on Bedrock. An error is an exception
    there, and nothing stands for a ping."""

    _events: SseDecoder = msgspec.field(default_factory=SseDecoder)

    def feed(self, data: bytes) -> bytes:
        return b"".join([self._frame(event) for event in self._events.feed(data)]) if data else b""

    def fail(self, data: bytes) -> bytes:
        """The last event of a stream that broke off, perhaps in the middle of another."""
        self._events = SseDecoder()
        return self.feed(data) + self.close()

    def close(self) -> bytes:
        return b"".join([self._frame(event) for event in self._events.close()])

    def _frame(self, event: Frame) -> bytes:
        if event.event == b"ping":
            return b""
        if event.event == b"error":
            return render_exception(parse_failure(200, {}, event.data))
        return render_frame(_CHUNK, b'{"bytes":"%b"}' % b64encode(event.data))


_CHUNK = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
