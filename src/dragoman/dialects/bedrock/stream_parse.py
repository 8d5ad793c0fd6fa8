"""The bytes of a ConverseStream answer to events: binary frames, each with a JSON object."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.parts import Origin
from dragoman.dialects.bedrock import ORIGIN
from dragoman.dialects.bedrock.answer_events import BedrockAnswerParser
from dragoman.dialects.bedrock.answer_parse import parse_answer
from dragoman.dialects.bedrock.errors import ERROR_TYPE, parse_error
from dragoman.dialects.parsing import FRAME_TOO_LONG
from dragoman.dialects.raw_json import ABSENT, UNREADABLE, decode_items, decode_members, valid_utf8
from dragoman.dialects.split_surrogates import SurrogateMender
from dragoman.wire.event_stream import BinaryFrame, EventStreamDecoder
from dragoman.wire.sse import LIMIT


class _BedrockDelta(msgspec.Struct, gc=False):
    text: Raw = ABSENT
    toolUse: Raw = ABSENT  # noqa: N815
    toolResult: Raw = ABSENT  # noqa: N815
    reasoningContent: Raw = ABSENT  # noqa: N815
    citation: Raw = ABSENT
    image: Raw = ABSENT


class _BedrockDeltaEvent(msgspec.Struct, gc=False):
    delta: _BedrockDelta
    contentBlockIndex: int = 0  # noqa: N815


class _BedrockBlockEvent(msgspec.Struct, gc=False):
    contentBlockIndex: int = 0  # noqa: N815
    start: dict[str, Raw] = {}


_decode_delta = msgspec.json.Decoder(_BedrockDeltaEvent).decode
_decode_block = msgspec.json.Decoder(_BedrockBlockEvent).decode
_OPENING = b"{"


class BedrockStreamParser:
    """Parses frames as they come. `skipped` counts those that it could not read."""

    __slots__ = ("_answer", "_framed", "_frames", "_plain", "_seed", "_surrogates", "skipped")

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        self._answer = BedrockAnswerParser(origin or ORIGIN, seed)
        self._frames = EventStreamDecoder()
        self._surrogates = SurrogateMender()
        self._seed = seed
        self._plain = bytearray()
        self._framed = False
        self.skipped = 0

    def feed(self, data: bytes) -> list[Event]:
        out: list[Event] = []
        if self._plain or (not self._framed and not self._frames.is_partial and data[:1] == _OPENING):
            self._plain += data  # a server that answers with a plain body: no frame is as long as this says
            if len(self._plain) > LIMIT and not self._answer.over:
                self._answer.fail(FRAME_TOO_LONG, out)
                self._plain = bytearray(_OPENING)
            return out
        for frame in self._frames.feed(data):
            self._framed = True
            self._parse_frame(frame, out)
        if self._frames.fault and not self._answer.over:
            why = f"The provider sent a stream that cannot be read: {self._frames.fault}."
            self._answer.fail(Failure(FailureKind.BROKEN_STREAM, why, 502), out)
        return out

    def close(self) -> list[Event]:
        out: list[Event] = []
        answer = self._answer
        if self._plain and not answer.over:
            return parse_answer(bytes(self._plain), answer.origin, seed=self._seed)
        if answer.over:
            return out
        if answer.is_stopped and not self._frames.is_partial:
            answer.end(out)
        else:
            answer.fail(UNFINISHED, out)
        return out

    def _parse_frame(self, frame: BinaryFrame, out: list[Event]) -> None:
        answer, kind = self._answer, frame.text(":event-type")
        if answer.over:
            return
        if frame.text(":message-type") in ("exception", "error"):
            answer.fail(_failure(frame), out)
            return
        try:
            self._parse_event(kind, valid_utf8(frame.payload), out)
        except (*UNREADABLE, KeyError):
            self.skipped += 1

    def _parse_event(self, kind: str, data: bytes, out: list[Event]) -> None:
        answer, start = self._answer, len(out)
        match kind:
            case "contentBlockDelta":
                self._parse_delta(data, out)
                if self._surrogates.found:
                    self._surrogates.mend(out, start)
            case "messageStart":
                answer.start(out)
            case "contentBlockStart":
                self._parse_start(data, out)
            case "contentBlockStop":
                answer.close_block(_decode_block(data).contentBlockIndex, out)
            case "messageStop":
                self._surrogates.flush(out)
                answer.stop(decode_members(data), out)
            case "metadata":
                answer.metadata(decode_members(data), out)
                answer.end(out)
            case _:
                self.skipped += 1

    def _parse_delta(self, data: bytes, out: list[Event]) -> None:
        try:
            event = _decode_delta(data)
        except msgspec.DecodeError:
            event = _decode_delta(self._surrogates.mark(data))
        answer, delta, index = self._answer, event.delta, event.contentBlockIndex
        answer.start(out)
        if delta.text is not ABSENT:
            answer.text(index, bytes(delta.text), out)
        elif delta.toolUse is not ABSENT:
            answer.arguments(index, bytes(decode_members(delta.toolUse).get("input", b"")), out)
        elif delta.reasoningContent is not ABSENT:
            answer.reasoning(index, decode_members(delta.reasoningContent), out)
        elif delta.citation is not ABSENT:
            answer.cite(index, bytes(delta.citation))
        elif delta.toolResult is not ABSENT:
            answer.extend(index, [bytes(item) for item in decode_items(delta.toolResult)])
        elif delta.image is not ABSENT:
            answer.image(index, decode_members(delta.image), out)
        else:
            self.skipped += 1

    def _parse_start(self, data: bytes, out: list[Event]) -> None:
        event = _decode_block(data)
        self._answer.start(out)
        kind, content = next(iter(event.start.items()), ("", Raw(b"{}")))
        if kind == "toolUse":
            self._answer.open_call(event.contentBlockIndex, decode_members(content), out)
        elif kind == "image":
            self._answer.open_other(event.contentBlockIndex, kind, decode_members(content))
        elif kind:
            self._answer.open_other(event.contentBlockIndex, kind, event.start)


def _failure(frame: BinaryFrame) -> Failure:
    """An exception: its class, and the model's own words where it has them."""
    name = frame.text(":exception-type") or frame.text(":error-code")
    body = frame.payload if frame.payload.strip() else frame.text(":error-message").encode()
    return parse_error(200, {ERROR_TYPE: name}, body)
