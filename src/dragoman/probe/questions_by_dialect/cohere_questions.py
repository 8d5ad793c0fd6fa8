"""The questions that are put to a server of Cohere's chat dialect, in the order in which they are asked."""

from __future__ import annotations

from dragoman.probe.probe_media import IMAGE
from dragoman.probe.question import JsonObject, Outcome, Question, Topic
from dragoman.probe.questions_by_dialect import shared_questions as shared
from dragoman.probe.questions_by_dialect.message_turns import assistant, text
from dragoman.probe.questions_by_dialect.phrases import Phrases, arrange, words_of
from dragoman.probe.questions_by_dialect.question_kinds import SCHEMA, facts, setting, settings
from dragoman.probe.request_form import RequestForm


def _calling(calls: tuple[JsonObject, ...], before: str, after: str) -> tuple[JsonObject, ...]:
    words = {"content": before} if before else {}
    return ({"role": "assistant", **words, "tool_calls": list(calls)},)


SAY = Phrases(
    calling=_calling,
    lacks=words_of("inline_system list_content text_after_call system_only trailing_space"),
)
FORM = RequestForm(
    last_turn=SAY.hi,
    tool=SAY.lookup,
    limits=({"max_tokens": 1}, {"max_tokens": 16}),
    answer="message",
)

OWN_QUESTIONS = (
    shared.undeclared_question(SAY),
    *shared.system_turn_questions(SAY),
    shared.reasoning_text_question(
        "thinking sent back",
        SAY.hi,
        assistant([{"type": "thinking", "thinking": "The user greets."}, text("Hello.")]),
        words=("thinking",),
    ),
    Question(
        id="duplicate-documents",
        asks="two documents of one id",
        topic=Topic.TURNS,
        members={"documents": [{"id": "a", "data": {"text": "One."}}, {"id": "a", "data": {"text": "Two."}}]},
        settles="duplicate_documents",
        words=("document",),
    ),
    shared.medium(SAY, "image", {"type": "image_url", "image_url": {"url": IMAGE}}, "image_url", "image"),
    *shared.call_id_questions(SAY, "[a-zA-Z0-9_-]+"),
    shared.tool_name_question(SAY, "", "[A-Za-z_][A-Za-z0-9_]*"),
    shared.schema_question(SAY, facts(schema_form="minimal")),
    *shared.odd_setting_questions({"tool_choice": None}),
    *shared.temperature_questions(lambda value: {"temperature": value}),
    setting("top_p", {"p": 0.9}, "p"),
    setting("top_k", {"k": 40}, "k"),
    *settings(seed=7, frequency_penalty=0.1, presence_penalty=0.1),
    Question(
        id="both-penalties",
        asks="`frequency_penalty` and `presence_penalty` together",
        topic=Topic.SETTINGS,
        members={"frequency_penalty": 0.1, "presence_penalty": 0.1},
        accepted=Outcome({"settings": {"presence_penalty": {"without": ""}}}),
        refused=Outcome({"settings": {"presence_penalty": {"without": "frequency_penalty"}}}),
        after=("setting-frequency-penalty", "setting-presence-penalty"),
        alone=True,
    ),
    *shared.stop_questions(
        lambda stops: {"stop_sequences": stops},
        ((6, 5), (1, 0)),
        "stop_sequences",
        stop_max=0,
    ),
    *settings(logprobs=True),
    *shared.choices(SAY, {"required": {"tool_choice": "REQUIRED"}, "none": {"tool_choice": "NONE"}}),
    shared.choice_without_tools_question({"tool_choice": "NONE"}),
    *shared.format_questions(
        SAY,
        shared.AnswerFormats(
            {"response_format": {"type": "json_object"}},
            {"response_format": {"type": "json_object", "json_schema": SCHEMA}},
            ("response_format",),
            ("text",),
        ),
    ),
    Question(
        id="thinking",
        asks="thinking",
        topic=Topic.EFFORTS,
        members={"thinking": {"type": "enabled", "token_budget": 1}},
        settles="thinking",
    ),
)
QUESTIONS = arrange(SAY, shared.base_questions(SAY), OWN_QUESTIONS)
