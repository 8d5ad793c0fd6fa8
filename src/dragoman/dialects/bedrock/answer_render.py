"""A whole Converse answer from our reply, by the block builder that streams use."""

from __future__ import annotations

from dragoman.conversation.collect import tell
from dragoman.conversation.literals import joined, unquote
from dragoman.conversation.parts import Json
from dragoman.conversation.replies import Reply
from dragoman.dialects.bedrock.content_blocks import BLOCKS, late_fields, stop_reason
from dragoman.dialects.bedrock.usage import render_usage
from dragoman.dialects.block_builder import TEXT, THINKING, TOOL, BlockBuilder
from dragoman.dialects.call_input import call_input
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.raw_json import decode_members
from dragoman.wire.json_reader import render_list, render_object


def render_answer(reply: Reply, context: AnswerContext) -> bytes:
    """The reply as one answer."""
    whole = _BedrockAnswerRenderer(context)
    for event in tell(reply):
        whole.take(event)
    return whole.body


class _BedrockAnswerRenderer(BlockBuilder):
    """Collects blocks as the content of one message."""

    __slots__ = ("_blocks", "_citations", "_kind_open", "_literals", "_opened", "_signature", "body")

    def __init__(self, context: AnswerContext) -> None:
        super().__init__(BLOCKS, context.hides_reasoning)
        self._blocks: list[bytes] = []
        self._opened = b""
        self._kind_open = b""
        self._literals: list[bytes] = []
        self._citations: list[bytes] = []
        self._signature = b""
        self.body = b""

    def open_block(self, kind: bytes, block: Json) -> None:
        self._opened, self._kind_open = block, kind
        self._literals, self._citations, self._signature = [], [], b""

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
        if self._kind_open is TEXT and self._citations:
            cited = render_list(self._citations)
            return b'{"citationsContent":{"content":[{"text":%b}],"citations":%b}}' % (text, cited)
        if self._kind_open is TEXT:
            return b'{"text":%b}' % text
        if self._kind_open is THINKING:
            signed = b',"signature":%b' % self._signature if self._signature else b""
            return b'{"reasoningContent":{"reasoningText":{"text":%b%b}}}' % (text, signed)
        if self._kind_open is TOOL:
            fields = decode_members(self._opened)
            return b'{"toolUse":%b}' % render_object({**fields, "input": call_input(unquote(text))})
        return self._opened

    def finish(self) -> None:
        message = b'{"message":{"role":"assistant","content":%b}}' % render_list(self._blocks)
        self.body = render_object(
            {
                "output": message,
                "stopReason": stop_reason(self),
                "usage": render_usage(self.usage),
                **late_fields(self),
            }
        )
