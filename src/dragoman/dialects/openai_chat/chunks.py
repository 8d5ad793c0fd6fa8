"""The wire of an answer: a chunk of a stream, and a whole answer, which is a chunk with a message for its delta.

Texts stay raw: they are copied, not decoded. `b""` is absent, `b"null"` is null.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

DIALECT = "openai-chat"

ABSENT = Raw()


class Function(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: Raw = ABSENT
    input: Raw = ABSENT


class ToolCall(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: Function | None = None
    custom: Function | None = None
    extra_content: Raw = ABSENT


class Delta(msgspec.Struct, gc=False):
    content: Raw = ABSENT
    reasoning_content: Raw = ABSENT
    reasoning: Raw = ABSENT
    reasoning_details: Raw = ABSENT
    tool_calls: list[ToolCall] | None = None
    function_call: Function | None = None
    refusal: Raw = ABSENT
    annotations: Raw = ABSENT
    audio: Raw = ABSENT
    images: Raw = ABSENT
    extra_content: Raw = ABSENT


class WireChoice(msgspec.Struct, gc=False):
    index: int | None = None
    delta: Delta | None = None
    message: Delta | None = None
    text: Raw = ABSENT
    finish_reason: str | None = None
    logprobs: Raw = ABSENT


class Chunk(msgspec.Struct, gc=False):
    id: str | int | None = None
    choices: list[WireChoice] | None = None
    usage: Raw = ABSENT
    error: Raw = ABSENT
    x_groq: Raw = ABSENT


class SaidMessage(msgspec.Struct, gc=False):
    """Of a message, only what bears on why it ended."""

    tool_calls: Raw = ABSENT
    function_call: Raw = ABSENT
    refusal: Raw = ABSENT


class SaidChoice(msgspec.Struct, gc=False):
    finish_reason: str
    message: SaidMessage
    index: int = 0


class Said(msgspec.Struct, gc=False):
    """A whole answer that is passed on as it is: what it tells of itself."""

    choices: list[SaidChoice]
    usage: Raw = ABSENT
    error: Raw = ABSENT
    x_groq: Raw = ABSENT


class Head(msgspec.Struct, gc=False):
    """What is said once."""

    model: str | None = None
    created: int | float | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None


HEAD_KEYS = frozenset({"id", "object", "model", "created", "system_fingerprint", "service_tier"})
BODY_KEYS = frozenset({"choices", "usage", "error", "obfuscation", "p", "padding"})
CHOICE_KEYS = frozenset({"index", "delta", "message", "text", "finish_reason", "logprobs"})

decode_chunk = msgspec.json.Decoder(Chunk).decode
decode_said = msgspec.json.Decoder(Said).decode
decode_head = msgspec.json.Decoder(Head).decode
members = msgspec.json.Decoder(dict[str, Raw]).decode
items = msgspec.json.Decoder(list[Raw]).decode
plain = msgspec.json.Decoder(dict[str, Any]).decode
UNREADABLE = (msgspec.DecodeError, RecursionError)
