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
_SECOND = 1_000_000_000
_LEAST = 1_000_000
"""No part of an answer takes less time: clients divide by it."""


def parse_usage(fields: Mapping[str, Any]) -> Usage | None:
    """The counts of the last object of an answer, or None if it has none."""
    times = {name: encode(fields[name]) for name in DURATIONS if isinstance(fields.get(name), int)}
    if fields.get(INPUT) is None and fields.get(OUTPUT) is None and not times:
        return None
    extras = Extras(NAME, times) if times else None
    return Usage(input=token_count(fields.get(INPUT)), output=token_count(fields.get(OUTPUT)), extras=extras)


def render_usage(usage: Usage | None, reading: float = 0.0, writing: float = 0.0) -> dict[str, Json]:
    """The members of the last object of an answer. `reading` and `writing` are the seconds until the model said its
    first word, and from there to the end; the provider's own times win."""
    times = render_times(reading, writing)
    if usage is None:
        return times
    times |= {name: value for name, value in own_fields(usage.extras, NAME).items() if name in times}
    return {**times, INPUT: b"%d" % usage.input, OUTPUT: b"%d" % usage.output}


def render_times(reading: float = 0.0, writing: float = 0.0) -> dict[str, Json]:
    """The times of an answer. No model is loaded for it, which takes the least time that there is."""
    parts = (_LEAST, max(int(reading * _SECOND), _LEAST), max(int(writing * _SECOND), _LEAST))
    return {name: b"%d" % time for name, time in zip(DURATIONS, (sum(parts), *parts), strict=True)}
