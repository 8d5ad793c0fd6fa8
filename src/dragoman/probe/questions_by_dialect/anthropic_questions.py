"""The questions that are put to a server of the Messages dialect, in the order in which they are asked."""

from __future__ import annotations

from typing import Any

from dragoman.probe.probe_media import DOCUMENT, IMAGE, base64_of
from dragoman.probe.question import Condition, JsonObject, Outcome, Question, Topic
from dragoman.probe.questions_by_dialect import shared_questions as shared
from dragoman.probe.questions_by_dialect.message_turns import assistant, text, user
from dragoman.probe.questions_by_dialect.phrases import Phrases, arrange, words_of
from dragoman.probe.questions_by_dialect.question_kinds import REFUSED, STRICT_SCHEMA, facts, setting, settings
from dragoman.probe.request_form import RequestForm


def _call(id: str, arguments: Any) -> JsonObject:
    return {"type": "tool_use", "id": id, "name": "lookup", "input": arguments}


def _calling(calls: tuple[JsonObject, ...], before: str, after: str) -> tuple[JsonObject, ...]:
    texts = [[text(words)] if words else [] for words in (before, after)]
    return (assistant([*texts[0], *calls, *texts[1]]),)


def _result(id: str, content: Any = "A star.", **more: Any) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": id, "content": content, **more}


def _results(ids: tuple[str, ...]) -> tuple[JsonObject, ...]:
    return (user([_result(id) for id in ids]),)


def _tool(name: str, description: str, schema: JsonObject | None, **more: Any) -> JsonObject:
    described = {"name": name, "description": description, **more}
    return described if schema is None else {**described, "input_schema": schema}


def _answer_by(id: str, result: JsonObject, *more: JsonObject) -> tuple[JsonObject, ...]:
    return (SAY.hi, *SAY.calls(id), user([result, *more]), SAY.hello)


SAY = Phrases(
    call=_call,
    calling=_calling,
    results=_results,
    tool=_tool,
    lacks=words_of(
        "bad_arguments empty_system list_content system_only system_parts tools_without_schema user_after_tool"
    ),
)
FORM = RequestForm(
    last_turn=SAY.hi,
    tool=SAY.lookup,
    limits=({"max_tokens": 1}, {"max_tokens": 16}),
    answer="content",
    call_marks=frozenset({"tool_use", "tool_result"}),
)
_IMAGE: JsonObject = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": base64_of(IMAGE)},
}
_DOCUMENT: JsonObject = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": base64_of(DOCUMENT)},
}
_PLAIN: JsonObject = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "A star."}}


def _odd_stop(name: str, asks: str, stop: str) -> Question:
    return Question(
        id=f"{name}-stop",
        asks=asks,
        topic=Topic.SETTINGS,
        members={"stop_sequences": [stop]},
        settles=f"{name}_stop",
        unless=(Condition("one-stop", REFUSED),),
    )


OWN_QUESTIONS = (
    shared.undeclared_question(SAY),
    *shared.system_text_questions(
        SAY, {"system": ""}, {"system": "Be brief."}, {"system": [text("Be brief."), text("Be polite.")]}
    ),
    Question(
        id="empty-system-block",
        asks="a list with an empty text as the system text",
        topic=Topic.OPENING,
        members={"system": [text("")]},
        settles="empty_system_block",
        after=("system-parts",),
    ),
    shared.cache_hint_question(),
    shared.reasoning_text_question(
        "thinking sent back without a signature",
        SAY.hi,
        assistant([{"type": "thinking", "thinking": "The user greets.", "signature": ""}, text("Hello.")]),
        words=("thinking", "signature"),
    ),
    shared.medium(SAY, "image", _IMAGE, "image"),
    shared.medium(SAY, "document", _DOCUMENT, "document"),
    Question(
        id="document-plain",
        asks="a document of plain text",
        topic=Topic.TURNS,
        turns=(user([text("What is this?"), _PLAIN]), assistant()),
        settles="media.document.plain",
        words=("document",),
        after=("document-bytes",),
    ),
    *shared.call_id_questions(SAY, "[a-zA-Z0-9_-]+"),
    shared.user_after_tool_question(*_answer_by("abcdef031", _result("abcdef031"), text("And now?"))),
    Question(
        id="result-error",
        asks="a result marked as an error",
        topic=Topic.CALLS,
        turns=_answer_by("abcdef151", _result("abcdef151", is_error=True)),
        settles="result_error",
        words=("is_error",),
        after=("calls",),
    ),
    Question(
        id="image-in-result",
        asks="an image in a result",
        topic=Topic.CALLS,
        turns=_answer_by("abcdef161", _result("abcdef161", [_IMAGE])),
        settles="media.image.result",
        words=("image",),
        after=("calls", "image-bytes"),
    ),
    shared.tool_name_question(SAY, "", "[a-zA-Z0-9_-]+"),
    shared.schema_question(SAY, facts(schema_form="minimal")),
    shared.strict_question(_tool("strict_lookup", "Look up.", STRICT_SCHEMA, strict=True)),
    *shared.odd_setting_questions({"stop_sequences": None}),
    *shared.temperature_questions(lambda value: {"temperature": value}, high=1.5),
    *settings(top_p=0.9),
    Question(
        id="top-p-beside-temperature",
        asks="`temperature` and `top_p` together",
        topic=Topic.SETTINGS,
        members={"temperature": 0.7, "top_p": 0.9},
        words=("top_p",),
        accepted=Outcome({"settings": {"top_p": {"without": ""}}}),
        refused=Outcome({"settings": {"top_p": {"without": "temperature"}}}),
        after=("temperature", "setting-top-p"),
        alone=True,
    ),
    *settings(top_k=40),
    Question(
        id="one-stop",
        asks="a stop sequence",
        topic=Topic.SETTINGS,
        members={"stop_sequences": ["\n1"]},
        settles="settings.stop.support",
    ),
    _odd_stop("empty", "an empty stop sequence", ""),
    _odd_stop("blank", "a stop sequence of white space", " "),
    setting("user", {"metadata": {"user_id": "probe"}}, "metadata", "user_id"),
    *settings(service_tier="auto"),
    Question(
        id="adaptive-thinking",
        asks="thinking as the model sees fit",
        topic=Topic.EFFORTS,
        members={"thinking": {"type": "adaptive"}},
        words=("adaptive", "thinking"),
        refused=facts(thinking_form="budget"),
    ),
    *shared.choices(
        SAY,
        {
            "required": {"tool_choice": {"type": "any"}},
            "none": {"tool_choice": {"type": "none"}},
            "named": {"tool_choice": {"type": "tool", "name": "lookup"}},
            "auto": {"tool_choice": {"type": "auto"}},
        },
    ),
    shared.choice_without_tools_question({"tool_choice": {"type": "auto"}}),
    setting(
        "parallel_tool_calls",
        {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
        "disable_parallel_tool_use",
        tools=(SAY.lookup,),
    ),
    *shared.format_questions(
        SAY,
        shared.AnswerFormats(
            None,
            {"output_config": {"format": {"type": "json_schema", "schema": STRICT_SCHEMA}}},
            ("output_config", "format"),
        ),
    ),
)
QUESTIONS = arrange(SAY, shared.base_questions(SAY), OWN_QUESTIONS)
