"""The questions that are put to a server of the generateContent dialect, in the order in which they are asked."""

from __future__ import annotations

from typing import Any

from dragoman.probe.probe_media import DOCUMENT, IMAGE, SOUND, base64_of
from dragoman.probe.question import Condition, JsonObject, Outcome, Question, Topic
from dragoman.probe.questions_by_dialect import shared_questions as shared
from dragoman.probe.questions_by_dialect.phrases import Phrases, arrange, words_of
from dragoman.probe.questions_by_dialect.question_kinds import ACCEPTED, ACCEPTS, SCHEMA, facts, setting
from dragoman.probe.request_form import RequestForm


def _text(words: str) -> JsonObject:
    return {"text": words}


def _turn(role: str, content: Any) -> JsonObject:
    return {"role": role, "parts": [_text(content)] if isinstance(content, str) else content}


def _user(content: Any) -> JsonObject:
    return _turn("user", content)


def _model(content: Any) -> JsonObject:
    return _turn("model", content)


def _system(content: Any) -> JsonObject:
    return _turn("system", content)


def _call(id: str, arguments: Any) -> JsonObject:
    return {"functionCall": {"name": "lookup", "args": arguments}}


def _calling(calls: tuple[JsonObject, ...], before: str, after: str) -> tuple[JsonObject, ...]:
    texts = [[_text(words)] if words else [] for words in (before, after)]
    return (_model([*texts[0], *calls, *texts[1]]),)


_RESULT: JsonObject = {"functionResponse": {"name": "lookup", "response": {"result": "A star."}}}


def _results(ids: tuple[str, ...]) -> tuple[JsonObject, ...]:
    return (_user([_RESULT] * len(ids)),)


def _tool(name: str, description: str, schema: JsonObject | None) -> JsonObject:
    described = {"name": name, "description": description}
    return described if schema is None else {**described, "parametersJsonSchema": schema}


def _config(**members: Any) -> JsonObject:
    return {"generationConfig": members}


def _system_text(*texts: str) -> JsonObject:
    return {"systemInstruction": {"parts": [_text(words) for words in texts]}}


def _mode(mode: str, **more: Any) -> JsonObject:
    return {"toolConfig": {"functionCallingConfig": {"mode": mode, **more}}}


def _medium(kind: str, type: str, data: str) -> Question:
    return shared.medium(SAY, kind, {"inlineData": {"mimeType": type, "data": data}}, type, kind)


SAY = Phrases(
    user=_user,
    assistant=_model,
    system=_system,
    text=_text,
    call=_call,
    calling=_calling,
    results=_results,
    tool=_tool,
    lacks=words_of(
        "duplicate_ids duplicate_ids_in_turn empty_system list_content repeated_last result_order system_only "
        "system_parts trailing_space user_after_tool"
    ),
)
FORM = RequestForm(
    turns_at="contents",
    last_turn=SAY.hi,
    tool=SAY.lookup,
    tools_in="functionDeclarations",
    tool_lists=("functionDeclarations", "function_declarations"),
    limits=(_config(maxOutputTokens=1), _config(maxOutputTokens=16)),
    answer="candidates",
    call_marks=frozenset({"functionCall", "functionResponse"}),
)

_SYSTEM_WORDS = ("systemInstruction", "system_instruction")

OWN_QUESTIONS = (
    shared.undeclared_question(SAY),
    *shared.system_text_questions(
        SAY, _system_text(""), _system_text("Be brief."), _system_text("Be brief.", "Be polite."), *_SYSTEM_WORDS
    ),
    shared.reasoning_text_question(
        "a thought sent back without a signature",
        SAY.hi,
        _model([{"text": "The user greets.", "thought": True}, _text("Hello.")]),
        words=("thought",),
    ),
    _medium("image", "image/png", base64_of(IMAGE)),
    _medium("audio", "audio/wav", SOUND),
    _medium("document", "application/pdf", base64_of(DOCUMENT)),
    shared.user_after_tool_question(SAY.hi, *SAY.calls("abcdef031"), _user([_RESULT, _text("And now?")]), SAY.hello),
    Question(
        id="call-signature",
        asks="a call of the current turn without a signature",
        topic=Topic.CALLS,
        closing=(SAY.hi, *SAY.calls("abcdef171"), *SAY.results(("abcdef171",))),
        settles="call_signature",
        words=("thought_signature", "thoughtSignature"),
        after=("calls",),
    ),
    shared.tool_name_question(SAY, "[a-zA-Z_][a-zA-Z0-9_.:-]*", "[a-zA-Z_][a-zA-Z0-9_-]*"),
    shared.schema_question(SAY, facts(schema_form="gemini-proto", schema_as="parameters")),
    *shared.odd_setting_questions({"cachedContent": None}),
    *shared.temperature_questions(lambda value: _config(temperature=value)),
    setting("top_p", _config(topP=0.9), "topP"),
    setting("top_k", _config(topK=40), "topK"),
    setting("seed", _config(seed=7)),
    setting("frequency_penalty", _config(frequencyPenalty=0.1), "frequencyPenalty"),
    setting("presence_penalty", _config(presencePenalty=0.1), "presencePenalty"),
    *shared.stop_questions(
        lambda stops: _config(stopSequences=stops),
        ((6, 5), (1, 0)),
        "stopSequences",
        "stop_sequences",
        stop_max=0,
    ),
    setting("logprobs", _config(responseLogprobs=True), "responseLogprobs"),
    Question(
        id="effort-low",
        asks="the thinking level `low`",
        topic=Topic.EFFORTS,
        members=_config(thinkingConfig={"thinkingLevel": "LOW"}),
        words=("thinkingLevel", "thinkingConfig"),
        accepted=facts(thinking=ACCEPTS, thinking_form="level"),
    ),
    Question(
        id="thinking-budget",
        asks="a thinking budget that the model chooses",
        topic=Topic.EFFORTS,
        members=_config(thinkingConfig={"thinkingBudget": -1}),
        words=("thinkingBudget", "thinkingConfig"),
        settles="thinking",
        accepted=facts(thinking_form="budget"),
        unless=(Condition("effort-low", ACCEPTED),),
    ),
    *shared.choices(SAY, {"required": _mode("ANY"), "none": _mode("NONE")}, "mode", "toolConfig"),
    Question(
        id="choice-named",
        asks="a tool choice that names tools",
        topic=Topic.FORMS,
        members=_mode("ANY", allowedFunctionNames=["lookup"]),
        words=("allowedFunctionNames", "allowed_function_names"),
        tools=(SAY.lookup,),
        accepted=Outcome(adds={"tool_choices": ("named", "allowed")}),
        refused=Outcome(adds={"tool_choices": ()}),
        after=("tools",),
    ),
    *shared.choices(SAY, {"auto": _mode("AUTO"), "validated": _mode("VALIDATED")}, "mode", "toolConfig"),
    shared.choice_without_tools_question(_mode("AUTO"), "toolConfig", "tool_config"),
    *shared.format_questions(
        SAY,
        shared.AnswerFormats(
            _config(responseMimeType="application/json"),
            _config(responseMimeType="application/json", responseJsonSchema=SCHEMA),
            ("responseMimeType", "responseJsonSchema", "response_mime_type", "response_json_schema"),
            ("text",),
        ),
    ),
)
QUESTIONS = arrange(SAY, shared.base_questions(SAY), OWN_QUESTIONS)
