"""Questions that every dialect has in its own words: a setting, a medium, a tool choice."""

from __future__ import annotations

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
        accepted=Outcome({"settings": {name: {"support": ACCEPTS}}}),
        refused=Outcome({"settings": {name: {"support": REFUSES}}}),
        words=(name, *words),
        after=("tools",) if tools else (),
    )


def medium(kind: str, turns: tuple[JsonObject, ...], *words: str, **more: Any) -> Question:
    """A small file inside a user turn."""
    return Question(
        id=f"{kind}-bytes",
        asks=f"a small {kind} inside a user turn",
        topic=Topic.TURNS,
        turns=turns,
        accepted=Outcome({"media": {kind: {"inline": ACCEPTS}}}),
        refused=Outcome({"media": {kind: {"inline": REFUSES}}}),
        words=words,
        **more,
    )


def choice(form: str, members: JsonObject, tool: JsonObject, *words: str, **more: Any) -> Question:
    """A form of the tool choice."""
    return Question(
        id=f"choice-{form}",
        asks=f"the tool choice `{form}`",
        topic=Topic.FORMS,
        tools=(tool,),
        members=members,
        accepted=Outcome(adds={"tool_choices": (form,)}),
        refused=Outcome(adds={"tool_choices": ()}),
        words=words,
        after=("tools",),
        **more,
    )
