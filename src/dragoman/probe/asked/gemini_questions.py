"""The questions that are put to a server of the generateContent dialect, in the order in which they are asked."""

from __future__ import annotations

from typing import Any

from dragoman.probe.asked import shared_questions as shared
from dragoman.probe.asked.question_kinds import (
    ACCEPTED,
    ACCEPTS,
    REFUSES,
    SCHEMA,
    choice,
    facts,
    medium,
    setting,
)
from dragoman.probe.probe_media import DOCUMENT, IMAGE, SOUND, base64_of
from dragoman.probe.questions import Condition, JsonObject, Outcome, Question, Topic
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


def _mode(mode: str, **more: Any) -> JsonObject:
    return {"toolConfig": {"functionCallingConfig": {"mode": mode, **more}}}


def _medium(kind: str, type: str, data: str) -> Question:
    part = {"inlineData": {"mimeType": type, "data": data}}
    return medium(kind, (_user([_text("What is this?"), part]), SAY.hello), type, kind)


SAY = shared.Phrases(
    user=_user,
    assistant=_model,
    system=_system,
    text=_text,
    call=_call,
    calling=_calling,
    results=_results,
    tool=_tool,
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

OPENING_QUESTIONS = (
    Question(
        id="system-parts",
        asks="a system text of two parts",
        topic=Topic.OPENING,
        members={"systemInstruction": {"parts": [_text("Be brief."), _text("Be polite.")]}},
        settles="system_parts",
        words=("systemInstruction", "system_instruction"),
    ),
    Question(
        id="system",
        asks="a system text",
        topic=Topic.OPENING,
        members={"systemInstruction": {"parts": [_text("Be brief.")]}},
        refused=facts(system_count="none"),
        words=("systemInstruction", "system_instruction"),
        unless=(Condition("system-parts", ACCEPTED, ACCEPTED),),
    ),
    Question(
        id="empty-system",
        asks="an empty system text",
        topic=Topic.OPENING,
        members={"systemInstruction": {"parts": [_text("")]}},
        settles="empty_system",
        words=("systemInstruction", "system_instruction"),
        after=("system",),
    ),
    Question(
        id="inline-system",
        often_refused=True,
        asks="a system message as the first of the turns",
        topic=Topic.OPENING,
        opening=(_system("Be calm."),),
        settles="inline_system",
    ),
    *shared.system_among_turns(SAY, "top-level"),
)

TURN_QUESTIONS = (
    *shared.role_questions(SAY),
    *shared.empty_questions(SAY),
    *shared.part_questions(SAY),
    shared.name_question(SAY),
    shared.field_question(SAY),
    Question(
        id="reasoning-text",
        often_refused=True,
        asks="a thought sent back without a signature",
        topic=Topic.TURNS,
        turns=(SAY.hi, _model([{"text": "The user greets.", "thought": True}, _text("Hello.")])),
        settles="reasoning_text",
        words=("thought",),
    ),
    _medium("image", "image/png", base64_of(IMAGE)),
    _medium("audio", "audio/wav", SOUND),
    _medium("document", "application/pdf", base64_of(DOCUMENT)),
)

CALL_QUESTIONS = (
    *shared.call_questions(SAY),
    shared.apart_question(SAY),
    shared.arguments_question(SAY, "args"),
    Question(
        id="mixed-parts",
        asks="text after a call in one turn",
        topic=Topic.CALLS,
        turns=SAY.answered("abcdef141", after="I look."),
        settles="mixed_parts",
        after=("calls",),
    ),
    Question(
        id="user-after-tool",
        asks="the user's words beside a result",
        topic=Topic.CALLS,
        turns=(SAY.hi, *SAY.calls("abcdef031"), _user([_RESULT, _text("And now?")]), SAY.hello),
        settles="user_after_tool",
        after=("calls",),
    ),
    Question(
        id="call-signature",
        asks="a call of the current turn without a signature",
        topic=Topic.CALLS,
        closing=(SAY.hi, *SAY.calls("abcdef171"), *SAY.results(("abcdef171",))),
        settles="call_signature",
        words=("thought_signature", "thoughtSignature"),
        after=("calls",),
    ),
)

TOOL_QUESTIONS = (
    *shared.tool_questions(SAY),
    shared.tool_name_question(SAY, "[a-zA-Z_][a-zA-Z0-9_.:-]*", "[a-zA-Z_][a-zA-Z0-9_-]*"),
    shared.schema_question(SAY, facts(schema_form="gemini-proto", schema_as="parameters")),
)

FORM_QUESTIONS = (
    choice("required", _mode("ANY"), SAY.lookup, "mode", "toolConfig"),
    choice("none", _mode("NONE"), SAY.lookup, "mode", "toolConfig"),
    Question(
        id="choice-named",
        asks="a tool choice that names tools",
        topic=Topic.FORMS,
        tools=(SAY.lookup,),
        members=_mode("ANY", allowedFunctionNames=["lookup"]),
        accepted=Outcome(adds={"tool_choices": ("named", "allowed")}),
        refused=Outcome(adds={"tool_choices": ()}),
        words=("allowedFunctionNames", "allowed_function_names"),
        after=("tools",),
    ),
    choice("auto", _mode("AUTO"), SAY.lookup, "mode", "toolConfig"),
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

SETTING_QUESTIONS = (
    *shared.odd_setting_questions({"cachedContent": None}),
    *shared.range_questions("temperature", _config(temperature=1.9), _config(temperature=0.7), (2, 1)),
    setting("top_p", _config(topP=0.9), "topP"),
    setting("top_k", _config(topK=40), "topK"),
    setting("seed", _config(seed=7)),
    setting("frequency_penalty", _config(frequencyPenalty=0.1), "frequencyPenalty"),
    setting("presence_penalty", _config(presencePenalty=0.1), "presencePenalty"),
    *shared.stop_questions(
        _config(stopSequences=[f"\n{number}" for number in range(6)]),
        _config(stopSequences=["\n1"]),
        5,
        "stopSequences",
        "stop_sequences",
    ),
    setting("logprobs", _config(responseLogprobs=True), "responseLogprobs"),
    Question(
        id="effort-low",
        asks="the thinking level `low`",
        topic=Topic.EFFORTS,
        members=_config(thinkingConfig={"thinkingLevel": "LOW"}),
        accepted=Outcome({"thinking": ACCEPTS, "thinking_form": "level"}),
        words=("thinkingLevel", "thinkingConfig"),
    ),
    Question(
        id="thinking-budget",
        asks="a thinking budget that the model chooses",
        topic=Topic.EFFORTS,
        members=_config(thinkingConfig={"thinkingBudget": -1}),
        accepted=Outcome({"thinking": ACCEPTS, "thinking_form": "budget"}),
        refused=Outcome({"thinking": REFUSES}),
        words=("thinkingBudget", "thinkingConfig"),
        unless=(Condition("effort-low", ACCEPTED),),
    ),
)

QUESTIONS: tuple[Question, ...] = (
    *shared.base_questions(SAY),
    *OPENING_QUESTIONS,
    *TURN_QUESTIONS,
    *CALL_QUESTIONS,
    *TOOL_QUESTIONS,
    *shared.ending_questions(SAY),
    *SETTING_QUESTIONS,
    *FORM_QUESTIONS,
)
