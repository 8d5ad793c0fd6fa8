"""Cohere Chat requests of every shape."""

from __future__ import annotations

from typing import Any

from tests.shapes.chooser import Chooser
from tests.shapes.words import PIXEL, Exchange, Ids, Signer, encoded, filled, name, schema, text

Wire = dict[str, Any]

DOCUMENTS: tuple[Any, ...] = (
    "Dock Seven is painted amber.",
    {"id": "d1", "data": {"text": "Dock Seven is painted amber.", "title": "Harbour"}},
    {"data": {"text": "No title."}},
    {"id": "d2", "data": {"region": "north", "depth": 7, "text": "Deep."}},
    {"id": "d3", "data": "A text as the data."},
)


def cohere(pick: Chooser, signer: Signer) -> Wire:
    ids = Ids(pick)
    messages: list[Wire] = [_system(pick) for _ in range(pick.below(2))]
    if not pick.seldom(10):
        messages.append({"role": "user", "content": filled(pick)})
    for _ in range(pick.below(6)):
        messages += pick.one(TURNS)(pick, ids)
    if not messages:
        messages.append({"role": "user", "content": filled(pick)})
    for message in messages:
        if pick.seldom(25):
            message |= pick.one(({"my_note": "x"}, {"index": 0}, {"name": "Ann"}))
    request: Wire = {"model": "any-model", "messages": messages}
    if pick.seldom(5):
        request["documents"] = pick.some(DOCUMENTS, 3)
    _tools(pick, request)
    _settings(pick, request)
    return request


def _system(pick: Chooser) -> Wire:
    if pick.seldom(6):
        return {"role": "system", "content": [{"type": "text", "text": filled(pick)} for _ in range(1 + pick.below(2))]}
    return {"role": "system", "content": text(pick)}


def _systems(pick: Chooser, ids: Ids) -> list[Wire]:
    return [_system(pick)]


def _user(pick: Chooser, ids: Ids) -> list[Wire]:
    content: Any = text(pick)
    if pick.seldom(4):
        content = [{"type": "text", "text": text(pick)}]
    return [{"role": "user", "content": content}]


def _media_user(pick: Chooser, ids: Ids) -> list[Wire]:
    images = (
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        {"type": "image_url", "image_url": {"url": "https://example.com/cat.png", "detail": "low"}},
    )
    return [{"role": "user", "content": [{"type": "text", "text": filled(pick)}, pick.one(images)]}]


def _assistant(pick: Chooser, ids: Ids) -> list[Wire]:
    message: Wire = {"role": "assistant", "content": text(pick)}
    match pick.below(6):
        case 1:
            message["content"] = [{"type": "text", "text": filled(pick)}, {"type": "text", "text": text(pick)}]
        case 2:
            thought = {"type": "thinking", "thinking": "thinking aloud"}
            message["content"] = [thought, {"type": "text", "text": filled(pick)}]
        case 3:
            message["content"] = []
        case 4:
            source = {"type": "document", "id": "d1", "document": {"id": "d1", "text": "Deep."}}
            cited = {"start": 0, "end": 2, "text": "He", "sources": [source], "type": "TEXT_CONTENT"}
            message = {"role": "assistant", "content": [{"type": "text", "text": "Hello"}], "citations": [cited]}
    return [message]


def _exchange(pick: Chooser, ids: Ids) -> list[Wire]:
    turn = Exchange(pick, ids)
    calls: list[Wire] = []
    for identity, called, arguments in turn.calls:
        told = encoded(arguments)
        if pick.seldom(12):
            told = pick.one(("", "not json", "[1,2]", "null", '{"cut":'))
        calls.append({"id": identity, "type": "function", "function": {"name": called, "arguments": told}})
    message: Wire = {"role": "assistant", "tool_calls": calls}
    match pick.below(6):
        case 0:
            message["tool_plan"] = filled(pick)
        case 1:
            message |= {"content": [{"type": "text", "text": ""}]}
        case 2:
            message |= {"content": None, "tool_plan": None, "citations": []}
        case 3:
            message |= {"content": [{"type": "thinking", "thinking": "Hm."}], "tool_plan": filled(pick)}
        case 4:
            message["content"] = filled(pick)
    answers: list[Wire] = [_answer(pick, identity) for identity, _ in turn.answers]
    if turn.defect == "late" and answers:
        answers.insert(pick.below(len(answers)), {"role": "user", "content": filled(pick)})
    return [message, *answers]


def _answer(pick: Chooser, identity: str) -> Wire:
    message: Wire = {"role": "tool", "tool_call_id": identity, "content": text(pick)}
    if pick.seldom(4):
        document = pick.one(DOCUMENTS[1:])
        message["content"] = [{"type": "document", "document": document}]
    elif pick.seldom(6):
        message["content"] = [{"type": "text", "text": filled(pick)} for _ in range(1 + pick.below(2))]
    return message


def _odd(pick: Chooser, ids: Ids) -> list[Wire]:
    return [{"role": pick.one(("critic", "developer")), "content": filled(pick)}]


TURNS = (_user, _assistant, _exchange, _exchange, _media_user, _systems, _user, _assistant, _odd)


def _tools(pick: Chooser, request: Wire) -> None:
    kind = pick.below(5)
    if kind == 1:
        request["tools"] = []
    if kind < 2:
        return
    tools: list[Wire] = []
    for called in dict.fromkeys(name(pick) for _ in range(1 + pick.below(3))):
        function: Wire = {"name": called, "description": "Does it.", "parameters": schema(pick)}
        if pick.seldom(8):
            function["strict"] = pick.often()
        if pick.seldom(8):
            del function["parameters"]
        tools.append({"type": "function", "function": function})
    request["tools"] = tools
    if pick.seldom(3):
        request["tool_choice"] = pick.one(("REQUIRED", "NONE", "auto", "required"))


SETTINGS: tuple[Wire, ...] = (
    {"max_tokens": 100},
    {"temperature": 1.5},
    {"temperature": 0},
    {"p": 0.9, "seed": 7},
    {"p": 1},
    {"k": 40},
    {"stop_sequences": ["a", "b", "c", "d"]},
    {"frequency_penalty": 0.5, "presence_penalty": 0.5},
    {"frequency_penalty": -0.5},
    {"logprobs": True},
    {"thinking": {"type": "enabled"}},
    {"thinking": {"type": "enabled", "token_budget": 2000}},
    {"thinking": {"type": "disabled"}},
    {"response_format": {"type": "json_object"}},
    {"response_format": {"type": "text"}},
    {"citation_options": {"mode": "FAST"}},
    {"safety_mode": "CONTEXTUAL"},
    {"strict_tools": True},
    {"priority": 1},
    {"temperature": None},
    {"stream": True},
)


def _settings(pick: Chooser, request: Wire) -> None:
    for setting in pick.some(SETTINGS, 4):
        if not setting.keys() & request.keys():
            request |= setting
    if pick.seldom(8):
        request["response_format"] = {"type": "json_object", "json_schema": schema(pick)}
