"""Mistral: refuses unknown keys everywhere, and checks the order of roles.

Recordings show that it accepts a user turn after tool results, and call ids of any format except on the large models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from dragoman.emulators.chat.answers import AnswerStyle, UsagePlace, cached_usage
from dragoman.emulators.chat.pairs import call_ids, role
from dragoman.emulators.chat.service import ChatRefusal, ChatService, fits
from dragoman.emulators.provider import EmulatedProvider, EmulatorOptions, FaultKind, ReceivedRequest
from dragoman.emulators.request_shape import (
    MismatchKind,
    RecordShape,
    Shape,
    ShapeMismatch,
    anything,
    boolean,
    complete,
    either,
    integer,
    items,
    mapping,
    nullable,
    number,
    one_of,
    optional,
    tagged,
    text,
)
from dragoman.emulators.signatures import is_masked
from dragoman.emulators.wire import make_id

_type: Mapping[str, Shape] = {"type": nullable(text)}
_URL = either(
    "a valid string",
    text=text,
    keys=RecordShape({"url": text, "detail": nullable(one_of("low", "auto", "high"))}, required=("url",)),
)
_sound = RecordShape({"data": text, "format": nullable(text)}, required=("data",), open=True)
_PART_TYPES: Mapping[str, Shape] = {
    "text": RecordShape({**_type, "text": text}, required=("text",)),
    "image_url": RecordShape({**_type, "image_url": _URL}, required=("image_url",)),
    "document_url": complete(document_url=text).adding({**_type, "document_name": nullable(text)}),
    "reference": complete(reference_ids=items(anything, expected="a valid list")).adding(_type),
    "file": RecordShape({**_type, "file_id": text}, required=("file_id",)),
    "thinking": complete(thinking=items(mapping, expected="a valid list")).adding(
        {**_type, "signature": nullable(text), "closed": nullable(boolean)}
    ),
    "input_audio": complete(input_audio=either("a valid string", text=text, keys=_sound)).adding(_type),
}
_CONTENT = either("a valid string", text=text, items=items(tagged("type", _PART_TYPES)))
# a tool's message has no pictures and sounds, up to tokenizer v13 (mistral-common 1.13.0)
_RESULT_PARTS = {kind: part for kind, part in _PART_TYPES.items() if kind not in ("image_url", "input_audio")}
_RESULT_CONTENT = either("a valid string", text=text, items=items(tagged("type", _RESULT_PARTS)))
_named_call = complete(name=text, arguments=either("a valid string", text=text, keys=mapping))
_CALL = RecordShape({**_type, "id": text, "index": integer, "function": _named_call}, required=("function",))
# after the mistralai package 3.7.0, and what recordings show beyond it
_MESSAGES: Mapping[str, RecordShape] = {
    "system": complete(role=text, content=_CONTENT),
    "user": complete(role=text, content=_CONTENT),
    "assistant": RecordShape(
        {
            "role": text,
            "content": nullable(_CONTENT),
            "tool_calls": nullable(items(_CALL, expected="a valid list")),
            "prefix": boolean,
        }
    ),
    "tool": RecordShape(
        {"role": text, "content": nullable(_RESULT_CONTENT), "tool_call_id": nullable(text), "name": nullable(text)}
    ),
}
_FUNCTION = complete(name=text, parameters=mapping).adding({"description": text, "strict": nullable(boolean)})
_CHOICES = ("auto", "any", "none", "required")
_CHOICE = RecordShape({**_type, "function": complete(name=text)}, required=("function",))
_SCHEMA = complete(name=text, schema=mapping).adding(optional(description=text, strict=boolean))
_FORMAT = RecordShape({"type": one_of("text", "json_object", "json_schema"), "json_schema": nullable(_SCHEMA)})
_REQUEST = RecordShape(
    {
        "model": text,
        "messages": items(tagged("role", _MESSAGES), nonempty=True),
        **dict.fromkeys(("frequency_penalty", "presence_penalty", "repetition_penalty"), nullable(number)),
        **dict.fromkeys(("temperature", "top_p"), nullable(number)),
        **dict.fromkeys(("max_tokens", "min_tokens", "n", "random_seed"), nullable(integer)),
        **dict.fromkeys(("top_logprobs", "top_prompt_logprobs"), nullable(integer)),
        **dict.fromkeys(("logprobs", "parallel_tool_calls", "prompt_logprobs"), nullable(boolean)),
        **dict.fromkeys(("safe_prompt", "stream"), nullable(boolean)),
        **dict.fromkeys(("prompt_cache_key", "prompt_mode"), nullable(text)),
        **optional(
            guardrails=items(mapping, expected="a valid list"),
            metadata=mapping,
            prediction=RecordShape({**_type, "content": anything}),
            reasoning_effort=one_of("none", "minimal", "low", "medium", "high", "xhigh", "max"),
            response_format=_FORMAT,
            stop=either("a valid string", text=text, items=items(text, expected="a valid list")),
            stream_options=RecordShape({}),  # the key is known, its members are not
            tool_choice=either("a valid string", text=one_of(*_CHOICES), keys=_CHOICE),
            tools=items(RecordShape({**_type, "function": _FUNCTION}, required=("function",)), expected="a valid list"),
        ),
    },
    required=("model", "messages"),
)
_ALLOWED_AFTER = {
    "system": ("user", "assistant", "system"),
    "user": ("assistant", "system", "user"),
    "assistant": ("assistant", "user", "tool"),
    "tool": ("assistant", "tool", "user"),
}
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
_ID = re.compile(r"^[a-zA-Z0-9]{9}$")
_WITHOUT_EFFORT = re.compile(r"mistral-large|codestral|ministral")
_TWO_EFFORTS = re.compile(r"mistral-(small|medium)")


def render_error(refusal: ChatRefusal) -> Any:
    """Mistral's flat error. For a validation error the message holds `detail`; for a bad key there is nothing else."""
    if refusal.status == 401:
        return {"detail": refusal.message}
    if refusal.status == 422:
        detail = {"detail": refusal.more["detail"]}
        return {"object": "error", "message": detail, "type": refusal.kind, "param": None, "code": None}
    return {
        "object": "error",
        "message": refusal.message,
        "type": refusal.kind,
        "param": refusal.param,
        "code": refusal.code,
        "raw_status_code": refusal.status,
    }


def _invalid(kind: str, loc: list[Any], sentence: str, value: Any) -> ChatRefusal:
    detail = [{"type": kind, "loc": ["body", *loc], "msg": sentence, "input": value}]
    return ChatRefusal(422, sentence, more={"detail": detail})


def _refuse_order(sentence: str) -> ChatRefusal:
    return ChatRefusal(400, sentence, "invalid_request_message_order", code="3230")


def check_order(request: ReceivedRequest) -> None:
    """Which role may follow which, and which may be last."""
    messages = request.body["messages"]
    for before, message in pairwise(messages):
        if message["role"] not in _ALLOWED_AFTER[before["role"]]:
            raise _refuse_order(f"Unexpected role '{message['role']}' after role '{before['role']}'")
    if messages[0]["role"] == "tool":
        raise _refuse_order("Unexpected role 'tool' after role 'system'")
    last = messages[-1]
    if last["role"] == "assistant" and last.get("prefix") is not True:
        sentence = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
        raise _refuse_order(sentence)


def check_content(request: ReceivedRequest) -> None:
    """Turns without content, and the mark of a turn to continue on one that is not the last."""
    last = request.body["messages"][-1]
    for message in request.body["messages"]:
        if message["role"] == "system" and not message.get("content"):
            raise ChatRefusal(400, "System prompt must have content", "invalid_system_prompt", code="3250")
        if message["role"] == "assistant" and message.get("prefix") is True and message is not last:
            sentence = "Assistant message with prefix True must be last message"
            raise ChatRefusal(400, sentence, "invalid_assistant_message", code="3240")
        is_empty = not message.get("content") and not message.get("tool_calls")
        if message["role"] == "assistant" and is_empty:
            sentence = "Assistant message must have either content or tool_calls, but not both."
            raise ChatRefusal(400, sentence, "invalid_assistant_message", code="3240")


def check_calls(request: ReceivedRequest) -> None:
    """Each call has one result directly after it, and its id has the format that the model requires."""
    messages = request.body["messages"]
    for at, message in enumerate(messages):
        if not call_ids(message):
            if role(message) == "assistant" and messages[at + 1 :] and role(messages[at + 1]) == "tool":
                raise _refuse_order("Not the same number of function calls and responses")
            continue
        _check_names([tool_call["function"]["name"] for tool_call in message["tool_calls"]], "invalid_function_call")
        _check_id_format(request, message)
        _check_results(messages, at)


def _check_names(names: list[str], kind: str) -> None:
    for name in names:
        if not _NAME.match(name):
            sentence = f"Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes"
            raise ChatRefusal(400, f"{sentence}, with a maximum length of 64.", kind, code="3280")


def _check_id_format(request: ReceivedRequest, message: dict[str, Any]) -> None:
    if not request.model.startswith("mistral-large"):
        return
    for one in call_ids(message):
        if not _ID.match(one) and not is_masked(one):
            sentence = f"Tool call id was {one} but must be a-z, A-Z, 0-9, with a length of 9."
            raise ChatRefusal(400, sentence, "invalid_function_call", code="3280")


def _check_results(messages: list[Any], at: int) -> None:
    ids = list(call_ids(messages[at]))
    results = []
    for message in messages[at + 1 :]:
        if role(message) != "tool":
            break
        results.append(str(message.get("tool_call_id")))
    # the last turn may end with open calls if it is a prefix; `check_order` has checked that
    if not results and at == len(messages) - 1:
        return
    if len(results) != len(ids):
        raise _refuse_order("Not the same number of function calls and responses")
    for seen, one in enumerate(results):
        if one in results[:seen]:
            raise _refuse_order(f"Duplicate tool call id {one} in tool results")
        if one not in ids:
            raise _refuse_order(f"Unexpected tool call id {one} in tool results")


_BLIND = re.compile(r"codestral|open-mistral-7b|open-mixtral|mistral-tiny|mistral-large-24")


def _parts(request: ReceivedRequest) -> list[dict[str, Any]]:
    contents = [message.get("content") for message in request.body["messages"]]
    return [part for content in contents if isinstance(content, list) for part in content]


def check_documents(request: ReceivedRequest) -> None:
    """What its reader of documents does not take: https://github.com/mistralai/client-ts/issues/119"""
    for part in _parts(request):
        given = part.get("document_url")
        if isinstance(given, str) and _UNREAD.match(given):
            raise ChatRefusal(
                400,
                "Value error, Document content must be a URL (starting with 'https') or base64 encoded document "
                f"(starting with 'data:application/<format>;base64,<document-base64>')Received: {given[:50]}",
                "invalid_request_error",
            )


_UNREAD = re.compile(r"data:(?:text/|application/(?:json|zip|vnd\.ms-excel|vnd\.openxmlformats\S+\.sheet);)")


def check_sight(request: ReceivedRequest) -> None:
    """Pictures for a model that sees nothing."""
    if _BLIND.search(request.model) and any(part.get("type") == "image_url" for part in _parts(request)):
        raise ChatRefusal(400, "Image input is not enabled for this model", "invalid_request_error", code="3051")


def check_settings(request: ReceivedRequest) -> None:
    """What is not enabled."""
    if request.body.get("logprobs"):
        raise ChatRefusal(400, "Logprobs are not enabled for this model", "invalid_request_invalid_args", code="3051")


def _refuse_mismatch(mismatch: ShapeMismatch, request: ReceivedRequest) -> ChatRefusal:
    if mismatch.kind is MismatchKind.EMPTY_LIST:
        raise _refuse_order("Conversation must have at least one message")
    loc: list[Any] = list(mismatch.path)
    if loc[0] == "messages" and len(loc) > 2 and loc[2] != "role":
        loc.insert(2, request.body["messages"][loc[1]]["role"])
    kind, sentence = _mismatch_words(mismatch)
    raise _invalid(kind, loc[:-1] if kind == "union_tag_invalid" else loc, sentence, mismatch.value)


def _mismatch_words(mismatch: ShapeMismatch) -> tuple[str, str]:
    tag, listed = mismatch.path[-1], ", ".join(f"'{one}'" for one in mismatch.choices)
    match mismatch.kind:
        case MismatchKind.MISSING:
            return "missing", "Field required"
        case MismatchKind.UNKNOWN:
            return "extra_forbidden", "Extra inputs are not permitted"
        case MismatchKind.TAG if mismatch.path[0] == "messages":
            sentence = f"Input tag '{mismatch.value}' found using '{tag}' does not match any of the expected tags"
            return "union_tag_invalid", f"{sentence}: {listed}"
        case MismatchKind.CHOICE | MismatchKind.TAG:
            return "enum", f"Input should be {listed}"
        case _:
            noun = mismatch.expected.removeprefix("a valid ").removeprefix("an ").removeprefix("a ")
            noun = {"object": "dictionary", "decimal": "number"}.get(noun, noun)
            return f"{noun}_type", f"Input should be a valid {noun}"


def check_effort(request: ReceivedRequest) -> None:
    """Reasoning effort that this model does not take."""
    effort = request.body.get("reasoning_effort")
    if effort is None:
        return
    if _WITHOUT_EFFORT.search(request.model):
        raise _invalid("extra_forbidden", ["reasoning_effort"], "Extra inputs are not permitted", effort)
    if _TWO_EFFORTS.search(request.model) and effort not in ("none", "high"):
        sentence = f"reasoning_effort='{effort}' is not supported for this model. Must be one of (none, high)"
        raise ChatRefusal(400, sentence, "invalid_request_invalid_args", code="3051")


def check_tools(request: ReceivedRequest) -> None:
    """The names of functions."""
    _check_names([tool["function"]["name"] for tool in request.body.get("tools") or ()], "invalid_tool")


def _thinks(request: ReceivedRequest) -> bool:
    return "magistral" in request.model or request.body.get("reasoning_effort") not in (None, "none")


def _render_thought(request: ReceivedRequest, text: str) -> dict[str, Any]:
    """A part of the content, as recorded: of models that think on request it is `closed`."""
    closed = {"closed": True} if request.body.get("reasoning_effort") else {}
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **closed}


def _prefix(request: ReceivedRequest) -> str:
    """The beginning of the answer that the client wrote. Mistral sends it again, whole and in a stream."""
    last = request.body["messages"][-1]
    content = last.get("content") if last.get("prefix") is True else None
    parts = [part.get("text") for part in content if isinstance(part, dict)] if isinstance(content, list) else [content]
    return "".join(part for part in parts if isinstance(part, str))


ANSWER_STYLE = AnswerStyle(
    answer_id=lambda seed: make_id("", 32, seed, alphabet="0123456789abcdef"),
    call_id=lambda seed, index: make_id("", 9, seed, index),
    thinks=_thinks,
    thought_part=_render_thought,
    repeated=_prefix,
    usage_place=UsagePlace.FINISH,
    render_usage=cached_usage,
    closing_calls=True,
    logprobs=False,
    empty_content="",
    message_fields={"tool_calls": None},
)

FAULTS = {
    FaultKind.AUTH: ChatRefusal(401, "Invalid API Key"),
    FaultKind.MODEL: ChatRefusal(400, "Invalid model: {model}", "invalid_model", code="1500"),
    FaultKind.RATE: ChatRefusal(429, "Requests rate limit exceeded", "rate_limited", code="1300"),
    FaultKind.SERVER: ChatRefusal(500, "Internal server error", "internal_server_error", code="1000"),
    FaultKind.OVERLOADED: ChatRefusal(503, "Service unavailable.", "service_unavailable", code="3505"),
    FaultKind.CONTEXT: ChatRefusal(
        400,
        "Prompt contains {tokens} tokens and 0 draft tokens, too large for model with {limit[131072]} maximum"
        " context length",
        "invalid_request_prompt",
        code="3051",
    ),
}


def provider(options: EmulatorOptions) -> EmulatedProvider:
    """The emulator of `api.mistral.ai`."""
    return ChatService(
        name="mistral",
        options=options,
        checks=(
            fits(_REQUEST, _refuse_mismatch),
            check_order,
            check_content,
            check_calls,
            check_tools,
            check_settings,
            check_sight,
            check_documents,
            check_effort,
        ),
        style=ANSWER_STYLE,
        render_error=render_error,
        faults=FAULTS,
        unreadable=_invalid("json_invalid", [0], "JSON decode error", {}),
        example_model="mistral-small-latest",
        known_models=(
            "mistral-small-latest",
            "mistral-large-latest",
            "ministral-3b-latest",
            "magistral-medium-latest",
        ),
    )
