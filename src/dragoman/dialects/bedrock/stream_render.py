"""Events to the bytes of a ConverseStream answer."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event, Started
from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Json
from dragoman.dialects.bedrock.content_blocks import BLOCKS, IN_STOP, late_fields, stop_reason
from dragoman.dialects.bedrock.errors import render_exception
from dragoman.dialects.bedrock.usage import render_usage
from dragoman.dialects.block_builder import TEXT, THINKING, TOOL, BlockBuilder
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.raw_json import decode_members
from dragoman.wire.event_stream import render_frame
from dragoman.wire.json_reader import render_object

_JSON = "application/json"
_DELTAS = {TEXT: b'{"text":%b}', THINKING: b'{"reasoningContent":{"text":%b}}', TOOL: b'{"toolUse":{"input":%b}}'}


class BedrockStreamRenderer(BlockBuilder):
    """Renders blocks as binary frames. Texts and thinking begin with their first piece, as Bedrock's own do."""

    __slots__ = ("_begun", "_index", "_out")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(BLOCKS, context.hides_reasoning)
        self._out: list[bytes] = []
        self._index = -1
        self._begun = False

    def render(self, events: Sequence[Event]) -> bytes:
        out = self._out = []
        for event in events:
            self.take(event)
        return b"".join(out)

    def close(self) -> bytes:
        if self.over:
            return b""
        self._out = []
        self._fail(UNFINISHED)
        return b"".join(self._out)

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
        kind, content = next(iter(decode_members(block).items()))
        if kind == "reasoningContent":
            self._delta(block)
        elif kind == "toolUse":
            fields = decode_members(content)
            arguments = bytes(fields.pop("input", b"{}"))
            self._start(b'{"toolUse":%b}' % render_object(fields))
            self._delta(_DELTAS[TOOL] % quote(arguments.decode()))
        elif kind == "toolResult":
            fields = decode_members(content)
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
        late = late_fields(self)
        beside = {key: late.pop(key) for key in IN_STOP if key in late}
        self._frame("messageStop", render_object({"stopReason": stop_reason(self), **beside}))
        self._frame("metadata", render_object({"usage": render_usage(self.usage), **late}))

    def fail(self, failure: Failure) -> None:
        self._out.append(render_exception(failure))

    def _start(self, start: Json) -> None:
        self._frame("contentBlockStart", b'{"start":%b,"contentBlockIndex":%d}' % (start, self._index))

    def _delta(self, delta: Json) -> None:
        self._frame("contentBlockDelta", b'{"delta":%b,"contentBlockIndex":%d}' % (delta, self._index))

    def _frame(self, kind: str, payload: bytes) -> None:
        headers = {":event-type": kind, ":content-type": _JSON, ":message-type": "event"}
        self._out.append(render_frame(headers, payload))
