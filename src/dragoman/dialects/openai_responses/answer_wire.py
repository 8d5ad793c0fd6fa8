"""The wire of a Responses stream: one shape for all its events, texts left raw."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

ABSENT = Raw()


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
members = msgspec.json.Decoder(dict[str, Raw]).decode
items = msgspec.json.Decoder(list[Raw]).decode
plain = msgspec.json.Decoder(dict[str, Any]).decode
UNREADABLE = (msgspec.DecodeError, RecursionError)


def string(raw: Raw | bytes | None) -> str:
    """The text of a string, or nothing."""
    text = bytes(raw) if raw is not None else b""
    return msgspec.json.decode(text, type=str) if text[:1] == b'"' else ""


def objects(raw: Raw | bytes | None) -> list[dict[str, bytes]]:
    """The objects of a list, each as its raw members without nulls."""
    text = bytes(raw) if raw is not None else b""
    if text[:1] != b"[":
        return []
    return [present(item) for item in items(text) if bytes(item)[:1] == b"{"]


def present(raw: Raw | bytes) -> dict[str, bytes]:
    """The members of an object that are not null."""
    return {key: text for key, value in members(raw).items() if (text := bytes(value)) != b"null"}
