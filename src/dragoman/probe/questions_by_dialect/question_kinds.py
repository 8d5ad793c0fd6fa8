"""What questions are made of: verdicts, facts that follow from them, schemas of tools, and the simplest kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dragoman.probe.question import JsonObject, Outcome, Question, Topic, Verdict

ACCEPTED, REFUSED = Verdict.ACCEPTED, Verdict.REFUSED
ACCEPTS, REFUSES = "accepts", "refuses"
SCHEMA: JsonObject = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
STRICT_SCHEMA: JsonObject = {**SCHEMA, "additionalProperties": False}


def facts(**settled: Any) -> Outcome:
    return Outcome(settled)


def setting(name: str, members: JsonObject, *words: str, tools: tuple[JsonObject, ...] = ()) -> Question:
    """A setting with an ordinary value. `name` is that of its fact, `words` are other names for it, `tools` are those
    without which it means nothing."""
    return Question(
        id=f"setting-{name.replace('_', '-')}",
        asks=f"the setting `{name}`",
        topic=Topic.TOOLS if tools else Topic.SETTINGS,
        tools=tools,
        members=members,
        settles=f"settings.{name}.support",
        words=(name, *words),
        after=("tools",) if tools else (),
    )


def settings(**values: Any) -> Iterator[Question]:
    """Settings that are top-level members by the names of their facts."""
    return (setting(name, {name: value}) for name, value in values.items())
