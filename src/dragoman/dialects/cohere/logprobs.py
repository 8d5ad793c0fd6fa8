"""Log probabilities, both ways. Inside they are an array of tokens as OpenAI Chat writes them."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.conversation.parts import Json
from dragoman.dialects.raw_json import UNREADABLE, encode

_LIMIT = 100_000
"""How many tokens of one answer are looked at."""


def parse_logprobs(raw: bytes) -> Json | None:
    """One item or a list of them; None where there is nothing to be read."""
    try:
        found = msgspec.json.decode(raw)
    except UNREADABLE:
        return None
    items = found if isinstance(found, list) else [found]
    tokens = [token for item in items[:_LIMIT] if isinstance(item, dict) for token in _tokens(item)]
    return encode(tokens) if tokens else None


def _tokens(item: dict[str, Any]) -> list[dict[str, Any]]:
    """A chunk of text is mostly one token. The text of several stands with the first."""
    listed = item.get("logprobs")
    numbers = [number for number in listed if isinstance(number, int | float)] if isinstance(listed, list) else []
    text = str(item.get("text") or "")
    texts = [text, *[""] * len(numbers)]
    return [
        {"token": token, "logprob": number, "bytes": list(token.encode("utf-8", "replace")), "top_logprobs": []}
        for token, number in zip(texts, numbers, strict=False)
    ]


def render_logprobs(tokens: Json) -> Json | None:
    """A list of items. The numbers of tokens are not known here, and the SDK's types demand the list of them."""
    try:
        found = msgspec.json.decode(tokens)
    except UNREADABLE:
        return None
    items = [
        {"token_ids": [], "text": token.get("token"), "logprobs": [token.get("logprob")]}
        for token in found
        if isinstance(token, dict)
    ]
    return encode(items) if items else None
