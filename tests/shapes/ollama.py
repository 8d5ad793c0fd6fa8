"""Ollama chat requests of every shape."""

from __future__ import annotations

from typing import Any

from tests.shapes.chooser import Chooser
from tests.shapes.words import PIXEL, SOUND, Exchange, Ids, Signer, filled, name, schema, text

Wire = dict[str, Any]


def ollama(pick: Chooser, signer: Signer) -> Wire:
    ids = Ids(pick)
    messages: list[Wire] = []
    for _ in range(pick.below(2)):
        messages.append({"role": "system", "content": text(pick)})
    if not pick.seldom(10):
        messages.append({"role": "user", "content": filled(pick)})
    for _ in range(pick.below(6)):
        messages += pick.one(TURNS)(pick, ids, signer)
    if not messages:
        messages.append({"role": "user", "content": filled(pick)})
    for message in messages:
        if pick.seldom(20):
            message["my_note"] = "x"
    request: Wire = {"model": "any-model", "messages": messages}
    _tools(pick, request)
    for setting in pick.some(SETTINGS, 4):
        request |= setting
    if pick.seldom(8):
        request["format"] = schema(pick)
    return request


def _user(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    return [{"role": "user", "content": text(pick)}]


def _late_system(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    return [{"role": "system", "content": filled(pick)}]


def _seeing(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    media = [pick.one((PIXEL, PIXEL, SOUND)) for _ in range(1 + pick.below(2))]
    return [{"role": "user", "content": text(pick), "images": media}]


def _assistant(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    message: Wire = {"role": "assistant", "content": text(pick)}
    if pick.seldom(4):
        message["thinking"] = "thinking aloud"
    return [message]


def _exchange(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    """Most clients send no ids: the SDK's own types have none."""
    turn = Exchange(pick, ids)
    with_ids = pick.often()
    calls: list[Wire] = []
    for place, (identity, called, arguments) in enumerate(turn.calls):
        function: Wire = {"name": called, "arguments": arguments} | ({"index": place} if pick.often() else {})
        calls.append(({"id": identity} if with_ids else {}) | {"function": function})
    message: Wire = {"role": "assistant", "content": pick.one(("", "", filled(pick))), "tool_calls": calls}
    if pick.seldom(3):
        message["thinking"] = "thinking aloud"
    answers = [_answer(pick, identity if with_ids else None, called) for identity, called in turn.answers]
    if turn.defect == "late" and answers:
        answers.insert(pick.below(len(answers)), {"role": "user", "content": filled(pick)})
    return [message, *answers]


def _answer(pick: Chooser, identity: str | None, called: str) -> Wire:
    message: Wire = {"role": "tool", "tool_name": called, "content": text(pick)}
    if pick.seldom(8):
        del message["tool_name"]
    return message | ({"tool_call_id": identity} if identity else {})


TURNS = (_user, _assistant, _exchange, _exchange, _seeing, _late_system, _user, _assistant)


def _tools(pick: Chooser, request: Wire) -> None:
    kind = pick.below(5)
    if not kind:
        return
    tools: list[Wire] = []
    for called in dict.fromkeys(name(pick) for _ in range(kind - 1)):
        function = {"name": called, "description": "Does it.", "parameters": schema(pick)}
        tools.append({"type": "function", "function": function})
    request["tools"] = tools


SETTINGS: tuple[Wire, ...] = (
    {"stream": False},
    {"stream": True},
    {"think": True},
    {"think": False},
    {"think": "high"},
    {"format": "json"},
    {"format": ""},
    {"keep_alive": "5m"},
    {"keep_alive": None},
    {"truncate": False},
    {"logprobs": True, "top_logprobs": 2},
    {"options": {}},
    {"options": {"num_predict": 100, "temperature": 1.5, "top_k": 40}},
    {"options": {"num_ctx": 8192, "num_predict": -1, "seed": 7, "stop": ["END"]}},
    {"options": {"top_p": 0.9, "min_p": 0.1, "presence_penalty": 0.5, "repeat_penalty": 1.1}},
)
