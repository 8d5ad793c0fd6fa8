"""Events of a relayed stream that Anthropic's SDKs and Claude Code stumble over, written as Anthropic writes them.

Servers that imitate Anthropic leave out the usage, the head of a message or of a block, or its end; they give two
blocks one index, or put thinking and text into one block. The SDKs raise then, or lose a block in silence.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from dragoman.conversation.failures import Failure
from dragoman.dialects.anthropic import ID_PREFIX
from dragoman.dialects.anthropic.answer_render import error_body
from dragoman.dialects.dialect import AnswerContext
from dragoman.dialects.families.call_input import call_input
from dragoman.dialects.families.foreign_errors import ForeignErrors
from dragoman.dialects.shared.parsing import answer_call_id, vendor_id

_MOST_OPEN = 1024
"""Blocks that are open at once. More go through as they are."""


class _Delta(msgspec.Struct, gc=False):
    type: Literal["text_delta", "thinking_delta", "input_json_delta"]
    text: str | UnsetType = UNSET
    thinking: str | UnsetType = UNSET
    partial_json: str | UnsetType = UNSET


class _DeltaEvent(msgspec.Struct, gc=False):
    type: Literal["content_block_delta"]
    index: int
    delta: _Delta
    error: None = None


_check_delta = msgspec.json.Decoder(_DeltaEvent).decode
_BLOCK_OF = {"text_delta": "text", "thinking_delta": "thinking"}
_WORDS_OF = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}
_EMPTY = {"text": {"type": "text", "text": ""}, "thinking": {"type": "thinking", "thinking": "", "signature": ""}}
_AFTER_START = frozenset(
    {"content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}
)


class _ShownBlock(msgspec.Struct):
    shown: int
    """Its index for the client."""
    kind: str


class MisreadBlocks(msgspec.Struct):
    """The `ChunkRewrite` of this dialect."""

    seed: str
    errors: ForeignErrors
    begun: bool = False
    renumbers: bool = False
    """The client's indexes differ from the server's."""
    follow: None = None
    open: dict[int, _ShownBlock] = {}
    blocks: int = 0
    counted: set[str] = set()
    """Counts of the head of the message. The SDKs take a later zero for the last word."""

    def may_be_misread(self, payload: bytes) -> bool:
        """Deltas are nearly all; the other events tell which of them have a place."""
        try:
            event = _check_delta(payload)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            return True
        block = self.open.get(event.index)
        kind = _BLOCK_OF.get(event.delta.type)
        return self.renumbers or block is None or (kind is not None and kind != block.kind)

    def pieces(self, chunk: dict[str, Any]) -> list[Any]:
        kind = chunk.get("type")
        if chunk.get("error") or not isinstance(kind, str):
            return self.errors.pieces(chunk)
        if kind == "message_start":
            return self._start(chunk)
        if kind not in _AFTER_START:
            return [chunk]
        head = [] if self.begun else self._start({"type": "message_start"})
        return [*head, *_WRITE[kind](self, chunk)]

    def _start(self, chunk: dict[str, Any]) -> list[Any]:
        if self.begun:
            return []
        self.begun = True
        message = chunk.get("message")
        message = message if isinstance(message, dict) else {}
        lacking: dict[str, Any] = {
            "id": vendor_id(ID_PREFIX, self.seed),
            "type": "message",
            "role": "assistant",
            "model": "",
            "content": [],
        }
        added = {key: value for key, value in lacking.items() if message.get(key) is None}
        given = message.get("usage")
        usage = dict(given) if isinstance(given, dict) else {}
        self.counted = {key for key in usage if usage[key]}
        usage |= {key: 0 for key in ("input_tokens", "output_tokens") if usage.get(key) is None}
        return [{**chunk, "message": {**message, **added, "usage": usage}}]

    def _open(self, chunk: dict[str, Any]) -> list[Any]:
        block, index = chunk.get("content_block"), _index_of(chunk)
        if not isinstance(block, dict) or len(self.open) >= _MOST_OPEN:
            return [chunk]
        ended = self._end(index)
        shown, self.blocks = self.blocks, self.blocks + 1
        self.renumbers = self.renumbers or shown != index
        self.open[index] = _ShownBlock(shown, str(block.get("type")))
        return [*ended, {**chunk, "index": shown, "content_block": self._with_members(block, shown)}]

    def _with_members(self, block: dict[str, Any], shown: int) -> dict[str, Any]:
        kind = block.get("type")
        if kind == "tool_use":
            given = block.get("input")
            if not isinstance(given, dict):
                parsed = msgspec.json.decode(call_input(given)) if isinstance(given, str) and given else {}
                block = {**block, "input": parsed}
            if not isinstance(block.get("id"), str) or not block["id"]:
                block = {**block, "id": answer_call_id(self.seed, 0, shown)}
        elif kind in _EMPTY and not isinstance(block.get(kind), str):
            block = {**block, kind: ""}
        return block

    def _grow(self, chunk: dict[str, Any]) -> list[Any]:
        delta, index = chunk.get("delta"), _index_of(chunk)
        if not isinstance(delta, dict):
            return [chunk]
        member, wanted = _WORDS_OF.get(str(delta.get("type"))), _BLOCK_OF.get(str(delta.get("type")))
        if member is not None and isinstance(delta.get(member), dict | list):
            delta = {**delta, member: msgspec.json.encode(delta[member]).decode()}
        elif member is not None and not isinstance(delta.get(member), str):
            return []
        before: list[Any] = []
        block = self.open.get(index)
        if wanted is not None and (block is None or (block.kind in _EMPTY and block.kind != wanted)):
            empty = {"type": "content_block_start", "index": index, "content_block": _EMPTY[wanted]}
            before = self._open(empty)
        block = self.open.get(index)
        return [*before, {**chunk, "index": block.shown if block is not None else index, "delta": delta}]

    def _close(self, chunk: dict[str, Any]) -> list[Any]:
        block = self.open.pop(_index_of(chunk), None)
        return [{**chunk, "index": block.shown}] if block is not None else []

    def _end(self, index: int) -> list[Any]:
        return self._close({"type": "content_block_stop", "index": index})

    def _stop(self, chunk: dict[str, Any]) -> list[Any]:
        """The end of the message, before which each block has its own."""
        ended = [event for index in list(self.open) for event in self._end(index)]
        if chunk["type"] == "message_delta":
            given = chunk.get("usage")
            reported = given if isinstance(given, dict) else {}
            usage = {key: reported[key] for key in reported if reported[key] != 0 or key not in self.counted}
            usage |= {"output_tokens": 0} if usage.get("output_tokens") is None else {}
            chunk = {**chunk, "usage": usage}
        return [*ended, chunk]


def _index_of(chunk: dict[str, Any]) -> int:
    index = chunk.get("index")
    if isinstance(index, str) and index.isdecimal() and len(index) < 10:
        return int(index)
    return index if isinstance(index, int) else 0


_WRITE = {
    "content_block_start": MisreadBlocks._open,
    "content_block_delta": MisreadBlocks._grow,
    "content_block_stop": MisreadBlocks._close,
    "message_delta": MisreadBlocks._stop,
    "message_stop": MisreadBlocks._stop,
}


def rewrite_events(seed: str, provider: str) -> MisreadBlocks:
    context = AnswerContext(id=seed)

    def write(failure: Failure) -> bytes:
        return error_body(failure, context)[1]

    return MisreadBlocks(seed, ForeignErrors(lambda event: event.get("type") == "error", write))
