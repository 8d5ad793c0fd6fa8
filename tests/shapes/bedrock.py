"""Bedrock Converse requests of every shape."""

from __future__ import annotations

from typing import Any

from tests.shapes.chooser import Chooser
from tests.shapes.words import PAPER, PIXEL, Exchange, Ids, Signer, encoded, filled, name, schema, sealed, text

Wire = dict[str, Any]


def bedrock(pick: Chooser, signer: Signer) -> Wire:
    ids = Ids(pick)
    messages: list[Wire] = []
    if not pick.seldom(10):
        messages.append(_said("user", filled(pick)))
    for _ in range(pick.below(6)):
        messages += pick.one(TURNS)(pick, ids, signer)
    if not messages:
        messages.append(_said("user", filled(pick)))
    request: Wire = {"messages": messages}
    if pick.often():
        request["system"] = [{"text": filled(pick)} for _ in range(1 + pick.below(2))]
        if pick.seldom(4):
            request["system"].append(_point(pick))
    _tools(pick, request)
    for setting in pick.some(SETTINGS, 3):
        for key, value in setting.items():
            request[key] = {**request.get(key, {}), **value}
    return request


def _said(role: str, *blocks: Any) -> Wire:
    return {"role": role, "content": [{"text": block} if isinstance(block, str) else block for block in blocks]}


def _point(pick: Chooser) -> Wire:
    return {"cachePoint": {"type": "default"} | ({"ttl": "1h"} if pick.seldom(4) else {})}


def _user(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    blocks: list[Any] = [text(pick)]
    if pick.seldom(10):
        blocks.append(_point(pick))
    return [_said("user", *blocks)]


def _parts(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    return [_said("user", filled(pick), *(media(pick) for _ in range(1 + pick.below(2))))]


def media(pick: Chooser) -> Wire:
    return pick.one(
        (
            {"image": {"format": "png", "source": {"bytes": PIXEL}}},
            {"document": {"format": "pdf", "name": "a paper", "source": {"bytes": PAPER}}},
            {"document": {"format": "txt", "name": "notes", "source": {"text": "some words"}}},
            {"guardContent": {"text": {"text": "guarded"}}},
        )
    )


def _model(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    blocks: list[Any] = []
    match pick.below(8):
        case 1:
            blocks.append(_thought(signer.own("I think")))
        case 2:
            blocks.append(_thought(sealed(pick)))
        case 3:
            blocks.append({"reasoningContent": {"redactedContent": signer.own("redacted")}})
    return [_said("assistant", *blocks, text(pick))]


def _thought(signature: str) -> Wire:
    return {"reasoningContent": {"reasoningText": {"text": "I think", "signature": signature}}}


def _exchange(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    turn = Exchange(pick, ids)
    blocks: list[Any] = [_thought(signer.own("I think"))] if pick.seldom(6) else []
    blocks += [filled(pick)] if pick.seldom(3) else []
    for identity, called, arguments in turn.calls:
        blocks.append({"toolUse": {"toolUseId": identity, "name": called, "input": arguments}})
    messages = [_said("assistant", *blocks)]
    answers: list[Any] = [_answer(pick, identity) for identity, _ in turn.answers]
    if turn.defect == "late":
        messages.append(_said("user", filled(pick)))
    if answers:
        messages.append(_said("user", *answers, *([filled(pick)] if pick.seldom(5) else [])))
    return messages


def _answer(pick: Chooser, identity: str) -> Wire:
    content = pick.one(
        (
            [{"text": filled(pick)}],
            [{"json": {"deep": [1]}}],
            [{"text": "see"}, {"image": {"format": "png", "source": {"bytes": PIXEL}}}],
            [],
        )
    )
    return {"toolResult": {"toolUseId": identity, "content": content} | ({"status": "error"} if pick.seldom() else {})}


TURNS = (_user, _model, _exchange, _exchange, _parts, _user, _model)


def _tools(pick: Chooser, request: Wire) -> None:
    if not pick.below(3):
        return
    tools: list[Wire] = []
    for called in dict.fromkeys(name(pick) for _ in range(1 + pick.below(3))):
        spec: Wire = {"name": called, "inputSchema": {"json": schema(pick)}}
        tools.append({"toolSpec": spec | ({"description": "Does it."} if pick.often() else {})})
    if pick.seldom(6):
        tools.append(_point(pick))
    request["toolConfig"] = {"tools": tools}
    if pick.seldom(3):
        request["toolConfig"]["toolChoice"] = pick.one(({"auto": {}}, {"any": {}}))


SETTINGS: tuple[Wire, ...] = (
    {"inferenceConfig": {"maxTokens": 5000}},
    {"inferenceConfig": {"temperature": 0.5}},
    {"inferenceConfig": {"topP": 0.5}},
    {"inferenceConfig": {"stopSequences": ["END"]}},
    {"additionalModelRequestFields": {"thinking": {"type": "enabled", "budget_tokens": 1024}}},
    {"additionalModelRequestFields": {"reasoning_effort": "low"}},
    {"additionalModelRequestFields": {"top_k": 20}},
    {"performanceConfig": {"latency": "standard"}},
    {
        "outputConfig": {
            "textFormat": {
                "type": "json_schema",
                "structure": {
                    "jsonSchema": {
                        "schema": encoded({"type": "object", "properties": {}, "additionalProperties": False}),
                        "name": "thing",
                    }
                },
            }
        }
    },
)
