"""Events to the bytes of an Anthropic stream."""

from __future__ import annotations

from collections.abc import Sequence

from dragoman.conversation.collect import UNFINISHED
from dragoman.conversation.events import Event, Started, TextDelta, Used
from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Json
from dragoman.dialects.anthropic import ID_PREFIX, NAME
from dragoman.dialects.anthropic.errors import error_body
from dragoman.dialects.anthropic.message_fields import BLOCKS, LATE_FIELDS, late_fields
from dragoman.dialects.anthropic.usage import render_delta_usage, render_usage
from dragoman.dialects.block_builder import TEXT, BlockBuilder
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.ownership import own_fields
from dragoman.dialects.parsing import vendor_id
from dragoman.wire.json_reader import render_object
from dragoman.wire.sse import render_event_frame


class AnthropicStreamRenderer(BlockBuilder):
    """Renders blocks as server-sent events."""

    __slots__ = ("_begun", "_context", "_head", "_index", "_out", "_start")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(BLOCKS, context.hides_reasoning)
        self._context = context
        self._out: list[bytes] = []
        self._index = -1
        self._head = b""
        self._begun = False
        self._start: Started | None = None

    def render(self, events: Sequence[Event]) -> bytes:
        out = self._out = []
        for event in events:
            if type(event) is TextDelta and event.part == self._part and self._kind is TEXT and event.literal != EMPTY:
                # Most events of most streams: more text for the open block.
                if event.choice == self._shown:
                    out += (self._head, event.literal, b"}}\n\n")
                continue
            if self._start is not None and type(event) is not Used:
                self._render_start()
            self.take(event)
        if self._start is not None:
            self._render_start()
        return b"".join(out)

    def close(self) -> bytes:
        if self.over:
            return b""
        self._out = []
        self._fail(UNFINISHED)
        return b"".join(self._out)

    def begin(self, event: Started) -> None:
        # Rendered with the next event that is not usage, since `message_start` holds the number of input tokens.
        self._start = event

    def _render_start(self) -> None:
        event, self._start = self._start, None
        if self._begun or event is None:
            return
        self._begun = True
        message = {
            "id": quote(event.id or vendor_id(ID_PREFIX, self._context.id)),
            "type": b'"message"',
            "role": b'"assistant"',
            "model": quote(self._context.model or event.model),
            "content": b"[]",
            "diagnostics": b"null",
            **LATE_FIELDS,
            "usage": render_usage(self.usage),
            **own_fields(event.extras, NAME),
        }
        frame = b'{"type":"message_start","message":' + render_object(message) + b"}"
        self._out.append(render_event_frame(b"message_start", frame))

    def open_block(self, kind: bytes, block: Json) -> None:
        if not self._begun:
            self._start = self._start or Started()
            self._render_start()
        self._index += 1
        frame = b'{"type":"content_block_start","index":%d,"content_block":%b}' % (self._index, block)
        self._out.append(render_event_frame(b"content_block_start", frame))
        self._head = _HEADS.get(kind, b"") % self._index if kind else b""

    def append(self, kind: bytes, literal: bytes) -> None:
        self._out += (self._head, literal, b"}}\n\n")

    def sign(self, literal: bytes) -> None:
        self._render_delta(b'{"type":"signature_delta","signature":%b}' % literal)

    def cite(self, json: Json) -> None:
        self._render_delta(b'{"type":"citations_delta","citation":%b}' % json)

    def _render_delta(self, delta: bytes) -> None:
        frame = b'{"type":"content_block_delta","index":%d,"delta":%b}' % (self._index, delta)
        self._out.append(render_event_frame(b"content_block_delta", frame))

    def close_block(self) -> None:
        self._out.append(
            render_event_frame(b"content_block_stop", b'{"type":"content_block_stop","index":%d}' % self._index)
        )

    def finish(self) -> None:
        if not self._begun:
            self._start = self._start or Started()
            self._render_start()
        fields = late_fields(self)
        outer = {key: fields.pop(key) for key in ("context_management",) if key in fields}
        frame = render_object(
            {
                "type": b'"message_delta"',
                "delta": render_object(fields),
                "usage": render_delta_usage(self.usage),
                **outer,
            }
        )
        self._out.append(render_event_frame(b"message_delta", frame))
        self._out.append(render_event_frame(b"message_stop", b'{"type":"message_stop"}'))

    def fail(self, failure: Failure) -> None:
        self._out.append(render_event_frame(b"error", error_body(failure, self._context)[1]))


_DELTA = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%%d,"delta":{"type":"%b","%b":'


_HEADS = {
    b"text_delta": _DELTA % (b"text_delta", b"text"),
    b"thinking_delta": _DELTA % (b"thinking_delta", b"thinking"),
    b"input_json_delta": _DELTA % (b"input_json_delta", b"partial_json"),
}
