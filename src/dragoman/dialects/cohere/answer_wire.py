"""Frames of a Cohere stream, decoded as far as they are needed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from msgspec import Raw

from dragoman.dialects.raw_json import ABSENT


class CohereContentDelta(msgspec.Struct, gc=False):
    text: Raw = ABSENT
    thinking: Raw = ABSENT


class CohereFunctionDelta(msgspec.Struct, gc=False):
    name: Raw = ABSENT
    arguments: Raw = ABSENT


class CohereCallDelta(msgspec.Struct, gc=False):
    id: Raw = ABSENT
    function: CohereFunctionDelta | None = None


class CohereMessageDelta(msgspec.Struct, gc=False):
    content: CohereContentDelta | list[Raw] | None = None
    tool_calls: CohereCallDelta | list[Raw] | None = None
    tool_plan: Raw = ABSENT
    citations: Raw = ABSENT


class CohereDelta(msgspec.Struct, gc=False):
    message: CohereMessageDelta | None = None
    finish_reason: str | None = None
    usage: Raw = ABSENT
    error: Raw = ABSENT


class CohereStreamEvent(msgspec.Struct, gc=False):
    type: str = ""
    index: int | None = None
    id: str | None = None
    delta: CohereDelta | None = None
    logprobs: Raw = ABSENT


decode_event: Callable[[bytes], CohereStreamEvent] = msgspec.json.Decoder(CohereStreamEvent).decode
