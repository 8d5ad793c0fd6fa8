"""Chat Completions requests of every shape."""

from __future__ import annotations

from typing import Any

from tests.shapes.chooser import Chooser
from tests.shapes.words import PAPER, PIXEL, SOUND, Exchange, Ids, Signer, encoded, filled, name, schema, sealed, text

Wire = dict[str, Any]

STRAYS: tuple[Wire, ...] = (
    {"done": True},
    {"__stream_end__": True, "index": 0},
    {"finish_reason": "stop"},
    {"provider_specific_fields": {"a": 1}},
    {"my_note": "x"},
    {"thinking_blocks": []},
)


def chat(pick: Chooser, signer: Signer) -> Wire:
    ids = Ids(pick)
    messages: list[Wire] = []
    for _ in range(pick.below(2)):
        messages.append(_system(pick))
    if not pick.seldom(10):
        messages.append({"role": "user", "content": filled(pick)})
    for _ in range(pick.below(6)):
        messages += pick.one(TURNS)(pick, ids, signer)
    if not messages:
        messages.append({"role": "user", "content": filled(pick)})
    for message in messages:
        if pick.seldom(20):
            message |= pick.one(STRAYS)
    request: Wire = {"model": "any-model", "messages": messages}
    _tools(pick, request)
    _settings(pick, request)
    return request


def _system(pick: Chooser) -> Wire:
    role = "developer" if pick.seldom(5) else "system"
    if pick.seldom(6):
        parts: list[Wire] = [{"type": "text", "text": filled(pick)} for _ in range(1 + pick.below(2))]
        if pick.often():
            parts[-1]["cache_control"] = {"type": "ephemeral"}
        return {"role": role, "content": parts}
    return {"role": role, "content": text(pick)}


def _systems(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    return [_system(pick)]


def _user(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    message: Wire = {"role": "user", "content": text(pick)}
    if pick.seldom(12):
        message["content"] = None
    if pick.seldom(10):
        message["name"] = "Alice"
    return [message]


def _media_user(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    parts = [{"type": "text", "text": text(pick)}, *(media(pick) for _ in range(1 + pick.below(2)))]
    return [{"role": "user", "content": parts}]


def media(pick: Chooser) -> Wire:
    return pick.one(
        (
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            {"type": "image_url", "image_url": {"url": "https://example.com/cat.png", "detail": "low"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PAPER}"}},
            {"type": "input_audio", "input_audio": {"data": SOUND, "format": "wav"}},
            {"type": "file", "file": {"file_id": "file-abc"}},
            {"type": "video_url", "video_url": {"url": "https://example.com/film.mp4"}},
        )
    )


def _assistant(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    message: Wire = {"role": "assistant", "content": text(pick)}
    match pick.below(8):
        case 1:
            message["content"] = [{"type": "text", "text": filled(pick)}, {"type": "text", "text": text(pick)}]
        case 2:
            message = {"role": "assistant", "content": None}
        case 3:
            message = {"role": "assistant", "content": None, "refusal": "I cannot do that."}
        case 4:
            message["content"] = []
    _thoughts(pick, message, signer)
    return [message]


def _thoughts(pick: Chooser, message: Wire, signer: Signer) -> None:
    match pick.below(12):
        case 1:
            message["reasoning_content"] = "thinking aloud"
        case 2:
            message["reasoning"] = "thinking aloud"
        case 3:
            detail = {"type": "reasoning.text", "text": "thought", "signature": signer.own("thought")}
            message["reasoning_details"] = [detail]
        case 4:
            message["reasoning_details"] = [{"type": "reasoning.encrypted", "data": sealed(pick)}]
        case 5:
            message["reasoning_details"] = [{"type": "reasoning.text", "text": "thought", "signature": sealed(pick)}]
        case 6:
            message["extra_content"] = {"google": {"thought_signature": sealed(pick)}}


def _exchange(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    turn = Exchange(pick, ids)
    calls: list[Wire] = []
    for identity, called, arguments in turn.calls:
        told = encoded(arguments)
        if pick.seldom(12):
            told = pick.one(("", "not json", "[1,2]", "null", '"text"', '{"cut":'))
        calls.append({"id": identity, "type": "function", "function": {"name": called, "arguments": told}})
        if pick.seldom(12):
            calls[-1]["extra_content"] = {"google": {"thought_signature": sealed(pick)}}
    message: Wire = {"role": "assistant", "tool_calls": calls}
    content = pick.one((None, "", "absent", filled(pick)))
    if content != "absent":
        message["content"] = content
    _thoughts(pick, message, signer)
    answers: list[Wire] = [_answer(pick, identity, called) for identity, called in turn.answers]
    if turn.defect == "late" and answers:
        answers.insert(pick.below(len(answers)), {"role": "user", "content": filled(pick)})
    return [message, *answers]


def _answer(pick: Chooser, identity: str, called: str) -> Wire:
    message: Wire = {"role": "tool", "tool_call_id": identity, "content": text(pick)}
    if pick.seldom(8):
        message["content"] = [{"type": "text", "text": filled(pick)} for _ in range(1 + pick.below(2))]
    if pick.seldom(8):
        message["name"] = called
    return message


def _legacy(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    called = name(pick)
    call = {"role": "assistant", "content": None, "function_call": {"name": called, "arguments": "{}"}}
    return [call, {"role": "function", "name": called, "content": filled(pick)}]


def _odd(pick: Chooser, ids: Ids, signer: Signer) -> list[Wire]:
    return [{"role": pick.one(("critic", "ipython")), "content": filled(pick)}]


TURNS = (_user, _assistant, _exchange, _exchange, _media_user, _systems, _user, _assistant, _legacy, _odd)


def _tools(pick: Chooser, request: Wire) -> None:
    kind = pick.below(5)
    if not kind:
        return
    if kind == 1:
        request["tools"] = []
        return
    tools: list[Wire] = []
    for called in dict.fromkeys(name(pick) for _ in range(1 + pick.below(3))):
        function: Wire = {"name": called, "description": "Does it.", "parameters": schema(pick)}
        if pick.seldom(6):
            function["strict"] = pick.often()
        if pick.seldom(8):
            del function["parameters"]
        tools.append({"type": "function", "function": function})
        if pick.seldom(8):
            tools[-1] = function
    if pick.seldom(10):
        tools.append({"type": "custom", "custom": {"name": "shell", "description": "Runs it."}})
    request["tools"] = tools
    choices: tuple[Any, ...] = ("auto", "none", "required", {"type": "function", "function": {"name": _first(tools)}})
    if pick.seldom(3):
        request["tool_choice"] = pick.one(choices)
    if pick.seldom(6):
        request["parallel_tool_calls"] = pick.often()


def _first(tools: list[Wire]) -> str:
    tool = tools[0]
    return str(tool.get("function", tool).get("name"))


SETTINGS: tuple[Wire, ...] = (
    {"max_tokens": 100},
    {"max_completion_tokens": 100},  # as many as above: two different limits are refused
    {"temperature": 1.5},
    {"temperature": 0},
    {"top_p": 0.9, "seed": 7},
    {"stop": "END"},
    {"stop": ["a", "b", "c", "d"]},
    {"n": 1},
    {"frequency_penalty": 0.5, "presence_penalty": -0.5},
    {"logprobs": True, "top_logprobs": 2},
    {"reasoning_effort": "high"},
    {"reasoning_effort": "minimal"},
    {"reasoning": {"effort": "low"}},
    {"thinking": {"type": "enabled"}},
    {"response_format": {"type": "json_object"}},
    {"response_format": {"type": "text"}},
    {"user": "u-1"},
    {"metadata": {"k": "v"}},
    {"store": False},
    {"service_tier": "auto"},
    {"verbosity": "low"},
    {"prompt_cache_key": "k"},
    {"temperature": None, "stop": None},
    {"stream": True, "stream_options": {"include_usage": True}},
    {"stream": True},
    {"top_k": 40},
)


def _settings(pick: Chooser, request: Wire) -> None:
    for setting in pick.some(SETTINGS, 4):
        if not setting.keys() & request.keys():
            request |= setting
    if "reasoning_effort" in request and "reasoning" in request:
        request["reasoning"] = {"effort": request["reasoning_effort"]}  # two different efforts are refused
    if pick.seldom(8):
        form = {"name": pick.one(("answer", "answer 1.0")), "schema": schema(pick), "strict": pick.often()}
        request["response_format"] = {"type": "json_schema", "json_schema": form}
