"""The type of the wire: one for all events of a stream."""

from __future__ import annotations

import msgspec
from msgspec import Raw

from dragoman.dialects.raw_json import ABSENT, decode_items, decode_members


class ResponsesStreamEvent(msgspec.Struct, gc=False):
    type: str = ""
    delta: Raw = ABSENT
    output_index: int = 0
    content_index: int = 0
    summary_index: int = 0
    logprobs: Raw = ABSENT
    item: Raw = ABSENT
    annotation: Raw = ABSENT
    text: Raw = ABSENT
    refusal: Raw = ABSENT
    arguments: Raw = ABSENT
    input: Raw = ABSENT
    response: Raw = ABSENT


decode_event = msgspec.json.Decoder(ResponsesStreamEvent).decode


def objects(raw: Raw | bytes | None) -> list[dict[str, bytes]]:
    """The objects of a list, each as raw members without nulls."""
    text = bytes(raw) if raw is not None else b""
    if text[:1] != b"[":
        return []
    return [present(item) for item in decode_items(text) if bytes(item)[:1] == b"{"]


def present(raw: Raw | bytes) -> dict[str, bytes]:
    """The members of an object that are not null."""
    return {key: text for key, value in decode_members(raw).items() if (text := bytes(value)) != b"null"}
