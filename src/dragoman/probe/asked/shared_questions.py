"""Questions that dialects share, in the words of each: the dialect says how a turn, a call and a tool are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from dragoman.probe.asked.question_kinds import (
    ACCEPTED,
    ACCEPTS,
    REFUSES,
    SCHEMA,
    facts,
)
from dragoman.probe.questions import Condition, JsonObject, Outcome, Question, Topic

Turns = tuple[JsonObject, ...]
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


class Phrases(msgspec.Struct, frozen=True, kw_only=True):
    """How a dialect writes what is asked.

    `user`, `assistant`: a turn of a text or of parts. `system`: a system turn among the others. `text`: a part of a
    user turn. `call`: one call, by its id and arguments. `calling`: the turns that make calls, with words before and
    after them. `results`: the turns that answer calls; two of one id are two results of one call. `tool`: a tool by its
    name, its description and its schema; None: it has none.
    """

    user: Callable[[Any], JsonObject]
    assistant: Callable[[Any], JsonObject]
    system: Callable[[Any], JsonObject]
    text: Callable[[str], JsonObject]
    call: Callable[[str, Any], JsonObject]
    calling: Callable[[tuple[JsonObject, ...], str, str], Turns]
    results: Callable[[tuple[str, ...]], Turns]
    tool: Callable[[str, str, JsonObject | None], JsonObject]

    @property
    def lookup(self) -> JsonObject:
        return self.tool("lookup", "Look up.", SCHEMA)

    @property
    def hello(self) -> JsonObject:
        return self.assistant("Hello.")

    @property
    def hi(self) -> JsonObject:
        return self.user("Hi")

    def calls(self, *ids: str, before: str = "", after: str = "") -> Turns:
        return self.calling(tuple(self.call(id, {"word": "sun"}) for id in ids), before, after)

    def answered(self, *ids: str, results: tuple[str, ...] = (), before: str = "", after: str = "") -> Turns:
        """A user turn, calls, their results and an answer."""
        return (self.hi, *self.calls(*ids, before=before, after=after), *self.results(results or ids), self.hello)

    def with_role(self, role: str, words: str) -> JsonObject:
        """The user's turn under another role."""
        return {**self.user(words), "role": role}


def system_turn_questions(say: Phrases, parts: bool = True) -> Iterator[Question]:
    """Of a dialect whose system messages are turns. `parts`: whether a turn may be a list of them."""
    yield Question(
        id="two-systems",
        asks="two system messages at the start",
        topic=Topic.OPENING,
        opening=(say.system("Be brief."), say.system("Be kind.")),
        accepted=facts(system_count="many"),
        refused=facts(system_count="one"),
    )
    yield Question(
        id="system",
        asks="a system message at the start",
        topic=Topic.OPENING,
        opening=(say.system("Be brief."),),
        refused=facts(system_count="none"),
        unless=(Condition("two-systems", ACCEPTED, ACCEPTED),),
    )
    if parts:
        yield Question(
            id="system-parts",
            asks="a system message of two parts",
            topic=Topic.OPENING,
            opening=(say.system([say.text("Be brief."), say.text("Be polite.")]),),
            settles="system_parts",
            after=("system",),
        )
    yield Question(
        id="empty-system",
        asks="a system message of empty text",
        topic=Topic.OPENING,
        opening=(say.system(""),),
        settles="empty_system",
        after=("system",),
    )
    yield from system_among_turns(say, "opening", after=("system",))


def system_among_turns(say: Phrases, otherwise: str, **more: Any) -> Iterator[Question]:
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
        **more,
    )
    yield Question(
        id="system-after-user",
        often_refused=True,
        asks="a system message between a user's turn and the answer",
        topic=Topic.TURNS,
        turns=(say.hi, say.system("Be fair."), say.hello),
        accepted=facts(system_place="before-answer"),
        refused=facts(system_place=otherwise),
        words=("system", "role"),
        unless=(Condition("late-system", ACCEPTED),),
        **more,
    )


def role_questions(say: Phrases) -> Iterator[Question]:
    yield Question(
        id="developer-role",
        often_refused=True,
        asks="the role `developer`",
        topic=Topic.OPENING,
        opening=(say.with_role("developer", "Be exact."),),
        settles="developer_role",
        words=("developer", "role"),
    )
    yield Question(
        id="repeated-roles",
        asks="two user turns, then two assistant turns",
        topic=Topic.TURNS,
        turns=(say.user("One."), say.user("Two."), say.assistant("Three."), say.assistant("Four.")),
        settles="repeated_roles",
    )
    yield Question(
        id="unknown-role",
        often_refused=True,
        asks="a role that nobody knows",
        topic=Topic.TURNS,
        turns=(say.hi, say.with_role("narrator", "It rains."), say.hello),
        settles="unknown_role",
        words=("narrator", "role"),
    )


def empty_questions(say: Phrases) -> Iterator[Question]:
    yield Question(
        id="empty-user",
        often_refused=True,
        asks="a user turn of empty text",
        topic=Topic.TURNS,
        turns=(say.user(""), say.hello),
        settles="empty_user",
    )
    yield Question(
        id="blank-text",
        asks="a user turn of white space",
        topic=Topic.TURNS,
        turns=(say.user(" "), say.hello),
        settles="blank_text",
    )
    yield Question(
        id="empty-assistant",
        often_refused=True,
        asks="an assistant turn of empty text",
        topic=Topic.TURNS,
        turns=(say.hi, say.assistant("")),
        settles="empty_assistant",
    )


def part_questions(say: Phrases) -> Iterator[Question]:
    """Turns of several parts, or of none."""
    yield Question(
        id="no-user-parts",
        often_refused=True,
        asks="a user turn without any part",
        topic=Topic.TURNS,
        turns=(say.user([]), say.hello),
        settles="no_user_parts",
    )
    yield Question(
        id="no-parts",
        often_refused=True,
        asks="an assistant turn without any part",
        topic=Topic.TURNS,
        turns=(say.hi, say.assistant([])),
        settles="no_parts",
    )
    yield Question(
        id="several-texts",
        asks="two texts in one turn",
        topic=Topic.TURNS,
        turns=(say.user([say.text("Good"), say.text("evening.")]), say.hello),
        settles="several_texts",
    )
    yield Question(
        id="empty-beside",
        asks="an empty text beside another part",
        topic=Topic.TURNS,
        turns=(say.user([say.text("Good night."), say.text("")]), say.hello),
        settles="empty_beside",
        after=("several-texts",),
    )
    yield Question(
        id="part-field",
        often_refused=True,
        asks="a field of a part that nobody knows",
        topic=Topic.TURNS,
        turns=(say.user([{**say.text("Good day."), "x_mark": "1"}]), say.hello),
        settles="part_fields",
        words=("x_mark",),
    )


def name_question(say: Phrases) -> Question:
    return Question(
        id="message-name",
        asks="a `name` on a user turn",
        topic=Topic.TURNS,
        turns=({**say.hi, "name": "ann"}, say.hello),
        settles="message_name",
        words=("name",),
    )


def field_question(say: Phrases) -> Question:
    return Question(
        id="message-field",
        often_refused=True,
        asks="a field of a turn that nobody knows",
        topic=Topic.TURNS,
        turns=({**say.hi, "x_note": "1"}, say.hello),
        settles="unknown_fields",
        words=("x_note",),
    )


def ending_questions(say: Phrases) -> Iterator[Question]:
    yield Question(
        id="first-assistant",
        asks="a conversation that the assistant opens",
        topic=Topic.ENDINGS,
        opening=(say.assistant("Welcome."),),
        accepted=facts(first_turn="any"),
        refused=facts(first_turn="user"),
    )
    yield Question(
        id="last-assistant",
        asks="an assistant turn at the end",
        topic=Topic.ENDINGS,
        closing=(say.hi, say.assistant("The answer is")),
        accepted=facts(last_turn="any"),
        refused=facts(last_turn="user"),
        words=("prefill",),
    )
    yield Question(
        id="last-two-assistants",
        asks="two assistant turns at the end",
        topic=Topic.ENDINGS,
        closing=(say.hi, say.assistant("The answer"), say.assistant("is")),
        settles="repeated_last",
        after=("repeated-roles", "last-assistant"),
    )


def base_questions(say: Phrases) -> Iterator[Question]:
    yield Question(
        id="calls",
        asks="a call and its result in the history",
        topic=Topic.CALLS,
        turns=say.answered("abcdef001"),
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


def call_questions(say: Phrases) -> Iterator[Question]:
    """Calls and results, as the history may have them. Ids of one question are in no other."""
    yield _history("parallel-calls", "two calls in one turn", "parallel_calls", say.answered("abcdef011", "abcdef012"))
    yield _history(
        "text-beside-calls",
        "text and a call in one turn",
        "text_beside_calls",
        say.answered("abcdef041", before="Let me see."),
    )
    yield _history(
        "orphan-result",
        "a result without its call",
        "orphan_result",
        (say.hi, say.hello, *say.results(("abcdef061",)), say.hello),
    )
    yield _history(
        "missing-result",
        "a call without its result",
        "missing_result",
        (say.hi, *say.calls("abcdef071"), say.hi, say.hello),
    )
    yield _history(
        "late-result",
        "a user turn between a call and its result",
        "late_result",
        (say.hi, *say.calls("abcdef081"), say.hi, *say.results(("abcdef081",)), say.hello),
    )
    yield _history(
        "repeated-result",
        "two results of one call",
        "repeated_result",
        say.answered("abcdef101", results=("abcdef101", "abcdef101")),
    )


def id_questions(say: Phrases) -> Iterator[Question]:
    """Calls and results that are told apart by their ids."""
    yield _history(
        "result-order",
        "results in another order than their calls",
        "result_order",
        say.answered("abcdef021", "abcdef022", results=("abcdef022", "abcdef021")),
        "parallel-calls",
    )
    yield _history(
        "duplicate-ids",
        "one call id in two turns",
        "duplicate_ids",
        (*say.answered("abcdef111"), *say.answered("abcdef111")),
    )
    yield _history(
        "duplicate-ids-in-turn",
        "one call id twice in a turn",
        "duplicate_ids_in_turn",
        say.answered("abcdef121", "abcdef121"),
        "parallel-calls",
    )


_OFTEN_REFUSED = frozenset(
    {"orphan-result", "missing-result", "late-result", "repeated-result", "duplicate-ids-in-turn"}
)


def _history(id: str, asks: str, fact: str, turns: Turns, *after: str) -> Question:
    return Question(
        id=id,
        asks=asks,
        topic=Topic.CALLS,
        turns=turns,
        settles=fact,
        after=("calls", *after),
        often_refused=id in _OFTEN_REFUSED,
    )


def apart_question(say: Phrases) -> Question:
    turns = (
        say.hi,
        *say.calls("abcdef091"),
        *say.calls("abcdef092"),
        *say.results(("abcdef091", "abcdef092")),
        say.hello,
    )
    asks = "calls in two turns, answered after both"
    return _history("calls-apart", asks, "calls_apart", turns, "repeated-roles", "parallel-calls")


def call_id_questions(say: Phrases, pattern: str) -> Iterator[Question]:
    """`pattern`: the form of ids that a server of this dialect takes at least."""
    odd = f"call.{'x' * 70}"
    yield Question(
        id="odd-call-id",
        asks="a long call id with dots",
        topic=Topic.CALLS,
        turns=say.answered(odd),
        accepted=facts(call_id_pattern="", odd_call_id=ACCEPTS),
        refused=facts(call_id_pattern=pattern, odd_call_id=REFUSES),
        words=("id", odd),
        after=("calls",),
    )


def arguments_question(say: Phrases, *words: str) -> Question:
    """`words`: the name of arguments."""
    turns = (say.hi, *say.calling((say.call("abcdef051", "word: sun"),), "", ""), *say.results(("abcdef051",)))
    return Question(
        id="bad-arguments",
        asks="arguments that are no JSON object",
        topic=Topic.CALLS,
        turns=(*turns, say.hello),
        settles="bad_arguments",
        words=words,
        after=("calls",),
    )


def tool_questions(say: Phrases, with_schema: bool = False) -> Iterator[Question]:
    """`with_schema`: every tool of the dialect has a schema, so that nothing is asked about others."""
    yield _tool("empty-description", "a tool with an empty description", say.tool("silent_lookup", "", SCHEMA))
    if not with_schema:
        yield _tool("tools-without-schema", "a tool without a schema", say.tool("bare_lookup", "Look up.", None))
    twin = say.tool("twin", "Look up.", SCHEMA)
    yield Question(
        id="duplicate-tools",
        often_refused=True,
        asks="two tools of one name",
        topic=Topic.TOOLS,
        tools=(twin, twin),
        settles="duplicate_tools",
        words=("twin", "unique", "duplicate"),
        after=("tools",),
    )
    yield Question(
        id="long-tool-name",
        asks="a tool's name of 65 letters",
        topic=Topic.TOOLS,
        tools=(say.tool("l" * 65, "Look up.", SCHEMA),),
        accepted=facts(tool_name_length=128),
        refused=facts(tool_name_length=64),
        words=("l" * 65,),
        after=("tools",),
    )
    yield Question(
        id="undeclared-tools",
        asks="calls in the history while no tools are declared",
        topic=Topic.FORMS,
        closing=(say.hi, *say.calls("abcdef131"), *say.results(("abcdef131",)), say.hello, say.hi),
        settles="undeclared_tools",
        after=("calls",),
        declares=False,
        alone=True,
    )


def _tool(id: str, asks: str, tool: JsonObject) -> Question:
    return Question(id=id, asks=asks, topic=Topic.TOOLS, tools=(tool,), settles=id.replace("-", "_"), after=("tools",))


def tool_name_question(say: Phrases, accepted: str, refused: str) -> Question:
    """`accepted`, `refused`: the form of names that is taken thereby."""
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


def odd_setting_questions(null: JsonObject) -> Iterator[Question]:
    """`null`: a top-level member that is null."""
    yield Question(
        id="empty-tools",
        toolless=True,
        asks="an empty list of tools",
        topic=Topic.SETTINGS,
        members={"tools": []},
        settles="empty_tools",
        words=("tools",),
    )
    yield Question(
        id="unknown-setting",
        asks="a top-level field that nobody knows",
        topic=Topic.SETTINGS,
        members={"x_probe": 1},
        settles="unknown_settings",
        words=("x_probe",),
    )
    yield Question(
        id="null-setting",
        asks="null for a top-level field",
        topic=Topic.SETTINGS,
        members=null,
        settles="null_settings",
        words=tuple(null),
    )


def range_questions(
    name: str, high: JsonObject, low: JsonObject, most: tuple[float, float], *words: str
) -> Iterator[Question]:
    """A setting with a high value, then with an ordinary one. `most`: the greatest value in the one case and the
    other."""
    accepted = {"support": ACCEPTS}
    yield Question(
        id=f"{name}-high",
        asks=f"a high `{name}`",
        topic=Topic.SETTINGS,
        members=high,
        accepted=Outcome({"settings": {name: {**accepted, "max": most[0]}}}),
        refused=Outcome({"settings": {name: {"max": most[1]}}}),
        words=(name, *words),
    )
    yield Question(
        id=name,
        asks=f"the setting `{name}`",
        topic=Topic.SETTINGS,
        members=low,
        accepted=Outcome({"settings": {name: accepted}}),
        refused=Outcome({"settings": {name: {"support": REFUSES}}}),
        words=(name, *words),
        unless=(Condition(f"{name}-high", ACCEPTED, ACCEPTED),),
    )


def stop_questions(many: JsonObject, few: JsonObject, most: int, *words: str) -> Iterator[Question]:
    """Stop sequences: more than `most`, then one."""
    taken = {"settings": {"stop": {"support": ACCEPTS}}}
    yield Question(
        id="many-stops",
        asks=f"{most + 1} stop sequences",
        topic=Topic.SETTINGS,
        members=many,
        accepted=Outcome({**taken, "stop_max": 0}),
        refused=facts(stop_max=most),
        words=("stop", *words),
    )
    yield Question(
        id="one-stop",
        asks="one stop sequence",
        topic=Topic.SETTINGS,
        members=few,
        accepted=Outcome(taken),
        refused=Outcome({"stop_max": 0, "settings": {"stop": {"support": REFUSES}}}),
        words=("stop", *words),
        unless=(Condition("many-stops", ACCEPTED, ACCEPTED),),
    )


class AnswerFormats(msgspec.Struct, frozen=True):
    """How a request asks for JSON and for a schema. `plain`: formats that are always there."""

    json: JsonObject | None
    schema: JsonObject
    words: tuple[str, ...]
    plain: tuple[str, ...] = ()


def format_questions(say: Phrases, formats: AnswerFormats) -> Iterator[Question]:
    """JSON and a schema for the answer, alone and beside a tool."""
    closing, plain = (say.user("Answer in JSON."),), formats.plain
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
        accepted=Outcome({"format_with_tools": ACCEPTS}, adds={"response_formats": (*plain, "schema")}),
        refused=Outcome({"format_with_tools": REFUSES}),
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
