"""Groq: refuses every unknown property, and suggests the one you may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from dragoman.emulators.chat import request_types as chat_types
from dragoman.emulators.chat.answers import AnswerStyle, cached_usage, plain_usage
from dragoman.emulators.chat.found_pages import list_executed_tools
from dragoman.emulators.chat.openai.request_types import json_type
from dragoman.emulators.chat.openai.settings import check_json_mentioned
from dragoman.emulators.chat.openai.tools import strict_errors
from dragoman.emulators.chat.reported import list_promised_schemas, refusing_pictures
from dragoman.emulators.chat.service import ChatRefusal, ChatService, fits
from dragoman.emulators.provider import EmulatedProvider, EmulatorOptions, FaultKind, ReceivedRequest
from dragoman.emulators.request_shape import (
    MismatchKind,
    Path,
    RecordShape,
    Shape,
    ShapeMismatch,
    anything,
    boolean,
    complete,
    integer,
    items,
    mapping,
    nullable,
    number,
    one_of,
    optional,
    table,
    tagged,
    text,
)
from dragoman.emulators.usage import TokenUsage
from dragoman.emulators.wire import make_id

_document = RecordShape({"data": mapping, "id": nullable(text)}, required=("data",))
_IMAGE_URL = RecordShape({"url": text, "detail": one_of("auto", "low", "high")}, required=("url",))
_PARTS: dict[str, Shape] = {
    "text": complete(type=text, text=text),
    "image_url": complete(type=text, image_url=_IMAGE_URL),
    "document": complete(type=text, document=_document),
}
_TEXTS = chat_types.content({"text": _PARTS["text"]})
_CALLS = items(tagged("type", {"function": chat_types.FUNCTION_CALL}))
# after the groq package 1.7.0; `name` of a result is recorded as accepted
_MESSAGES: dict[str, RecordShape] = {
    "system": chat_types.SYSTEM.adding({"content": _TEXTS}),
    "developer": chat_types.SYSTEM.adding({"content": _TEXTS}),
    "user": chat_types.USER.adding({"content": chat_types.content(_PARTS)}),
    "assistant": complete(role=text).adding(
        {
            "content": nullable(_TEXTS),
            "name": text,
            "reasoning": nullable(text),
            "tool_calls": _CALLS,
            "function_call": RecordShape({"name": text, "arguments": text}),
        }
    ),
    "tool": chat_types.TOOL_RESULT.adding({"content": chat_types.content(_PARTS), "name": text}),
    "function": chat_types.FUNCTION_RESULT,
}
_FUNCTION = RecordShape({"type": text, "function": chat_types.FUNCTION}, required=("type",))
# https://console.groq.com/docs/tool-use/remote-mcp
_SERVER = _FUNCTION.adding(
    {
        **dict.fromkeys(("server_label", "server_url", "server_description", "authorization"), text),
        **dict.fromkeys(("headers", "allowed_tools", "require_approval"), anything),
    }
)


def _tool(value: Any, path: Path) -> None:
    """A function, a tool of Groq's own by its type alone, or a server of tools."""
    (_SERVER if isinstance(value, dict) and value.get("type") == "mcp" else _FUNCTION)(value, path)


_REQUEST = RecordShape(
    {
        "model": text,
        "messages": chat_types.with_messages(_MESSAGES),
        **dict.fromkeys(("citation_options", "compound_custom", "disable_tool_validation", "documents"), anything),
        **dict.fromkeys(("exclude_domains", "include_domains", "include_reasoning", "search_settings"), anything),
        **dict.fromkeys(("function_call", "functions"), anything),
        **dict.fromkeys(("frequency_penalty", "presence_penalty", "temperature", "top_p"), nullable(number)),
        **dict.fromkeys(("max_completion_tokens", "max_tokens", "n", "seed", "top_logprobs"), nullable(integer)),
        **dict.fromkeys(("logprobs", "parallel_tool_calls", "stream"), nullable(boolean)),
        **optional(
            logit_bias=table(integer),
            metadata=table(text),
            reasoning_effort=one_of("none", "default", "low", "medium", "high"),
            reasoning_format=one_of("hidden", "raw", "parsed"),
            response_format=tagged("type", chat_types.FORMATS),
            service_tier=one_of("auto", "on_demand", "flex", "performance"),
            stop=chat_types.REQUEST.fields["stop"],
            stream_options=chat_types.REQUEST.fields["stream_options"],
            tool_choice=chat_types.tool_choice(("none", "auto", "required"), {"function": chat_types.NAMED_CHOICE}),
            tools=items(_tool),
            user=text,
        ),
    },
    required=("model", "messages"),
)
_REASONERS = re.compile(r"gpt-oss|qwen|deepseek-r1|kimi|reason|qwq|glm|minimax", re.IGNORECASE)
_WITHOUT_REASONING = re.compile(r"^(?!.*deepseek).*llama", re.IGNORECASE)
_WITHOUT_SCHEMAS = re.compile(r"llama-?3", re.IGNORECASE)  # https://github.com/plune-ai/cairn/pull/36, June 2026
_QWEN = re.compile(r"qwen", re.IGNORECASE)
_GPT_OSS = re.compile(r"gpt-oss", re.IGNORECASE)


def render_error(refusal: ChatRefusal) -> Any:
    """`{"error": {message, type, code?}}`, with `failed_generation` if the model made a bad call."""
    error: dict[str, Any] = {"message": refusal.message, "type": refusal.kind}
    if refusal.code is not None:
        error["code"] = refusal.code
    return {"error": error | dict(refusal.more)}


def _describe_unsupported(key: str, known: Iterable[str]) -> str:
    near = min(sorted(known), key=lambda one: _distance(key, one), default="")
    hint = f", did you mean '{near}'?" if _distance(key, near) <= max(2, len(key) // 3) else ""
    return f"property '{key}' is unsupported{hint}"


def _distance(one: str, other: str) -> int:
    """How many letters must be changed, added or removed to make one word the other."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, row[0] = row[0], at
        for place, other_letter in enumerate(other, 1):
            swap = before + (letter != other_letter)
            before, row[place] = row[place], min(swap, row[place] + 1, row[place - 1] + 1)
    return row[-1]


def check_tools(request: ReceivedRequest) -> None:
    """Refuse too many tools, and schemas that require what they do not declare."""
    declared = request.body.get("tools") or []
    if len(declared) > 128:  # https://github.com/gsd-build/gsd-2/issues/4376, April 2026
        raise ChatRefusal(400, "'tools' : maximum number of items is 128")
    for at, tool in enumerate(declared):
        if tool["type"] == "function" and "function" not in tool:  # its own tools have none
            raise ChatRefusal(400, f"'tools.{at}.function' : property 'name' is missing")
        schema = tool.get("function", {}).get("parameters")
        if isinstance(schema, dict) and schema.get("required") and "properties" not in schema:
            sentence = f"invalid JSON schema for tool {tool['function']['name']}, tools[{at}].function.parameters"
            raise ChatRefusal(400, f"{sentence}: 'required' present but 'properties' is missing")


def _refuse_mismatch(mismatch: ShapeMismatch, request: ReceivedRequest) -> ChatRefusal:
    path, words = mismatch.path, _mismatch_words(mismatch)
    is_unknown, in_message = mismatch.kind is MismatchKind.UNKNOWN, path[0] == "messages" and len(path) > 2
    if is_unknown and len(path) == 1:
        raise ChatRefusal(400, words)
    is_key = mismatch.kind is MismatchKind.MISSING or (is_unknown and in_message and len(path) == 3)
    sentence = f"'{'.'.join(map(str, path[:-1] if is_key else path))}' : {words}"
    raise ChatRefusal(400, _within(request, int(path[1]), sentence) if in_message and path[2] != "role" else sentence)


def check_stops(request: ReceivedRequest) -> None:
    """https://github.com/letta-ai/letta/pull/1288, April 2024."""
    stop = request.body.get("stop")
    if isinstance(stop, list) and len(stop) > 4:
        sentence = "stop : one of the following must be satisfied\n  stop : value must be a string\n"
        raise ChatRefusal(400, f"{sentence}  stop : maximum number of items is 4")


def check_strict(request: ReceivedRequest) -> None:
    """Every object of a strict schema is closed, and all its fields are required."""
    for whose, schema in list_promised_schemas(request.body):
        for _ in strict_errors(schema):
            sentence = f"invalid JSON schema for {whose}: additionalProperties:false must be set on every object"
            raise ChatRefusal(400, sentence)


def check_reasoning(request: ReceivedRequest) -> None:
    """Reasoning that is sent back to a model that does not reason."""
    if _REASONERS.search(request.model):
        return
    for at, message in enumerate(request.body["messages"]):
        if message.get("reasoning") is not None:
            raise ChatRefusal(400, _within(request, at, f"'messages.{at}' : property 'reasoning' is unsupported"))


def _within(request: ReceivedRequest, at: int, sentence: str) -> str:
    """What is wrong within a message."""
    role = request.body["messages"][at]["role"]
    return f"'messages.{at}' : for 'role:{role}' the following must be satisfied[({sentence})]"


def _mismatch_words(mismatch: ShapeMismatch) -> str:
    key = mismatch.path[-1]
    match mismatch.kind:
        case MismatchKind.MISSING:
            return f"property '{key}' is missing"
        case MismatchKind.UNKNOWN:
            return _describe_unsupported(str(key), mismatch.choices)
        case MismatchKind.CHOICE | MismatchKind.TAG if key == "role":
            return "discriminator property 'role' has invalid value"
        case MismatchKind.CHOICE | MismatchKind.TAG:
            return "value must be one of " + ", ".join(f"'{one}'" for one in mismatch.choices)
        case MismatchKind.EMPTY_LIST:
            return "minimum number of items is 1"
        case _:
            return f"value must be {mismatch.expected}, but got {json_type(mismatch.value)}"


def check_model_features(request: ReceivedRequest) -> None:
    """Reasoning effort and structured output that this model does not take."""
    effort, response_format = request.body.get("reasoning_effort"), request.body.get("response_format")
    if effort is not None and _WITHOUT_REASONING.search(request.model):
        raise ChatRefusal(400, "reasoning_effort is not supported with this model")
    if effort not in (None, "none", "default") and _QWEN.search(request.model):
        raise ChatRefusal(400, "`reasoning_effort` must be one of `none` or `default`")
    if effort in ("none", "default") and _GPT_OSS.search(request.model):
        raise ChatRefusal(400, "`reasoning_effort` must be one of `low`, `medium`, or `high`")
    wants_schema = isinstance(response_format, dict) and response_format.get("type") == "json_schema"
    if wants_schema and _WITHOUT_SCHEMAS.search(request.model):
        raise ChatRefusal(400, "This model does not support response format `json_schema`.", param="response_format")
    if wants_schema and request.stream:
        raise ChatRefusal(400, "response_format` does not support streaming", param="response_format")
    if isinstance(response_format, dict) and response_format.get("type") != "text" and request.body.get("tools"):
        raise ChatRefusal(400, "json mode cannot be combined with tool/function calling", param="response_format")


def check_settings(request: ReceivedRequest) -> None:
    temperature = request.body.get("temperature")
    if temperature is not None and not 0 <= temperature <= 2:
        bound = "number must be at most 2" if temperature > 2 else "number must be at least 0"
        raise ChatRefusal(400, f"'temperature' : {bound}")
    if (request.body.get("n") or 1) > 1:
        raise ChatRefusal(400, "'n' : number must be at most 1")


def _finish(seed: str, usage: TokenUsage) -> dict[str, Any]:
    return {"x_groq": {"id": make_id("req_", 26, seed), "usage": _render_usage(usage)}}


def _render_usage(usage: TokenUsage) -> dict[str, Any]:
    """Cached and reasoning tokens are told only if there are some."""
    counts = cached_usage(usage) if usage.cached else plain_usage(usage)
    return counts | ({"completion_tokens_details": {"reasoning_tokens": usage.reasoning}} if usage.reasoning else {})


def _render_error_frame(refusal: ChatRefusal, request: ReceivedRequest) -> Any:
    error = {
        "message": refusal.message,
        "type": refusal.kind,
        "code": refusal.code,
        "status_code": refusal.status,
    }
    return {"error": error}


ANSWER_STYLE = AnswerStyle(
    answer_id=lambda seed: make_id("chatcmpl-", 32, seed, alphabet="0123456789abcdef"),
    call_id=lambda seed, index: make_id("", 9, seed, index),
    reasoning_field="reasoning",
    whole_calls=True,
    top_fields={"system_fingerprint": "fp_emulated_groq"},
    finish_fields=_finish,
    render_usage=_render_usage,
    run_fields=list_executed_tools,
)

FAULTS = {
    FaultKind.AUTH: ChatRefusal(401, "Invalid API Key", code="invalid_api_key"),
    FaultKind.RATE: ChatRefusal(
        429,
        "Rate limit reached for model `{model}` on requests per minute (RPM): Limit 30, Used 30, Requested 1.",
        "requests",
        code="rate_limit_exceeded",
    ),
    FaultKind.SERVER: ChatRefusal(500, "Internal Server Error", "internal_server_error"),
    FaultKind.OVERLOADED: ChatRefusal(503, "{model} is currently over capacity.", "internal_server_error"),
    FaultKind.CONTEXT: ChatRefusal(
        400, "Please reduce the length of the messages or completion.", param="messages", code="context_length_exceeded"
    ),
}


def provider(options: EmulatorOptions) -> EmulatedProvider:
    """The emulator of `api.groq.com`."""
    return ChatService(
        name="groq",
        options=options,
        checks=(
            fits(_REQUEST, _refuse_mismatch),
            check_reasoning,
            check_tools,
            check_stops,
            check_strict,
            check_settings,
            check_model_features,
            check_json_mentioned,
            refusing_pictures(
                "messages[{at}].content must be a string", r"llama-?3|gpt-oss|gemma|qwen3-32b|kimi-k2|allam"
            ),
        ),
        style=ANSWER_STYLE,
        root="/openai/v1",
        render_error=render_error,
        faults=FAULTS,
        unreadable=ChatRefusal(400, "invalid JSON in request body"),
        error_event="error",
        render_error_frame=_render_error_frame,
        stream_type="text/event-stream",
        example_model="llama-3.3-70b-versatile",
        known_models=("llama-3.3-70b-versatile", "openai/gpt-oss-120b", "qwen/qwen3-32b"),
    )
