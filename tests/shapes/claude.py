"""Anthropic Messages requests of every shape."""

from __future__ import annotations

from typing import Any

from tests.shapes.chooser import Chooser
from tests.shapes.words import PAPER, PIXEL, Exchange, Ids, Signer, filled, name, schema, sealed, text

Wire = dict[str, Any]


def claude(pick: Chooser, signer: Signer) -> Wire:
    ids = Ids(pick)
    messages: list[Wire] = []
    if not pick.seldom(10):
        messages.append({"role": "user", "content": filled(pick)})
    for _ in range(pick.below(6)):
        messages += pick.one(TURNS)(pick, ids, signer)
    if not messages:
        messages.append({"role": "user", "content": filled(pick)})
    request: Wire = {"model": "any-model", "max_tokens": 1024, "messages": messages}
    if pick.often():
        request["system"] = _system(pick)
    _tools(pick, request)
    for setting in pick.some(SETTINGS, 3):
        if not setting.keys() & request.keys() or "max_tokens" in setting:
            request |= setting
    return request


def _system(pick: Chooser) -> Any:
    if pick.seldom(3):
        blocks: list[Wire] = [{"type": "text", "text": filled(pick)} for _ in range(1 + pick.below(2))]
        if pick.often():
            blocks[-1]["cache_control"] = {"type": "ephemeral"}
        return blocks
    return text(pick)


def _user(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    return [{"role": "user", "content": text(pick)}]


def _blocks(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    blocks: list[Wire] = [{"type": "text", "text": text(pick)}]
    for _ in range(pick.below(3)):
        blocks.append(dict(media(pick)))
    if pick.seldom(4):
        blocks[-1]["cache_control"] = {"type": "ephemeral"}
    return [{"role": "user", "content": blocks}]


def media(pick: Chooser) -> Wire:
    return pick.one(
        (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
            {"type": "image", "source": {"type": "url", "url": "https://example.com/cat.png"}},
            {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PAPER}},
            {
                "type": "document",
                "title": "notes",
                "source": {"type": "text", "media_type": "text/plain", "data": "hi"},
            },
            {"type": "document", "source": {"type": "url", "url": "https://example.com/a.pdf"}},
        )
    )


def _thoughts(pick: Chooser, signer: Signer) -> list[Wire]:
    match pick.below(8):
        case 1:
            return [{"type": "thinking", "thinking": "I think", "signature": signer.own("I think")}]
        case 2:
            return [{"type": "redacted_thinking", "data": signer.own("hidden")}]
        case 3:
            return [{"type": "thinking", "thinking": "", "signature": sealed(pick)}]
        case 4:
            return [{"type": "thinking", "thinking": "I think", "signature": sealed(pick)}]
    return []


def _assistant(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    if pick.often():
        return [{"role": "assistant", "content": text(pick)}]
    blocks = [*_thoughts(pick, signer), {"type": "text", "text": filled(pick)}]
    if pick.seldom(4):
        blocks.append({"type": "text", "text": text(pick)})
    return [{"role": "assistant", "content": blocks}]


def _exchange(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    turn = Exchange(pick, ids)
    blocks = _thoughts(pick, signer)
    if pick.often():
        blocks.append({"type": "text", "text": filled(pick)})
    blocks += [
        {"type": "tool_use", "id": identity, "name": called, "input": arguments}
        for identity, called, arguments in turn.calls
    ]
    if pick.seldom(10):
        blocks.append({"type": "text", "text": "after the calls"})
    answers = [_answer(pick, identity) for identity, _ in turn.answers]
    call = {"role": "assistant", "content": blocks}
    if not answers:
        return [call]
    if pick.seldom(4):
        answers.append({"type": "text", "text": filled(pick)})
    if turn.defect == "late":
        return [call, {"role": "user", "content": filled(pick)}, {"role": "user", "content": answers}]
    return [call, {"role": "user", "content": answers}]


def _answer(pick: Chooser, identity: str) -> Wire:
    block: Wire = {"type": "tool_result", "tool_use_id": identity, "content": text(pick)}
    match pick.below(8):
        case 1:
            block["content"] = [{"type": "text", "text": filled(pick)}]
        case 2:
            block["content"] = [{"type": "text", "text": filled(pick)}, dict(media(pick))]
        case 3:
            del block["content"]
        case 4:
            block["is_error"] = True
        case 5:
            block["content"] = [dict(media(pick))]
    return block


def _system_turn(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    return [{"role": "system", "content": filled(pick)}]


TURNS = (_user, _assistant, _exchange, _exchange, _blocks, _user, _assistant, _system_turn)


def _tools(pick: Chooser, request: Wire) -> None:
    kind = pick.below(4)
    if not kind:
        return
    tools: list[Wire] = []
    for called in dict.fromkeys(name(pick) for _ in range(1 + pick.below(3))):
        tool: Wire = {"name": called, "description": "Does it.", "input_schema": schema(pick)}
        if pick.seldom(6):
            tool["cache_control"] = {"type": "ephemeral"}
        if pick.seldom(6):
            tool["strict"] = pick.often()
        tools.append(tool)
    if pick.seldom(8):
        tools.append({"type": "web_search_20250305", "name": "web_search"})
    request["tools"] = tools
    if pick.seldom(3):
        choice = pick.one(
            ({"type": "auto"}, {"type": "any"}, {"type": "none"}, {"type": "tool", "name": tools[0]["name"]})
        )
        request["tool_choice"] = dict(choice)


SETTINGS: tuple[Wire, ...] = (
    {"max_tokens": 4000},
    {"temperature": 0.5},
    {"temperature": 1, "top_k": 5},
    {"top_p": 0.5},
    {"stop_sequences": ["END"]},
    {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4000},
    {"thinking": {"type": "adaptive"}},
    {"thinking": {"type": "disabled"}},
    {"output_config": {"effort": "low"}},
    {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object", "properties": {}}}}},
    {"metadata": {"user_id": "u"}},
    {"service_tier": "auto"},
    {"stream": True},
)
