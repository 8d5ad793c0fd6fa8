"""Types of the wire: a chunk of a stream, and a whole answer, which is a chunk with a message in place of a delta."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.dialects.raw_json import ABSENT


class ChatFunctionDelta(msgspec.Struct, gc=False):
    name: str | None = None
    arguments: Raw = ABSENT
    input: Raw = ABSENT


class ChatCallDelta(msgspec.Struct, gc=False):
    index: int | None = None
    id: str | None = None
    type: str | None = None
    function: ChatFunctionDelta | None = None
    custom: ChatFunctionDelta | None = None
    extra_content: Raw = ABSENT


class ChatDelta(msgspec.Struct, gc=False):
    content: Raw = ABSENT
    reasoning_content: Raw = ABSENT
    reasoning: Raw = ABSENT
    reasoning_details: Raw = ABSENT
    tool_calls: list[ChatCallDelta] | None = None
    function_call: ChatFunctionDelta | None = None
    refusal: Raw = ABSENT
    annotations: Raw = ABSENT
    audio: Raw = ABSENT
    images: Raw = ABSENT
    extra_content: Raw = ABSENT


class ChatChoiceDelta(msgspec.Struct, gc=False):
    index: int | None = None
    delta: ChatDelta | None = None
    message: ChatDelta | None = None
    text: Raw = ABSENT
    finish_reason: str | None = None
    logprobs: Raw = ABSENT


class ChatChunk(msgspec.Struct, gc=False):
    id: str | int | None = None
    choices: list[ChatChoiceDelta] | None = None
    usage: Raw = ABSENT
    error: Raw = ABSENT
    x_groq: Raw = ABSENT


class GlancedMessage(msgspec.Struct, gc=False):
    """The members of a message that decide why it stopped."""

    tool_calls: Raw = ABSENT
    function_call: Raw = ABSENT
    refusal: Raw = ABSENT


class GlancedChoice(msgspec.Struct, gc=False):
    finish_reason: str
    message: GlancedMessage
    index: int = 0


class GlancedAnswer(msgspec.Struct, gc=False):
    """The members of a relayed whole answer that matter to us."""

    choices: list[GlancedChoice]
    usage: Raw = ABSENT
    error: Raw = ABSENT
    x_groq: Raw = ABSENT


class ChatHead(msgspec.Struct, gc=False):
    """Members that are the same in every chunk."""

    model: str | None = None
    created: int | float | None = None
    system_fingerprint: str | None = None
    service_tier: str | None = None


HEAD_KEYS = frozenset({"id", "object", "model", "created", "system_fingerprint", "service_tier"})
BODY_KEYS = frozenset({"choices", "usage", "error", "obfuscation", "p", "padding"})
CHOICE_KEYS = frozenset({"index", "delta", "message", "text", "finish_reason", "logprobs"})

decode_chunk = msgspec.json.Decoder(ChatChunk).decode
decode_glanced = msgspec.json.Decoder(GlancedAnswer).decode
decode_head = msgspec.json.Decoder(ChatHead).decode
