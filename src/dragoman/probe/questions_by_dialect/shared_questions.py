"""Questions that dialects share, in the words of each: the dialect says how a turn, a call and a tool are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from dragoman.probe.question import NO_OUTCOME, Condition, JsonObject, Outcome, Question, Topic
from dragoman.probe.questions_by_dialect.message_turns import assistant, text, user
from dragoman.probe.questions_by_dialect.phrases import Phrases
from dragoman.probe.questions_by_dialect.question_kinds import ACCEPTED, ACCEPTS, REFUSED, REFUSES, SCHEMA, facts

RICH_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "word": {"type": "string", "description": "A word.", "default": "sun", "pattern": "^[a-z]+$", "maxLength": 40},
        "size": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]},
        "near": {"$ref": "#/$defs/place"},
    },
    "required": ["word"],
    "additionalProperties": False,
    "$defs": {"place": {"type": "object", "properties": {"name": {"type": "string", "examples": ["Rome"]}}}},
}
"""A schema as libraries make them from types."""


def system_turn_questions(say: Phrases, between: str = "before-answer") -> Iterator[Question]:
    """Of a dialect whose system messages are turns. `between`: where one may stand that may not stand anywhere."""
    yield Question(
        id="system",
        asks="a system message at the start",
        topic=Topic.OPENING,
        opening=(say.system("Be brief."),),
        refused=facts(system_count="none"),
    )
    yield Question(
        id="two-systems",
        asks="two system messages at the start",
        topic=Topic.OPENING,
        opening=(say.system("Be brief."), say.system("Be kind.")),
        accepted=facts(system_count="many"),
        refused=facts(system_count="one"),
        after=("system",),
    )
    yield from _system_among_turns(say, between, "opening", ("system",))


def system_text_questions(
    say: Phrases, empty: JsonObject, one: JsonObject, two: JsonObject, *words: str
) -> Iterator[Question]:
    """Of a dialect with a field for the system text: it is empty, or has one text, or two."""
    yield Question(
        id="system-parts",
        asks="a system text of two parts",
        topic=Topic.OPENING,
        members=two,
        settles="system_parts",
        words=words,
    )
    yield Question(
        id="system",
        asks="a system text",
        topic=Topic.OPENING,
        members=one,
        refused=facts(system_count="none"),
        words=words,
        unless=(Condition("system-parts", ACCEPTED, ACCEPTED),),
    )
    yield Question(
        id="empty-system",
        asks="an empty system text",
        topic=Topic.OPENING,
        members=empty,
        settles="empty_system",
        words=words,
        after=("system",),
    )
    yield from _system_among_turns(say, "before-answer", "top-level", ())


def _system_among_turns(say: Phrases, between: str, otherwise: str, after: tuple[str, ...]) -> Iterator[Question]:
    """Where a system message may stand among the turns. `otherwise`: where else it goes."""
    yield Question(
        id="late-system",
        often_refused=True,
        asks="a system message after an assistant's turn",
        topic=Topic.TURNS,
        turns=(say.hi, say.hello, say.system("Be calm."), say.hi, say.hello),
        accepted=facts(system_place="anywhere", late_system=ACCEPTS),
        refused=facts(system_place=otherwise),
        words=("system", "role"),
        after=after,
    )
    yield Question(
        id="system-after-user",
        often_refused=True,
        asks="a system message between a user's turn and the answer",
        topic=Topic.TURNS,
        turns=(say.hi, say.system("Be fair."), say.hello),
        accepted=facts(system_place=between),
        refused=facts(system_place=otherwise),
        words=("system", "role"),
        unless=(Condition("late-system", ACCEPTED),),
        after=after,
    )


def base_questions(say: Phrases, accepted: Outcome = NO_OUTCOME) -> Iterator[Question]:
    """What many others build on. `accepted`: the facts that calls show, if they are accepted."""
    yield Question(
        id="calls",
        asks="a call and its result in the history",
        topic=Topic.CALLS,
        turns=say.answered("abcdef001"),
        accepted=accepted,
        alone=True,
    )
    yield Question(
        id="tools",
        asks="a tool",
        topic=Topic.TOOLS,
        tools=(say.lookup,),
        settles="tools",
        words=("tools",),
        unless=(Condition("calls", ACCEPTED, ACCEPTED),),
        alone=True,
    )


def undeclared_question(say: Phrases) -> Question:
    return Question(
        id="undeclared-tools",
        asks="calls in the history while no tools are declared",
        topic=Topic.FORMS,
        closing=(*say.answered("abcdef131"), say.hi),
        settles="undeclared_tools",
        after=("calls",),
        declares=False,
        alone=True,
    )


def call_id_questions(say: Phrases, pattern: str) -> Iterator[Question]:
    """`pattern`: the form of ids that a server of this dialect takes at least."""
    odd = f"call.{'x' * 70}"
    yield Question(
        id="odd-call-id",
        asks="a long call id with dots",
        topic=Topic.CALLS,
        turns=say.answered(odd),
        settles="odd_call_id",
        accepted=facts(call_id_pattern=""),
        refused=facts(call_id_pattern=pattern),
        words=("id", odd),
        after=("calls",),
    )


def tool_name_question(say: Phrases, accepted: str, refused: str) -> Question:
    """`accepted`, `refused`: the form of names that this shows to be taken."""
    return Question(
        id="dotted-tool-name",
        often_refused=True,
        asks="a tool's name with a dot",
        topic=Topic.TOOLS,
        tools=(say.tool("word.lookup", "Look up.", SCHEMA),),
        accepted=facts(tool_name_pattern=accepted),
        refused=facts(tool_name_pattern=refused),
        words=("word.lookup",),
        after=("tools",),
    )


def schema_question(say: Phrases, refused: Outcome) -> Question:
    """`refused`: the form of schemas that is taken nevertheless."""
    return Question(
        id="rich-schema",
        asks="a schema with references, alternatives and limits",
        topic=Topic.TOOLS,
        tools=(say.tool("rich_lookup", "Look up.", RICH_SCHEMA),),
        refused=refused,
        words=("$defs", "$ref", "anyOf", "additionalProperties", "examples", "pattern", "default"),
        after=("tools",),
    )


def strict_question(tool: JsonObject) -> Question:
    return Question(
        id="strict-tool",
        asks="the mark `strict` on a tool",
        topic=Topic.TOOLS,
        tools=(tool,),
        settles="strict_tools",
        words=("strict",),
        after=("tools",),
    )


def text_tool_question(tool: JsonObject) -> Question:
    return Question(
        id="custom-tool",
        asks="a tool that takes plain text",
        topic=Topic.TOOLS,
        tools=(tool,),
        settles="custom_tools",
        words=("custom",),
        after=("tools",),
    )


def odd_setting_questions(null: JsonObject) -> Iterator[Question]:
    """`null`: a top-level member that is null."""
    yield Question(
        id="empty-tools",
        toolless=True,
        asks="an empty list of tools",
        topic=Topic.SETTINGS,
        members={"tools": []},
        settles="empty_tools",
    )
    yield Question(
        id="unknown-setting",
        asks="a top-level field that nobody knows",
        topic=Topic.SETTINGS,
        members={"x_probe": 1},
        settles="unknown_settings",
    )
    yield Question(
        id="null-setting",
        asks="null for a top-level field",
        topic=Topic.SETTINGS,
        members=null,
        settles="null_settings",
    )


def temperature_questions(write: Callable[[float], JsonObject], high: float = 1.9) -> Iterator[Question]:
    """A high temperature, then an ordinary one."""
    yield Question(
        id="temperature-high",
        asks="a high `temperature`",
        topic=Topic.SETTINGS,
        members=write(high),
        accepted=Outcome({"settings": {"temperature": {"support": ACCEPTS, "max": 2}}}),
        refused=Outcome({"settings": {"temperature": {"max": 1}}}),
        words=("temperature",),
    )
    yield Question(
        id="temperature",
        asks="the setting `temperature`",
        topic=Topic.SETTINGS,
        members=write(0.7),
        settles="settings.temperature.support",
        words=("temperature",),
        unless=(Condition("temperature-high", ACCEPTED, ACCEPTED),),
    )


def stop_questions(
    write: Callable[[list[str]], JsonObject], steps: tuple[tuple[int, int], ...], *words: str, **unbounded: Any
) -> Iterator[Question]:
    """Stop sequences: so many, and how many there may be if those are refused; the most first. `unbounded`: facts that
    follow if even those are accepted."""
    taken, refused = ({"settings": {"stop": {"support": one}}} for one in (ACCEPTS, REFUSES))
    for at, (count, most) in enumerate(steps):
        yield Question(
            id=f"stops-{count}",
            asks=f"{count} stop sequences" if count > 1 else "one stop sequence",
            topic=Topic.SETTINGS,
            members=write([f"\n{number}" for number in range(count)]),
            accepted=Outcome({**taken, **(unbounded if at == 0 else {})}),
            refused=Outcome({"stop_max": most, **({} if most else refused)}),
            words=("stop", *words),
            unless=tuple(Condition(f"stops-{more}", ACCEPTED, ACCEPTED) for more, _ in steps[:at]),
        )


def effort_question(effort: str, members: JsonObject, *words: str, **more: Any) -> Question:
    return Question(
        id=f"effort-{effort}",
        asks=f"the reasoning effort `{effort}`",
        topic=Topic.EFFORTS,
        members=members,
        words=words,
        **more,
    )


def choices(say: Phrases, forms: Mapping[str, JsonObject], *words: str) -> Iterator[Question]:
    """Forms of the tool choice, by the words of facts for them."""
    for form, members in forms.items():
        yield Question(
            id=f"choice-{form}",
            asks=f"the tool choice `{form}`",
            topic=Topic.FORMS,
            tools=(say.lookup,),
            members=members,
            accepted=Outcome(adds={"tool_choices": (form,)}),
            refused=Outcome(adds={"tool_choices": ()}),
            words=words,
            unless=(Condition("choice-named", REFUSED, REFUSED),) if form == "allowed" else (),
            after=("tools",),
        )


class AnswerFormats(msgspec.Struct, frozen=True):
    """How a request asks for JSON and for a schema."""

    json: JsonObject | None
    schema: JsonObject
    words: tuple[str, ...]
    plain: tuple[str, ...] = ()
    """Formats that are always there."""


def format_questions(say: Phrases, formats: AnswerFormats) -> Iterator[Question]:
    """JSON and a schema for the answer, alone and beside a tool."""
    closing, plain = (say.user("Answer in JSON."),) if formats.json is not None else (), formats.plain
    if formats.json is not None:
        yield Question(
            id="json",
            toolless=True,
            asks="JSON",
            topic=Topic.FORMS,
            closing=closing,
            members=formats.json,
            accepted=Outcome(adds={"response_formats": (*plain, "json")}),
            refused=Outcome(adds={"response_formats": plain}),
            words=formats.words,
        )
    yield Question(
        id="schema-with-tools",
        asks="an answer by a schema beside a tool",
        topic=Topic.FORMS,
        closing=closing,
        tools=(say.lookup,),
        members=formats.schema,
        settles="format_with_tools",
        accepted=Outcome(adds={"response_formats": (*plain, "schema")}),
        words=formats.words,
        after=("tools",),
    )
    yield Question(
        id="schema",
        toolless=True,
        asks="an answer by a schema",
        topic=Topic.FORMS,
        closing=closing,
        members=formats.schema,
        accepted=Outcome(adds={"response_formats": (*plain, "schema")}),
        refused=Outcome({"format_with_tools": ACCEPTS}, adds={"response_formats": plain}),
        words=formats.words,
        unless=(Condition("schema-with-tools", ACCEPTED, ACCEPTED),),
    )


def choice_without_tools_question(members: JsonObject, *words: str) -> Question:
    return Question(
        id="choice-without-tools",
        toolless=True,
        asks="a tool choice where no tools are declared",
        topic=Topic.FORMS,
        members=members,
        settles="choice_without_tools",
        words=words,
    )


def reasoning_text_question(asks: str, *turns: JsonObject, words: tuple[str, ...]) -> Question:
    return Question(
        id="reasoning-text",
        often_refused=True,
        asks=asks,
        topic=Topic.TURNS,
        turns=turns,
        settles="reasoning_text",
        words=words,
    )


def medium(say: Phrases, kind: str, part: JsonObject, *words: str, **more: Any) -> Question:
    """A small file inside a user turn."""
    return Question(
        id=f"{kind}-bytes",
        asks=f"a small {kind} inside a user turn",
        topic=Topic.TURNS,
        turns=(say.user([say.text("What is this?"), part]), say.hello),
        settles=f"media.{kind}.inline",
        words=words,
        **more,
    )


def user_after_tool_question(*turns: JsonObject) -> Question:
    return Question(
        id="user-after-tool",
        asks="the user's words beside a result",
        topic=Topic.CALLS,
        turns=turns,
        settles="user_after_tool",
        after=("calls",),
    )


def cache_hint_question(**more: Any) -> Question:
    return Question(
        id="cache-hint",
        asks="a cache hint on a part",
        topic=Topic.TURNS,
        turns=(user([text("Good luck.", cache_control={"type": "ephemeral"})]), assistant()),
        settles="cache_hints",
        words=("cache_control",),
        **more,
    )
