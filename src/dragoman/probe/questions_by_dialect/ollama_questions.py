"""The questions that are put to a server of Ollama's own chat dialect, in the order in which they are asked.

The server ignores fields that it does not know, and its options too, so those are asked in one request.
"""

from __future__ import annotations

from typing import Any

from dragoman.probe.probe_media import IMAGE, base64_of
from dragoman.probe.question import JsonObject, Question, Topic
from dragoman.probe.questions_by_dialect import shared_questions as shared
from dragoman.probe.questions_by_dialect.message_turns import assistant, user
from dragoman.probe.questions_by_dialect.phrases import Phrases, arrange, words_of
from dragoman.probe.questions_by_dialect.question_kinds import SCHEMA, facts, setting, settings
from dragoman.probe.request_form import RequestForm


def _call(id: str, arguments: Any) -> JsonObject:
    return {"id": id, "function": {"name": "lookup", "arguments": arguments}}


def _calling(calls: tuple[JsonObject, ...], before: str, after: str) -> tuple[JsonObject, ...]:
    return ({"role": "assistant", "content": before, "tool_calls": list(calls)},)


def _results(ids: tuple[str, ...]) -> tuple[JsonObject, ...]:
    return tuple({"role": "tool", "tool_name": "lookup", "tool_call_id": id, "content": "A star."} for id in ids)


def _option(name: str, value: Any) -> Question:
    return setting(name, {"options": {name: value}})


SAY = Phrases(
    call=_call,
    calling=_calling,
    results=_results,
    nothing=None,
    words={"list_content": ("content",)},
    lacks=words_of(
        "calls_apart empty_beside inline_system message_name text_after_call part_fields several_texts "
        "system_only system_parts trailing_space"
    ),
)
FORM = RequestForm(
    last_turn=SAY.hi,
    tool=SAY.lookup,
    limits=({"options": {"num_predict": 1}},),
    answer="message",
    always={"stream": False},
)

OWN_QUESTIONS = (
    shared.undeclared_question(SAY),
    *shared.system_turn_questions(SAY),
    Question(
        id="thinking-text",
        asks="thinking sent back",
        topic=Topic.TURNS,
        turns=(user(), assistant(thinking="The user greets.")),
        settles="reasoning_text",
        words=("thinking",),
    ),
    Question(
        id="image-bytes",
        asks="a small image inside a user turn",
        topic=Topic.TURNS,
        turns=(user("What is this?", images=[base64_of(IMAGE)]), assistant()),
        settles="media.image.inline",
        words=("image", "images"),
    ),
    *shared.call_id_questions(SAY, "[a-zA-Z0-9_-]+"),
    shared.tool_name_question(SAY, "", "[a-zA-Z0-9_-]+"),
    shared.schema_question(SAY, facts(schema_form="minimal")),
    *shared.odd_setting_questions({"keep_alive": None}),
    *shared.temperature_questions(lambda value: {"options": {"temperature": value}}),
    _option("top_p", 0.9),
    _option("top_k", 40),
    _option("min_p", 0.05),
    _option("seed", 7),
    _option("frequency_penalty", 0.1),
    _option("presence_penalty", 0.1),
    _option("stop", ["\n1"]),
    *settings(logprobs=True),
    *shared.format_questions(SAY, shared.AnswerFormats({"format": "json"}, {"format": SCHEMA}, ("format",))),
    Question(
        id="thinking",
        asks="thinking",
        topic=Topic.EFFORTS,
        members={"think": True},
        words=("think", "thinking"),
        settles="thinking",
    ),
    Question(
        id="thinking-off",
        asks="no thinking",
        topic=Topic.EFFORTS,
        members={"think": False},
        words=("think", "thinking"),
        settles="thinking_off",
    ),
)
QUESTIONS = arrange(SAY, shared.base_questions(SAY), OWN_QUESTIONS)
