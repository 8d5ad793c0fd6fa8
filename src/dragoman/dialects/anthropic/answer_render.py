"""A whole Anthropic answer from our reply, by the block builder that streams use."""

from __future__ import annotations

from dragoman.conversation.collect import tell
from dragoman.conversation.events import Started
from dragoman.conversation.literals import joined, quote, unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.replies import Reply
from dragoman.dialects.anthropic import ID_PREFIX, NAME
from dragoman.dialects.anthropic.message_fields import BLOCKS, late_fields
from dragoman.dialects.anthropic.usage import render_usage
from dragoman.dialects.block_builder import TEXT, THINKING, TOOL, BlockBuilder
from dragoman.dialects.call_input import call_input
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.ownership import own_fields
from dragoman.dialects.parsing import vendor_id
from dragoman.dialects.raw_json import decode_members
from dragoman.wire.json_reader import render_list, render_object


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one message object."""
    whole = _AnthropicAnswerRenderer(context)
    for event in tell(reply):
        whole.take(event)
    return whole.body


class _AnthropicAnswerRenderer(BlockBuilder):
    """Collects blocks as the content of one message."""

    __slots__ = (
        "_blocks",
        "_citations",
        "_context",
        "_kind_open",
        "_literals",
        "_opened",
        "_signature",
        "_start",
        "body",
    )

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(BLOCKS, context.hides_reasoning)
        self._context = context
        self._start = Started()
        self._blocks: list[bytes] = []
        self._opened = b""
        self._kind_open = b""
        self._literals: list[bytes] = []
        self._citations: list[bytes] = []
        self._signature = b'""'
        self.body = b""

    def begin(self, event: Started) -> None:
        self._start = event

    def open_block(self, kind: bytes, block: Json) -> None:
        self._opened, self._kind_open = block, kind
        self._literals, self._citations, self._signature = [], [], b'""'

    def append(self, kind: bytes, literal: bytes) -> None:
        self._literals.append(literal)

    def sign(self, literal: bytes) -> None:
        self._signature = literal

    def cite(self, json: Json) -> None:
        self._citations.append(json)

    def close_block(self) -> None:
        self._blocks.append(self._closed_block())

    def _closed_block(self) -> bytes:
        text = joined("", self._literals)
        if self._kind_open is TEXT:
            # The types have `citations: null`, but Anthropic sends no such member, and Vercel's AI SDK refuses one.
            cited = b'"citations":%b,' % render_list(self._citations) if self._citations else b""
            return b'{%b"type":"text","text":%b}' % (cited, text)
        if self._kind_open is THINKING:
            return b'{"type":"thinking","thinking":%b,"signature":%b}' % (text, self._signature)
        if self._kind_open is TOOL:
            fields = decode_members(self._opened)
            return render_object({**fields, "input": call_input(unquote(text))})
        return self._opened

    def finish(self) -> None:
        self.body = render_object(
            {
                "id": quote(self._start.id or vendor_id(ID_PREFIX, self._context.id)),
                "type": b'"message"',
                "role": b'"assistant"',
                "model": quote(self._context.model or self._start.model),
                "content": render_list(self._blocks),
                "diagnostics": b"null",
                **late_fields(self),
                "usage": render_usage(self.usage),
                **own_fields(self._start.extras, NAME),
            }
        )
