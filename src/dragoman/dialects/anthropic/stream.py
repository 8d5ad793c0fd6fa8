"""An Anthropic stream, both ways."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from dragoman.conversation.events import Event, Started, TextDelta, Used
from dragoman.conversation.failures import Failure
from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import Json, Origin
from dragoman.conversation.replies import Usage
from dragoman.dialects.anthropic import ID_PREFIX, NAME, ORIGIN, answer_render
from dragoman.dialects.anthropic.answer_parse import AnthropicAnswerParser, check_read_message, parse_answer
from dragoman.dialects.anthropic.relay_rewrite import rewrite_events
from dragoman.dialects.dialect import AnswerCodec, AnswerContext
from dragoman.dialects.families.block_builder import TEXT, TOOL, BlockBuilder
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.parsing import vendor_id
from dragoman.dialects.shared.raw_json import decode_broken, decode_members, says_nothing, text_of, valid_utf8
from dragoman.dialects.shared.split_surrogates import SurrogateMender
from dragoman.dialects.shared.sse_stream import SseStreamParser
from dragoman.dialects.shared.stream_output import StreamOutput
from dragoman.dialects.shared.streamed_text import StreamedText, string_members
from dragoman.wire.error_bodies import parse_failure
from dragoman.wire.json_reader import render_object
from dragoman.wire.sse import Frame, render_event_frame

find_block = re.compile(rb'(?:"type"\s*+:\s*+"|event:\s*+)(?:content_block|message_(?:delta|stop))').search
"""`message_start` and pings hold nothing of an answer. What fails after them can be tried again."""
WORDS = StreamedText(
    string_members("text", "thinking", "partial_json", "name"),
    re.compile(rb'"type"\s*+:\s*+"tool_use"'),
    string_members("signature"),
    changing=frozenset((b"text", b"thinking", b"partial_json")),
)


class _BlockDelta(msgspec.Struct, gc=False):
    type: str = ""
    text: Raw = Raw()
    thinking: Raw = Raw()
    partial_json: Raw = Raw()


class _StreamEvent(msgspec.Struct, gc=False):
    type: str = ""
    index: int = 0
    delta: _BlockDelta | None = None


_decode = msgspec.json.Decoder(_StreamEvent).decode


class AnthropicStreamParser(SseStreamParser[AnthropicAnswerParser]):
    """Events that name themselves. Deltas of blocks are most of them."""

    __slots__ = ("_seed", "_surrogates")

    def __init__(self, origin: Origin | None = None, *, seed: str = "", think_tags: bool = False) -> None:
        super().__init__(AnthropicAnswerParser(origin or ORIGIN, seed))
        self._surrogates = SurrogateMender()
        self._seed = seed

    def _parse_plain_body(self, body: bytes, out: list[Event]) -> None:
        out += parse_answer(body, self._answer.origin, seed=self._seed)
        self._answer.over = True

    def _take_frame(self, frame: Frame, out: list[Event]) -> None:
        data = frame.data
        if not data.isascii():
            data = valid_utf8(data)
        try:
            event = _decode(data)
        except (msgspec.DecodeError, RecursionError):
            found, data = decode_broken(_decode, data, self._surrogates.mark)
            if found is None:
                self.skipped += not data.startswith(b"[DONE]")
                return
            event = found
        self._answer.begun = True
        try:
            self._take(event, data, out)
        except RecursionError:  # read here, it is deeper in our own calls than where it was first decoded
            self.skipped += 1

    def _take(self, event: _StreamEvent, data: bytes, out: list[Event]) -> None:
        answer, delta, start = self._answer, event.delta, len(out)
        if event.type == "content_block_delta" and delta is not None:
            kind = delta.type
            if kind == "text_delta":
                answer.text(event.index, bytes(delta.text), out)
            elif kind == "input_json_delta":
                answer.arguments(event.index, bytes(delta.partial_json), out)
            elif kind == "thinking_delta":
                answer.thinking(event.index, bytes(delta.thinking), out)
            else:
                answer.other_delta(event.index, decode_members(decode_members(data)["delta"]), out)
            if self._surrogates.found:
                self._surrogates.mend(out, start)
        elif event.type != "ping":
            self._parse_event(event, data, out)

    def _parse_event(self, event: _StreamEvent, data: bytes, out: list[Event]) -> None:
        answer = self._answer
        fields = decode_members(data)
        try:
            match event.type:
                case "message_start":
                    message = decode_members(fields["message"])
                    answer.start(message, out)
                    answer.use(message.get("usage"), out)
                case "content_block_start":
                    answer.open_block(event.index, bytes(fields["content_block"]), out)
                case "content_block_stop":
                    answer.close_block(event.index, out)
                case "message_delta":
                    if self._surrogates.found:
                        self._surrogates.flush(out)
                    answer.message_delta(fields, out)
                case "message_stop":
                    answer.end(out)
                case "error":
                    answer.fail(parse_failure(200, {}, data), out)
                case _ if not says_nothing(fields.get("error")):
                    answer.fail(parse_failure(200, {}, data), out)
                case _:
                    self.skipped += 1
        except (KeyError, msgspec.DecodeError):
            self.skipped += 1


class AnthropicStreamRenderer(BlockBuilder, StreamOutput):
    """Renders blocks as server-sent events."""

    __slots__ = ("_begun", "_context", "_head", "_index", "_out", "_start")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(answer_render.BLOCKS, context.hides_reasoning)
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
            **answer_render.LATE_FIELDS,
            "usage": answer_render.render_usage(self._estimate_usage()),
            **own_fields(event.extras, NAME),
        }
        frame = b'{"type":"message_start","message":' + render_object(message) + b"}"
        self._out.append(render_event_frame(b"message_start", frame))

    def _estimate_usage(self) -> Usage | None:
        """The usage so far. Most vendors report the input at the end: until then clients are shown an estimate."""
        usage, estimate = self.usage, self._context.input_tokens
        if estimate is None or (usage is not None and usage.input):
            return usage
        return replace(usage or Usage(), input=estimate())

    def open_block(self, kind: bytes, block: Json) -> None:
        if not self._begun:
            self._start = self._start or Started()
            self._render_start()
        self._index += 1
        frame = b'{"type":"content_block_start","index":%d,"content_block":%b}' % (self._index, block)
        self._out.append(render_event_frame(b"content_block_start", frame))
        self._head = _HEADS.get(kind, b"") % self._index if kind else b""

    def _whole(self, part: int, block: Json) -> None:
        """A block at once. The input of a call follows its beginning."""
        members = decode_members(block) if b'"input"' in block else {}
        given = bytes(members.get("input", b"{}"))
        if given == b"{}" or not text_of(members.get("type")).endswith("tool_use"):
            super()._whole(part, block)
            return
        self._open(part, TOOL, render_object({**members, "input": b"{}"}))
        self.append(TOOL, quote(given.decode()))
        self._close()

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
        fields = answer_render.late_fields(self)
        outer = {key: fields.pop(key) for key in ("context_management",) if key in fields}
        frame = render_object(
            {
                "type": b'"message_delta"',
                "delta": render_object(fields),
                "usage": answer_render.render_delta_usage(self._estimate_usage()),
                **outer,
            }
        )
        self._out.append(render_event_frame(b"message_delta", frame))
        self._out.append(render_event_frame(b"message_stop", b'{"type":"message_stop"}'))

    def fail(self, failure: Failure) -> None:
        self._out.append(render_event_frame(b"error", answer_render.error_body(failure, self._context)[1]))


_DELTA_HEAD = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%%d,"delta":{"type":"%b","%b":'


_HEADS = {
    b"text_delta": _DELTA_HEAD % (b"text_delta", b"text"),
    b"thinking_delta": _DELTA_HEAD % (b"thinking_delta", b"thinking"),
    b"input_json_delta": _DELTA_HEAD % (b"input_json_delta", b"partial_json"),
}


ANSWERS = AnswerCodec(
    parse_answer,
    answer_render.render_answer,
    AnthropicStreamParser,
    AnthropicStreamRenderer,
    answer_render.render_error,
    complete=answer_render.complete_answer,
    check_whole=check_read_message,
    streamed_text=WORDS,
    chunk_rewrite=rewrite_events,
    find_beginning=find_block,
)
