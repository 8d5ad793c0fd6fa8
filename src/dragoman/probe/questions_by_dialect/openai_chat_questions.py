"""The questions that are put to a server of the Chat dialect, in the order in which they are asked.

The hard form comes first: who takes five stop sequences takes one. A question that an earlier verdict settles is left
out. Ids of calls have nine letters and digits, which every known server takes, and differ from question to question.
"""

from __future__ import annotations

from typing import Any

from dragoman.probe.probe_media import DOCUMENT, IMAGE, SOUND
from dragoman.probe.question import Condition, JsonObject, Outcome, Question, Topic
from dragoman.probe.questions_by_dialect import shared_questions as shared
from dragoman.probe.questions_by_dialect.message_turns import (
    LOOKUP,
    assistant,
    call,
    calls,
    function,
    result,
    text,
    user,
)
from dragoman.probe.questions_by_dialect.phrases import Phrases, arrange, words_of
from dragoman.probe.questions_by_dialect.question_kinds import (
    ACCEPTED,
    ACCEPTS,
    REFUSES,
    STRICT_SCHEMA,
    facts,
    setting,
    settings,
)
from dragoman.probe.request_form import RequestForm


def _calling(made: tuple[JsonObject, ...], before: str, after: str) -> tuple[JsonObject, ...]:
    return (calls(*made, content=before or None),)


SAY = Phrases(
    calling=_calling,
    nothing=None,
    words={"no_parts": ("null",), "no_user_parts": ("null",)},
    lacks=words_of("inline_system text_after_call trailing_space"),
)
FORM = RequestForm(
    last_turn=user(),
    tool=LOOKUP,
    limits=(
        {"max_tokens": 1},
        {"max_completion_tokens": 1},
        {"max_tokens": 16},
        {"max_completion_tokens": 16},
    ),
    answer="choices",
)
_NAMED: JsonObject = {"type": "function", "function": {"name": "lookup"}}
_ALLOWED: JsonObject = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [_NAMED]}}


def _medium(kind: str, part: JsonObject, **more: Any) -> Question:
    return shared.medium(SAY, kind, part, str(part["type"]), kind, **more)


def _effort(effort: str, **more: Any) -> Question:
    return shared.effort_question(effort, {"reasoning_effort": effort}, **more)


def _schema(**more: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": STRICT_SCHEMA, **more}}


def _limit(name: str, other: str) -> Question:
    return Question(
        id=name.replace("_", "-"),
        asks=f"the token limit as `{name}`",
        topic=Topic.LIMITS,
        members={name: 16},
        refused=facts(limit_name=other),
        unless=(Condition("both-limits", ACCEPTED, ACCEPTED),),
        alone=True,
    )


def _call_id(made: str, **more: Any) -> Question:
    turns = (user(), calls(call(made)), result(made), assistant())
    return Question(topic=Topic.CALLS, turns=turns, words=("id",), after=("calls",), **more)


def _answer_field(name: str, value: Any, *, id: str = "", **more: Any) -> Question:
    """An answer of the history with a further field."""
    turns = (user(), assistant(**{name: value}))
    return Question(id=id or name.replace("_", "-"), topic=Topic.TURNS, turns=turns, words=(name,), **more)


def _thinking(name: str, **more: Any) -> Question:
    asks = f"thinking sent back as `{name}`"
    return _answer_field(name, "The user greets.", asks=asks, settles="reasoning_text", often_refused=True, **more)


FIRST_QUESTIONS = (
    Question(
        id="both-limits",
        asks="the token limit under both of its names",
        topic=Topic.LIMITS,
        members={"max_tokens": 16, "max_completion_tokens": 16},
        settles="two_limits",
        accepted=Outcome(adds={"known_settings": ("max_tokens", "max_completion_tokens")}),
        alone=True,
    ),
    _limit("max_tokens", "max_completion_tokens"),
    _limit("max_completion_tokens", "max_tokens"),
    *shared.base_questions(SAY, facts(reasoning_required="never")),
    Question(
        id="calls-with-reasoning",
        asks="the same with the thinking that led to the call",
        topic=Topic.CALLS,
        turns=(
            user(),
            {**calls(call("abcdef002")), "reasoning_content": "Look it up."},
            result("abcdef002"),
            assistant(),
        ),
        accepted=facts(reasoning_required="tool-turns", reasoning_field="reasoning_content"),
        unless=(Condition("calls", ACCEPTED),),
        after=("tools",),
        stands_for="calls",
        alone=True,
    ),
    Question(
        id="calls-with-text",
        asks="a call beside an empty text, in place of null",
        topic=Topic.CALLS,
        turns=(user(), calls(call("abcdef003"), content=""), result("abcdef003"), assistant()),
        accepted=facts(call_content="empty"),
        unless=(Condition("calls", ACCEPTED), Condition("calls-with-reasoning", ACCEPTED)),
        after=("tools",),
        stands_for="calls",
        alone=True,
    ),
)
OWN_QUESTIONS = (
    *shared.system_turn_questions(SAY, between="after-user"),
    Question(
        id="refusal-part",
        often_refused=True,
        asks="a part of the type `refusal`",
        topic=Topic.TURNS,
        turns=(user(), assistant([{"type": "refusal", "refusal": "No."}])),
        settles="refusal_part",
        words=("refusal",),
        after=("list-content",),
    ),
    shared.cache_hint_question(often_refused=True, after=("list-content",)),
    _answer_field("annotations", [], asks="the `annotations` of an answer sent back", settles="citation_part"),
    _thinking("reasoning_content"),
    _thinking(
        "reasoning",
        accepted=facts(reasoning_field="reasoning"),
        unless=(Condition("reasoning-content", ACCEPTED),),
    ),
    _answer_field("tool_calls", [], id="empty-calls", asks="an empty list of tool calls", settles="empty_calls"),
    _medium("image", {"type": "image_url", "image_url": {"url": IMAGE}}),
    _medium("audio", {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}}),
    _medium(
        "document",
        {"type": "file", "file": {"filename": "a.pdf", "file_data": DOCUMENT}},
        often_refused=True,
    ),
    Question(
        id="document-url-bytes",
        often_refused=True,
        asks="a small document as a part of the type `document_url`",
        topic=Topic.TURNS,
        turns=(user([text("What is this?"), {"type": "document_url", "document_url": DOCUMENT}]), assistant()),
        accepted=Outcome({"vendor_forms": {"document": "document_url"}, "media": {"document": {"inline": ACCEPTS}}}),
        words=("document_url",),
        unless=(Condition("document-bytes", ACCEPTED),),
    ),
    _call_id(
        f"call.{'x' * 50}",
        id="odd-call-id",
        asks="a long call id with dots",
        settles="odd_call_id",
        accepted=facts(call_id_pattern=""),
    ),
    _call_id(
        f"call.{'y' * 35}",
        id="dotted-call-id",
        asks="a call id of 40 characters with dots",
        accepted=facts(call_id_pattern=".{1,40}"),
        unless=(Condition("odd-call-id", ACCEPTED),),
    ),
    _call_id(
        f"call_-{'z' * 14}",
        id="long-call-id",
        asks="a call id of letters, digits, dashes and underscores",
        accepted=facts(call_id_pattern="[a-zA-Z0-9_-]{1,40}"),
        refused=facts(call_id_pattern="[a-zA-Z0-9]{9}", call_id_length=9),
        unless=(Condition("odd-call-id", ACCEPTED), Condition("dotted-call-id", ACCEPTED)),
    ),
    Question(
        id="legacy-calls",
        often_refused=True,
        asks="`functions`, `function_call` and the role `function`",
        topic=Topic.FORMS,
        members={"functions": [function("lookup")["function"]]},
        words=("function", "functions", "function_call"),
        closing=(
            user(),
            {"role": "assistant", "content": None, "function_call": {"name": "lookup", "arguments": "{}"}},
            {"role": "function", "name": "lookup", "content": "A star."},
        ),
        settles="legacy_calls",
        alone=True,
    ),
    shared.undeclared_question(SAY),
    shared.tool_name_question(SAY, "", "[a-zA-Z0-9_-]+"),
    shared.strict_question(function("strict_lookup", strict=True, parameters=STRICT_SCHEMA)),
    setting("parallel_tool_calls", {"parallel_tool_calls": True}, tools=(LOOKUP,)),
    shared.text_tool_question({"type": "custom", "custom": {"name": "note", "description": "Note."}}),
    *shared.odd_setting_questions({"tool_choice": None}),
    *shared.temperature_questions(lambda value: {"temperature": value}),
    *settings(top_p=0.9, seed=7),
    Question(
        id="random-seed",
        asks="the seed as `random_seed`",
        topic=Topic.SETTINGS,
        members={"random_seed": 7},
        accepted=Outcome({"seed_name": "random_seed", "settings": {"seed": {"support": ACCEPTS}}}),
        unless=(Condition("setting-seed", ACCEPTED),),
    ),
    *settings(frequency_penalty=0.1, presence_penalty=0.1),
    *shared.stop_questions(lambda stops: {"stop": stops}, ((5, 4), (4, 1), (1, 0))),
    Question(
        id="setting-logprobs",
        asks="the settings `logprobs` and `top_logprobs`",
        topic=Topic.SETTINGS,
        members={"logprobs": True, "top_logprobs": 1},
        accepted=Outcome({"settings": {"logprobs": {"support": ACCEPTS}, "top_logprobs": {"support": ACCEPTS}}}),
        refused=Outcome({"settings": {"logprobs": {"support": REFUSES}, "top_logprobs": {"support": REFUSES}}}),
    ),
    *settings(user="probe", service_tier="auto", store=False, verbosity="medium", prompt_cache_key="probe"),
    *settings(top_k=40, min_p=0.05),
    _effort("low", settles="thinking"),
    _effort(
        "high",
        often_refused=True,
        settles="thinking",
        accepted=Outcome(adds={"efforts": ("high",)}),
        unless=(Condition("effort-low", ACCEPTED),),
    ),
    _effort(
        "none",
        accepted=Outcome(adds={"efforts": ("none",)}),
        unless=(Condition("effort-low", ACCEPTED),),
        after=("effort-high",),
    ),
    *shared.choices(
        SAY,
        {
            "required": {"tool_choice": "required"},
            "none": {"tool_choice": "none"},
            "named": {"tool_choice": _NAMED},
            "auto": {"tool_choice": "auto"},
            "allowed": {"tool_choice": _ALLOWED},
        },
    ),
    Question(
        id="odd-choice",
        asks="the tool choice `any`",
        topic=Topic.FORMS,
        members={"tool_choice": "any"},
        words=("tool_choice", "any"),
        tools=(function("lookup"),),
        settles="odd_choice",
        after=("tools",),
    ),
    shared.choice_without_tools_question({"tool_choice": "auto"}),
    Question(
        id="json-without-word",
        asks="JSON while no message says the word",
        topic=Topic.FORMS,
        members={"response_format": {"type": "json_object"}},
        words=("response_format", "json_object", "json"),
        toolless=True,
        settles="json_word",
        accepted=Outcome(adds={"response_formats": ("text", "json")}),
        refused=Outcome(adds={"response_formats": ("text",)}),
    ),
    Question(
        id="json",
        asks="JSON",
        topic=Topic.FORMS,
        members={"response_format": {"type": "json_object"}},
        words=("response_format", "json_object"),
        toolless=True,
        closing=(user("Answer in JSON."),),
        accepted=Outcome(adds={"response_formats": ("text", "json")}),
        refused=Outcome({"json_word": ACCEPTS}, adds={"response_formats": ("text",)}),
        unless=(Condition("json-without-word", ACCEPTED, ACCEPTED),),
    ),
    *shared.format_questions(
        SAY, shared.AnswerFormats(None, {"response_format": _schema(strict=True)}, ("response_format", "json_schema"))
    ),
    Question(
        id="format-without-schema",
        asks="an answer by a schema that is not given",
        topic=Topic.FORMS,
        members={"response_format": {"type": "json_schema", "json_schema": {"name": "answer"}}},
        words=("response_format", "schema"),
        toolless=True,
        settles="format_without_schema",
        after=("schema",),
    ),
    Question(
        id="stream-usage",
        asks="the usage of a stream",
        topic=Topic.FORMS,
        members={"stream": True, "stream_options": {"include_usage": True}},
        words=("stream_options", "include_usage"),
        settles="stream_usage",
        streamed=True,
    ),
)
QUESTIONS = arrange(SAY, FIRST_QUESTIONS, OWN_QUESTIONS)
