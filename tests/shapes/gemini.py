"""Gemini generateContent requests of every shape."""

from __future__ import annotations

from typing import Any

from tests.shapes.chooser import Chooser
from tests.shapes.words import PAPER, PIXEL, SOUND, Exchange, Ids, Signer, filled, name, schema, sealed, text

Wire = dict[str, Any]


def gemini(pick: Chooser, signer: Signer) -> Wire:
    ids = Ids(pick)
    contents: list[Wire] = []
    if not pick.seldom(10):
        contents.append({"role": "user", "parts": [{"text": filled(pick)}]})
    for _ in range(pick.below(6)):
        contents += pick.one(TURNS)(pick, ids, signer)
    if not contents:
        contents.append({"role": "user", "parts": [{"text": filled(pick)}]})
    request: Wire = {"contents": contents}
    if pick.often():
        key = "system_instruction" if pick.seldom(4) else "systemInstruction"
        request[key] = {"parts": [{"text": text(pick)} for _ in range(1 + pick.below(2))]}
    _tools(pick, request)
    config: Wire = {}
    for setting in pick.some(SETTINGS, 3):
        config |= setting
    if config:
        request["generationConfig"] = config
    if pick.seldom(10):
        request["safetySettings"] = [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
    return request


def _user(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    return [{"role": "user", "parts": [{"text": text(pick)}]}]


def _parts(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    parts: list[Wire] = [{"text": filled(pick)}, *(media(pick) for _ in range(1 + pick.below(2)))]
    return [{"role": "user", "parts": parts}]


def media(pick: Chooser) -> Wire:
    return pick.one(
        (
            {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
            {"inline_data": {"mime_type": "image/png", "data": PIXEL}},
            {"inlineData": {"mimeType": "application/pdf", "data": PAPER}},
            {"inlineData": {"mimeType": "audio/wav", "data": SOUND}},
        )
    )


def _model(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    parts: list[Wire] = []
    if pick.seldom(6):
        parts.append({"text": "I think", "thought": True})
    part: Wire = {"text": text(pick)}
    match pick.below(10):
        case 1:
            part["thoughtSignature"] = signer.own("text")
        case 2:
            part["thoughtSignature"] = sealed(pick)
    return [{"role": "model", "parts": [*parts, part]}]


def _exchange(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    turn = Exchange(pick, ids)
    with_ids = pick.often()
    parts: list[Wire] = [{"text": filled(pick)}] if pick.seldom(3) else []
    for identity, called, arguments in turn.calls:
        call: Wire = {"name": called, "args": arguments} | ({"id": identity} if with_ids else {})
        part: Wire = {"functionCall": call}
        match pick.below(6):
            case 1:
                part["thoughtSignature"] = signer.own("call")
            case 2:
                part["thoughtSignature"] = sealed(pick)
        parts.append(part)
    answers = [_answer(pick, identity if with_ids else None, called) for identity, called in turn.answers]
    contents: list[Wire] = [{"role": "model", "parts": parts}]
    if turn.defect == "late":
        contents.append({"role": "user", "parts": [{"text": filled(pick)}]})
    if answers:
        contents.append({"role": "user", "parts": answers})
    return contents


def _answer(pick: Chooser, identity: str | None, called: str) -> Wire:
    response = pick.one(({"result": filled(pick)}, {"output": {"deep": [1]}}, {"error": "no"}, {}))
    return {"functionResponse": {"name": called, "response": response} | ({"id": identity} if identity else {})}


TURNS = (_user, _model, _exchange, _exchange, _parts, _user, _model)


def _tools(pick: Chooser, request: Wire) -> None:
    if not pick.below(3):
        return
    declarations: list[Wire] = []
    for called in dict.fromkeys(name(pick) for _ in range(1 + pick.below(3))):
        key = "parametersJsonSchema" if pick.often() else "parameters"
        shape = schema(pick) if key != "parameters" else {"type": "OBJECT", "properties": {"city": {"type": "STRING"}}}
        declarations.append({"name": called, "description": "Does it.", key: shape})
    key = "function_declarations" if pick.seldom(4) else "functionDeclarations"
    request["tools"] = [{key: declarations}]
    if pick.seldom(8):
        request["tools"].append({"googleSearch": {}})
    if pick.seldom(3):
        mode = pick.one(("AUTO", "ANY", "NONE"))
        request["toolConfig"] = {"functionCallingConfig": {"mode": mode}}


SETTINGS: tuple[Wire, ...] = (
    {"maxOutputTokens": 100},
    {"temperature": 1.5},
    {"topP": 0.5, "topK": 20},
    {"stopSequences": ["END"]},
    {"seed": 7},
    {"responseMimeType": "application/json"},
    {"responseMimeType": "application/json", "responseSchema": {"type": "OBJECT", "properties": {}}},
    {"thinkingConfig": {"thinkingBudget": 1024}},
    {"thinkingConfig": {"thinkingLevel": "low", "includeThoughts": True}},
    {"thinkingConfig": {"thinkingBudget": 0}},
    {"presencePenalty": 0.5},
    {"candidateCount": 1},
)
