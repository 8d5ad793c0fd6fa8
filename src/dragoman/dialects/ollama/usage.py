"""Usage as Ollama counts it. A count of zero is left out, and thinking is part of the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dragoman.conversation.parts import Extras, Json
from dragoman.conversation.replies import Usage, token_count
from dragoman.dialects.ollama import NAME
from dragoman.dialects.shared.ownership import own_fields
from dragoman.dialects.shared.raw_json import encode

INPUT, OUTPUT = "prompt_eval_count", "eval_count"
DURATIONS = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")
"""In nanoseconds. They are kept for clients of this dialect."""


def parse_usage(fields: Mapping[str, Any]) -> Usage | None:
    """The counts of the last object of an answer, or None where it has none."""
    times = {name: encode(fields[name]) for name in DURATIONS if isinstance(fields.get(name), int)}
    if fields.get(INPUT) is None and fields.get(OUTPUT) is None and not times:
        return None
    extras = Extras(NAME, times) if times else None
    return Usage(input=token_count(fields.get(INPUT)), output=token_count(fields.get(OUTPUT)), extras=extras)


def render_usage(usage: Usage | None) -> dict[str, Json]:
    """The members of the last object of an answer."""
    if usage is None:
        return {}
    own = own_fields(usage.extras, NAME)
    times = {name: own[name] for name in DURATIONS if name in own}
    return {**times, INPUT: b"%d" % usage.input, OUTPUT: b"%d" % usage.output}
