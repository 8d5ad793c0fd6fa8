"""A ConverseStream answer, both ways: binary frames, each with a JSON object."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event, Started
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Json, Origin
from dragoman.dialects.bedrock import NAME, ORIGIN, answer_render
from dragoman.dialects.bedrock.answer_parse import BedrockAnswerParser, parse_answer
from dragoman.dialects.dialect import AnswerCodec, AnswerContext
from dragoman.dialects.families.aws_errors import ERROR_TYPE, render_error, render_exception
from dragoman.dialects.families.block_builder import TEXT, THINKING, TOOL, BlockBuilder
from dragoman.dialects.shared import raw_json
from dragoman.dialects.shared.parsing import FRAME_TOO_LONG
from dragoman.dialects.shared.split_surrogates import SurrogateMender
from dragoman.dialects.shared.stream_output import StreamOutput
from dragoman.wire.aws_event_stream import BinaryFrame, EventStreamDecoder, render_frame
from dragoman.wire.error_bodies import parse_failure
from dragoman.wire.json_reader import render_object
from dragoman.wire.sse import LIMIT


class _BedrockDelta(msgspec.Struct, gc=False):
    text: Raw = raw_json.ABSENT
    toolUse: Raw = raw_json.ABSENT  # noqa: N815
    toolResult: Raw = raw_json.ABSENT  # noqa: N815
    reasoningContent: Raw = raw_json.ABSENT  # noqa: N815
    citation: Raw = raw_json.ABSENT
    image: Raw = raw_json.ABSENT


class _BedrockDeltaEvent(msgspec.Struct, gc=False):
    delta: _BedrockDelta
    contentBlockIndex: int = 0  # noqa: N815


class _BedrockBlockEvent(msgspec.Struct, gc=False):
    contentBlockIndex: int = 0  # noqa: N815
    start: dict[str, Raw] = {}


_decode_delta = msgspec.json.Decoder(_BedrockDeltaEvent).decode
_open_block = msgspec.json.Decoder(_BedrockBlockEvent).decode
_OPENING = b"{"


def _decode_block(data: bytes) -> _BedrockBlockEvent:
    event, _ = raw_json.decode_broken(_open_block, data)
    if event is None:
        raise msgspec.DecodeError("no event of a block")
    return event


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
            answer.fail(_parse_failure(frame), out)
            return
        try:
            self._parse_event(kind, raw_json.valid_utf8(frame.payload), out)
        except (*raw_json.UNREADABLE, KeyError):
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
                answer.stop(raw_json.decode_members(data), out)
            case "metadata":
                answer.metadata(raw_json.decode_members(data), out)
                answer.end(out)
            case _:
                self.skipped += 1

    def _parse_delta(self, data: bytes, out: list[Event]) -> None:
        event, _ = raw_json.decode_broken(_decode_delta, data, self._surrogates.mark)
        if event is None:
            self.skipped += 1
            return
        answer, delta, index = self._answer, event.delta, event.contentBlockIndex
        answer.start(out)
        if delta.text is not raw_json.ABSENT:
            answer.text(index, bytes(delta.text), out)
        elif delta.toolUse is not raw_json.ABSENT:
            answer.arguments(index, bytes(raw_json.decode_members(delta.toolUse).get("input", b"")), out)
        elif delta.reasoningContent is not raw_json.ABSENT:
            answer.reasoning(index, raw_json.decode_members(delta.reasoningContent), out)
        elif delta.citation is not raw_json.ABSENT:
            answer.cite(index, bytes(delta.citation))
        elif delta.toolResult is not raw_json.ABSENT:
            answer.extend(index, [bytes(item) for item in raw_json.decode_items(delta.toolResult)])
        elif delta.image is not raw_json.ABSENT:
            answer.image(index, raw_json.decode_members(delta.image), out)
        else:
            self.skipped += 1

    def _parse_start(self, data: bytes, out: list[Event]) -> None:
        event = _decode_block(data)
        self._answer.start(out)
        kind, content = next(iter(event.start.items()), ("", Raw(b"{}")))
        if kind == "toolUse":
            self._answer.open_call(event.contentBlockIndex, raw_json.decode_members(content), out)
        elif kind == "image":
            self._answer.open_other(event.contentBlockIndex, kind, raw_json.decode_members(content))
        elif kind:
            self._answer.open_other(event.contentBlockIndex, kind, event.start)


def _parse_failure(frame: BinaryFrame) -> Failure:
    """An exception: its class, and the model's own words if it has them."""
    name = frame.text(":exception-type") or frame.text(":error-code")
    body = frame.payload if frame.payload.strip() else frame.text(":error-message").encode()
    return parse_failure(200, {ERROR_TYPE: name}, body, NAME)


_JSON = "application/json"
_DELTAS = {TEXT: b'{"text":%b}', THINKING: b'{"reasoningContent":{"text":%b}}', TOOL: b'{"toolUse":{"input":%b}}'}


class BedrockStreamRenderer(BlockBuilder, StreamOutput):
    """Renders blocks as binary frames. Texts and thinking begin with their first piece, as Bedrock's own do."""

    __slots__ = ("_begun", "_index", "_out")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(answer_render.BLOCKS, context.hides_reasoning)
        self._out: list[bytes] = []
        self._index = -1
        self._begun = False

    def begin(self, event: Started) -> None:
        self._begin()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self._frame("messageStart", b'{"role":"assistant"}')

    def open_block(self, kind: bytes, block: Json) -> None:
        self._begin()
        self._index += 1
        if kind is TOOL:
            self._start(b'{"toolUse":%b}' % block)
        elif not kind:
            self._render_whole(block)

    def _render_whole(self, block: Json) -> None:
        """A block that came whole, in the pieces that a stream has for it. Other kinds have none."""
        kind, content = next(iter(raw_json.decode_members(block).items()))
        if kind == "reasoningContent":
            self._delta(block)
        elif kind == "toolUse":
            fields = raw_json.decode_members(content)
            arguments = bytes(fields.pop("input", b"{}"))
            self._start(b'{"toolUse":%b}' % render_object(fields))
            self._delta(_DELTAS[TOOL] % quote(arguments.decode()))
        elif kind == "toolResult":
            fields = raw_json.decode_members(content)
            result = bytes(fields.pop("content", b"[]"))
            self._start(b'{"toolResult":%b}' % render_object(fields))
            self._delta(b'{"toolResult":%b}' % result)

    def append(self, kind: bytes, literal: bytes) -> None:
        self._delta(_DELTAS[kind] % literal)

    def sign(self, literal: bytes) -> None:
        self._delta(b'{"reasoningContent":{"signature":%b}}' % literal)

    def cite(self, json: Json) -> None:
        self._delta(b'{"citation":%b}' % json)

    def close_block(self) -> None:
        self._frame("contentBlockStop", b'{"contentBlockIndex":%d}' % self._index)

    def finish(self) -> None:
        self._begin()
        late = answer_render.late_fields(self)
        beside = {key: late.pop(key) for key in answer_render.IN_STOP if key in late}
        self._frame("messageStop", render_object({"stopReason": answer_render.stop_reason(self), **beside}))
        self._frame("metadata", render_object({"usage": answer_render.render_usage(self.usage), **late}))

    def fail(self, failure: Failure) -> None:
        self._out.append(render_exception(failure))

    def _start(self, start: Json) -> None:
        self._frame("contentBlockStart", b'{"start":%b,"contentBlockIndex":%d}' % (start, self._index))

    def _delta(self, delta: Json) -> None:
        self._frame("contentBlockDelta", b'{"delta":%b,"contentBlockIndex":%d}' % (delta, self._index))

    def _frame(self, kind: str, payload: bytes) -> None:
        headers = {":event-type": kind, ":content-type": _JSON, ":message-type": "event"}
        self._out.append(render_frame(headers, payload))


ANSWERS = AnswerCodec(
    parse_answer, answer_render.render_answer, BedrockStreamParser, BedrockStreamRenderer, render_error
)
