"""Groq: refuses every unknown property, and suggests the one you may have meant."""

from __future__ import annotations

import re
from typing import Any

from dragoman.emulators.chat_answers import AnswerStyle, plain_usage
from dragoman.emulators.chat_service import ChatRefusal, ChatService
from dragoman.emulators.provider import EmulatedProvider, EmulatorOptions, FaultKind, ReceivedRequest
from dragoman.emulators.usage import TokenUsage
from dragoman.emulators.wire import make_id

_REQUEST_FIELDS = frozenset(
    {
        "messages",
        "model",
        "citation_options",
        "compound_custom",
        "disable_tool_validation",
        "documents",
        "exclude_domains",
        "frequency_penalty",
        "function_call",
        "functions",
        "include_domains",
        "include_reasoning",
        "logit_bias",
        "logprobs",
        "max_completion_tokens",
        "max_tokens",
        "metadata",
        "n",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "reasoning_format",
        "response_format",
        "search_settings",
        "seed",
        "service_tier",
        "stop",
        "stream",
        "stream_options",
        "temperature",
        "tool_choice",
        "tools",
        "top_logprobs",
        "top_p",
        "user",
    }
)
_MESSAGE_FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "reasoning", "tool_calls", "function_call"},
    "tool": {"role", "content", "tool_call_id", "name"},
    "function": {"role", "content", "name"},
}
_REASONERS = re.compile(r"gpt-oss|qwen|deepseek-r1|kimi|reason|qwq|glm|minimax", re.IGNORECASE)
_CHOICES = ("none", "auto", "required")


def render_error(refusal: ChatRefusal) -> Any:
    """`{"error": {message, type, code?}}`, with `failed_generation` if the model made a bad call."""
    error: dict[str, Any] = {"message": refusal.message, "type": refusal.type}
    if refusal.code is not None:
        error["code"] = refusal.code
    return {"error": error | dict(refusal.more)}


def check_fields(request: ReceivedRequest) -> ChatRefusal | None:
    for key in ("model", "messages"):
        if request.body.get(key) is None:
            return ChatRefusal(400, f"'' : property '{key}' is missing")
    stray = next((key for key in request.body if key not in _REQUEST_FIELDS), None)
    return None if stray is None else ChatRefusal(400, _unsupported(stray, _REQUEST_FIELDS))


def _unsupported(key: str, known: set[str] | frozenset[str]) -> str:
    near = min(sorted(known), key=lambda one: _distance(key, one))
    hint = f", did you mean '{near}'?" if _distance(key, near) <= max(2, len(key) // 3) else ""
    return f"property '{key}' is unsupported{hint}"


def _distance(one: str, other: str) -> int:
    """How many letters to change, add or remove."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, row[0] = row[0], at
        for place, other_letter in enumerate(other, 1):
            swap = before + (letter != other_letter)
            before, row[place] = row[place], min(swap, row[place] + 1, row[place - 1] + 1)
    return row[-1]


def check_messages(request: ReceivedRequest) -> ChatRefusal | None:
    messages = request.body["messages"]
    if not isinstance(messages, list):
        return ChatRefusal(400, "'messages' : value must be an array")
    if not messages:
        return ChatRefusal(400, "'messages' : minimum number of items is 1")
    for at, message in enumerate(messages):
        error = _message_error(message, f"messages.{at}", request)
        if error is not None:
            return ChatRefusal(400, error)
    return None


def _message_error(message: Any, path: str, request: ReceivedRequest) -> str | None:
    if not isinstance(message, dict):
        return f"'{path}' : value must be an object"
    role = message.get("role")
    if role is None:
        return f"'{path}' : property 'role' is missing"
    if not isinstance(role, str) or role not in _MESSAGE_FIELDS:
        return f"'{path}' : discriminator property 'role' has invalid value"
    error = _field_error(message, role, request) or _content_error(message, role, path)
    if error is None:
        return None
    return f"'{path}' : for 'role:{role}' the following must be satisfied[('{path}' : {error})]"


def _field_error(message: dict[str, Any], role: str, request: ReceivedRequest) -> str | None:
    stray = next((key for key in message if key not in _MESSAGE_FIELDS[role]), None)
    if stray is not None:
        return _unsupported(stray, _MESSAGE_FIELDS[role])
    if message.get("reasoning") is not None and not _REASONERS.search(request.model):
        return "property 'reasoning' is unsupported"
    return None


def _content_error(message: dict[str, Any], role: str, path: str) -> str | None:
    content = message.get("content")
    if isinstance(content, str | list):
        return None
    if content is not None:
        return "property 'content' must be a string or an array"
    if role == "assistant" and (message.get("tool_calls") or message.get("function_call") or message.get("reasoning")):
        return None
    # how Groq answers an assistant turn without content and calls is not known
    return None if role in ("assistant", "function") else "property 'content' is missing"


def check_tools(request: ReceivedRequest) -> ChatRefusal | None:
    choice = request.body.get("tool_choice")
    if isinstance(choice, str) and choice not in _CHOICES:
        return ChatRefusal(400, "'tool_choice' : value must be one of 'none', 'auto', 'required'")
    declared = request.body.get("tools") or []
    if not isinstance(declared, list):
        return ChatRefusal(400, "'tools' : value must be an array")
    for at, tool in enumerate(declared):
        if not isinstance(tool, dict) or "type" not in tool:
            return ChatRefusal(400, f"'tools.{at}' : property 'type' is missing")
        if tool["type"] == "function" and not _is_named(tool.get("function")):
            return ChatRefusal(400, f"'tools.{at}.function' : property 'name' is missing")
    return None


def _is_named(function: Any) -> bool:
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def check_settings(request: ReceivedRequest) -> ChatRefusal | None:
    temperature = request.body.get("temperature")
    if temperature is not None and (isinstance(temperature, bool) or not isinstance(temperature, int | float)):
        return ChatRefusal(400, "'temperature' : value must be a number")
    if temperature is not None and not 0 <= temperature <= 2:
        bound = "number must be at most 2" if temperature > 2 else "number must be at least 0"
        return ChatRefusal(400, f"'temperature' : {bound}")
    return None


def _finish(seed: str, usage: TokenUsage) -> dict[str, Any]:
    return {"x_groq": {"id": make_id("req_", 26, seed), "usage": plain_usage(usage)}}


def _render_error_frame(refusal: ChatRefusal, request: ReceivedRequest) -> Any:
    error = {
        "message": refusal.message,
        "type": refusal.type,
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
        checks=(check_fields, check_messages, check_tools, check_settings),
        style=ANSWER_STYLE,
        root="/openai/v1",
        render_error=render_error,
        faults=FAULTS,
        not_json=ChatRefusal(400, "invalid JSON in request body"),
        error_event="error",
        render_error_frame=_render_error_frame,
        stream_type="text/event-stream",
        example_model="llama-3.3-70b-versatile",
        listed_models=("llama-3.3-70b-versatile", "openai/gpt-oss-120b", "qwen/qwen3-32b"),
    )
