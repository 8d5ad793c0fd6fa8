"""Usage as Gemini counts it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.replies import Usage, token_count
from dragoman.dialects.gemini import NAME
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.raw_json import decode_object, encode
from dragoman.wire.json_reader import render_object

_COUNTED = (
    "promptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
    "totalTokenCount",
    "cachedContentTokenCount",
)


_TOOL_USE = "toolUsePromptTokenCount"


def parse_usage(pieces: Iterable[bytes]) -> Usage | None:
    """The usage in several pieces. What a later piece leaves out still holds."""
    fields: dict[str, Any] = {}
    for raw in pieces:
        try:
            fields.update(decode_object(raw))
        except msgspec.DecodeError:
            continue
    if not fields:
        return None
    prompt, answer, thoughts, _, cached = (token_count(fields.get(name)) for name in _COUNTED)
    fields[_TOOL_USE] = token_count(fields.get(_TOOL_USE)) or None
    extras = {key: encode(value) for key, value in fields.items() if key not in _COUNTED and value is not None}
    return Usage(
        input=prompt + (fields[_TOOL_USE] or 0),
        output=answer + thoughts,
        cached=cached,
        reasoning=thoughts,
        extras=Extras(NAME, extras) if extras else None,
    )


def render_usage(usage: Usage) -> Json:
    """This dialect counts thoughts apart from the answer, and results of provider tools apart from the prompt.

    They add up to the total, even if a server reports more thoughts than output or more cached tokens than input.
    """
    extras = own_fields(usage.extras, NAME)
    prompt = usage.input - (int(extras[_TOOL_USE]) if _TOOL_USE in extras else 0)
    thoughts, cached = min(usage.reasoning, usage.output), min(usage.cached, usage.input)
    fields = {
        "promptTokenCount": b"%d" % max(prompt, 0),
        "candidatesTokenCount": b"%d" % (usage.output - thoughts),
        "totalTokenCount": b"%d" % usage.total,
    }
    if thoughts:
        fields["thoughtsTokenCount"] = b"%d" % thoughts
    if cached:
        fields["cachedContentTokenCount"] = b"%d" % cached
    return render_object({**fields, **extras})
