"""OpenAI Responses requests of every shape that holds its whole conversation."""

from __future__ import annotations

from typing import Any

from tests.shapes.chooser import Chooser
from tests.shapes.words import PAPER, PIXEL, Exchange, Ids, Signer, encoded, filled, name, schema, sealed, text

Wire = dict[str, Any]


def responses(pick: Chooser, signer: Signer) -> Wire:
    ids = Ids(pick)
    items: list[Wire] = []
    if not pick.seldom(10):
        items.append({"role": "user", "content": filled(pick)})
    for _ in range(pick.below(6)):
        items += pick.one(TURNS)(pick, ids, signer)
    request: Wire = {"model": "any-model", "input": items or filled(pick)}
    if pick.often():
        request["instructions"] = text(pick)
    _tools(pick, request)
    for setting in pick.some(SETTINGS, 3):
        if not setting.keys() & request.keys():
            request |= setting
    if pick.seldom(8):
        form = {"type": "json_schema", "name": "answer", "schema": schema(pick), "strict": pick.often()}
        request["text"] = {"format": form}
    if any(item.get("type") == "reasoning" for item in items):
        request["store"] = False
    return request


def _user(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    return [{"role": "user", "content": text(pick)}]


def _parts(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    content = [{"type": "input_text", "text": text(pick)}, *(media(pick) for _ in range(pick.below(3)))]
    return [{"type": "message", "role": "user", "content": content}]


def media(pick: Chooser) -> Wire:
    return pick.one(
        (
            {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"},
            {"type": "input_image", "image_url": "https://example.com/cat.png"},
            {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PAPER}"},
            {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        )
    )


def _assistant(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    if pick.often():
        return [{"role": "assistant", "content": filled(pick)}]
    content = [{"type": "output_text", "text": filled(pick), "annotations": []}]
    if pick.seldom(6):
        content = [{"type": "refusal", "refusal": "I cannot."}]
    message = {"type": "message", "role": "assistant", "id": "msg_" + ids.fresh(), "status": "completed"}
    return [*_thoughts(pick, ids, signer), message | {"content": content}]


def _thoughts(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    item: Wire = {"type": "reasoning", "id": "rs_" + ids.fresh(), "summary": []}
    match pick.below(6):
        case 1:
            return [item | {"encrypted_content": signer.own("hidden")}]
        case 2:
            summary = [{"type": "summary_text", "text": "I thought"}]
            return [item | {"summary": summary, "encrypted_content": signer.own("hidden")}]
        case 3:
            return [item | {"encrypted_content": sealed(pick)}]
    return []


def _exchange(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    turn = Exchange(pick, ids)
    items = _thoughts(pick, ids, signer)
    for identity, called, arguments in turn.calls:
        told = "not json" if pick.seldom(15) else encoded(arguments)
        items.append({"type": "function_call", "call_id": identity, "name": called, "arguments": told})
    answers: list[Wire] = [_answer(pick, identity) for identity, _ in turn.answers]
    if turn.defect == "late" and answers:
        answers.insert(pick.below(len(answers)), {"role": "user", "content": filled(pick)})
    return items + answers


def _answer(pick: Chooser, identity: str) -> Wire:
    output: Any = text(pick)
    if pick.seldom(6):
        output = [{"type": "input_text", "text": filled(pick)}, *(media(pick) for _ in range(pick.below(2)))]
    return {"type": "function_call_output", "call_id": identity, "output": output}


def _system(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    return [{"role": pick.one(("developer", "system")), "content": text(pick)}]


TURNS = (_user, _assistant, _exchange, _exchange, _parts, _user, _assistant, _system)


def _tools(pick: Chooser, request: Wire) -> None:
    if not pick.below(3):
        return
    tools: list[Wire] = []
    for called in dict.fromkeys(name(pick) for _ in range(1 + pick.below(3))):
        tool: Wire = {"type": "function", "name": called, "description": "Does it.", "parameters": schema(pick)}
        tools.append(tool | {"strict": pick.often()})
    if pick.seldom(8):
        tools.append({"type": "web_search"})
    if pick.seldom(10):
        tools.append({"type": "custom", "name": "shell", "description": "Runs it."})
    request["tools"] = tools
    choices: tuple[Any, ...] = ("auto", "none", "required", {"type": "function", "name": tools[0]["name"]})
    if pick.seldom(3):
        request["tool_choice"] = pick.one(choices)
    if pick.seldom(6):
        request["parallel_tool_calls"] = pick.often()


SETTINGS: tuple[Wire, ...] = (
    {"max_output_tokens": 200},
    {"temperature": 0.7},
    {"top_p": 0.5},
    {"reasoning": {"effort": "high", "summary": "auto"}},
    {"reasoning": {"effort": "low"}},
    {"text": {"format": {"type": "text"}}},
    {"text": {"format": {"type": "json_object"}}},
    {"text": {"verbosity": "low"}},
    {"metadata": {"k": "v"}},
    {"store": False, "include": ["reasoning.encrypted_content"]},
    {"truncation": "auto"},
    {"user": "u"},
    {"service_tier": "auto"},
    {"stream": True},
    {"top_logprobs": 2},
    {"temperature": None},
)
