"""The questions that are put to a server of the Responses dialect, in the order in which they are asked."""

from __future__ import annotations

from typing import Any

import msgspec

from dragoman.probe.probe_media import DOCUMENT, IMAGE, SOUND
from dragoman.probe.question import JsonObject, Question
from dragoman.probe.questions_by_dialect import shared_questions as shared
from dragoman.probe.questions_by_dialect.message_turns import assistant
from dragoman.probe.questions_by_dialect.phrases import Phrases, arrange, words_of
from dragoman.probe.questions_by_dialect.question_kinds import STRICT_SCHEMA, facts, setting, settings
from dragoman.probe.request_form import RequestForm


def _text(words: str) -> JsonObject:
    return {"type": "input_text", "text": words}


def _call(id: str, arguments: Any) -> JsonObject:
    written = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return {"type": "function_call", "call_id": id, "name": "lookup", "arguments": written}


def _calling(calls: tuple[JsonObject, ...], before: str, after: str) -> tuple[JsonObject, ...]:
    texts = [[assistant(words)] if words else [] for words in (before, after)]
    return (*texts[0], *calls, *texts[1])


def _results(ids: tuple[str, ...]) -> tuple[JsonObject, ...]:
    return tuple({"type": "function_call_output", "call_id": id, "output": "A star."} for id in ids)


def _tool(name: str, description: str, schema: JsonObject | None, strict: bool = False) -> JsonObject:
    described = {"type": "function", "name": name, "description": description, "strict": strict}
    return described if schema is None else {**described, "parameters": schema}


SAY = Phrases(
    text=_text,
    call=_call,
    calling=_calling,
    results=_results,
    tool=_tool,
    lacks=words_of("calls_apart inline_system list_content message_name text_after_call system_only trailing_space"),
)
FORM = RequestForm(
    turns_at="input",
    last_turn=SAY.hi,
    tool=SAY.lookup,
    limits=({"max_output_tokens": 16, "store": False}, {"max_output_tokens": 16}),
    answer="output",
    call_marks=frozenset({"function_call", "function_call_output"}),
)
_ALLOWED: JsonObject = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "lookup"}]}


def _medium(kind: str, part: JsonObject) -> Question:
    return shared.medium(SAY, kind, part, str(part["type"]))


def _effort(effort: str, **more: Any) -> Question:
    return shared.effort_question(effort, {"reasoning": {"effort": effort}}, "reasoning", "effort", **more)


OWN_QUESTIONS = (
    shared.undeclared_question(SAY),
    *shared.system_turn_questions(SAY),
    shared.reasoning_text_question(
        "thinking sent back in the clear",
        SAY.hi,
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "The user greets."}]},
        SAY.hello,
        words=("reasoning", "summary"),
    ),
    _medium("image", {"type": "input_image", "image_url": IMAGE}),
    _medium("audio", {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}}),
    _medium("document", {"type": "input_file", "filename": "a.pdf", "file_data": DOCUMENT}),
    *shared.call_id_questions(SAY, ".{1,64}"),
    shared.tool_name_question(SAY, "", "[a-zA-Z0-9_-]+"),
    shared.schema_question(SAY, facts(schema_form="minimal")),
    shared.strict_question(_tool("strict_lookup", "Look up.", STRICT_SCHEMA, True)),
    shared.text_tool_question({"type": "custom", "name": "note", "description": "Note."}),
    setting("parallel_tool_calls", {"parallel_tool_calls": True}, tools=(SAY.lookup,)),
    *shared.odd_setting_questions({"tool_choice": None}),
    *shared.temperature_questions(lambda value: {"temperature": value}),
    *settings(top_p=0.9, top_logprobs=1, user="probe", service_tier="auto", metadata={"purpose": "probe"}),
    *settings(prompt_cache_key="probe"),
    setting("verbosity", {"text": {"verbosity": "low"}}),
    _effort("low", settles="thinking"),
    _effort("none", settles="thinking_off", after=("effort-low",)),
    *shared.choices(
        SAY,
        {
            "required": {"tool_choice": "required"},
            "none": {"tool_choice": "none"},
            "named": {"tool_choice": {"type": "function", "name": "lookup"}},
            "auto": {"tool_choice": "auto"},
            "allowed": {"tool_choice": _ALLOWED},
        },
    ),
    shared.choice_without_tools_question({"tool_choice": "auto"}),
    *shared.format_questions(
        SAY,
        shared.AnswerFormats(
            {"text": {"format": {"type": "json_object"}}},
            {"text": {"format": {"type": "json_schema", "name": "answer", "schema": STRICT_SCHEMA, "strict": True}}},
            ("format", "json_schema", "json_object"),
            ("text",),
        ),
    ),
)
QUESTIONS = arrange(SAY, shared.base_questions(SAY), OWN_QUESTIONS)
