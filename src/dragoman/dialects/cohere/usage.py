"""Usage as Cohere counts it: the tokens that a model saw and wrote, and separately what is billed."""

from __future__ import annotations

from typing import Any

from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.replies import Usage, token_count
from dragoman.dialects.cohere import NAME
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_object, encode

_TOKENS, _BILLED, _CACHED = "tokens", "billed_units", "cached_tokens"
_INPUT, _OUTPUT, _REASONING = "input_tokens", "output_tokens", "reasoning_tokens"


def parse_usage(raw: bytes) -> Usage | None:
    """The tokens, or None if there are no counts. Cached tokens are a part of the input."""
    try:
        fields = decode_object(raw)
    except UNREADABLE:
        return None
    counts = _counts(fields)
    if not counts:
        return None
    entered = token_count(counts.get(_INPUT))
    kept = {key: encode(value) for key, value in fields.items() if key not in (_TOKENS, _CACHED)}
    return Usage(
        input=entered,
        output=token_count(counts.get(_OUTPUT)),
        cached=min(token_count(fields.get(_CACHED)), entered),
        reasoning=token_count(counts.get(_REASONING)),
        extras=Extras(NAME, kept) if kept else None,
    )


def _counts(fields: dict[str, Any]) -> dict[str, Any]:
    """What the model saw and wrote; what is billed if the answer reports nothing else."""
    found = fields.get(_TOKENS) or fields.get(_BILLED)
    return found if isinstance(found, dict) else {}


def render_usage(usage: Usage | None) -> Json:
    """The usage object. What another provider bills is not known here: its tokens stand in."""
    usage = usage or Usage()
    tokens = {_INPUT: usage.input, _OUTPUT: usage.output}
    fields: dict[str, Any] = {_BILLED: dict(tokens)}
    fields |= {key: decode_value(value) for key, value in own_fields(usage.extras, NAME).items()}
    if usage.reasoning:
        tokens[_REASONING] = usage.reasoning
    fields[_TOKENS] = tokens
    fields[_CACHED] = min(usage.cached, usage.input)
    return encode(fields)


def decode_value(value: Json) -> Any:
    return decode_object(b'{"value":' + value + b"}")["value"]
