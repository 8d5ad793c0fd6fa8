"""The chunk that nearly every frame of a Chat stream is: a piece of text or of a call, with no keys but these."""

from __future__ import annotations

import msgspec

Scalar = str | int | float | None


class PlainFunction(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    arguments: str | None = None
    name: str | None = None


class PlainCall(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    function: PlainFunction
    index: int = 0
    id: str | None = None
    type: str | None = None


class PlainDelta(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str | None = None
    content: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[PlainCall] | None = None


class PlainChoice(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    delta: PlainDelta
    index: int = 0
    finish_reason: str | None = None
    native_finish_reason: str | None = None
    logprobs: None = None


class PlainChunk(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    choices: list[PlainChoice]
    id: Scalar = None
    object: Scalar = None
    created: Scalar = None
    model: Scalar = None
    system_fingerprint: Scalar = None
    service_tier: Scalar = None
    obfuscation: Scalar = None
    provider: Scalar = None
    usage: None = None


check_plain_chunk = msgspec.json.Decoder(PlainChunk).decode
"""Raises DecodeError for any other chunk."""
