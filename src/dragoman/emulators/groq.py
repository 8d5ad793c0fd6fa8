"""Groq: refuses every property it does not know, and says which one you may have meant."""

from __future__ import annotations

import re
from typing import Any

from dragoman.emulators.chat_answers import Voice, plain_usage
from dragoman.emulators.chat_service import Chat, Complaint
from dragoman.emulators.provider import FaultKind, Options, Provider, Received
from dragoman.emulators.usage import Usage
from dragoman.emulators.wire import token

_TOP = frozenset(
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
_FIELDS = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "reasoning", "tool_calls", "function_call"},
    "tool": {"role", "content", "tool_call_id", "name"},
    "function": {"role", "content", "name"},
}
_REASONERS = re.compile(r"gpt-oss|qwen|deepseek-r1|kimi|reason|qwq|glm|minimax", re.IGNORECASE)
_CHOICES = ("none", "auto", "required")


def shape(complaint: Complaint) -> Any:
    """`{"error": {message, type, code?}}`, with `failed_generation` where the model erred."""
    error: dict[str, Any] = {"message": complaint.message, "type": complaint.type}
    if complaint.code is not None:
        error["code"] = complaint.code
    return {"error": error | dict(complaint.more)}


def top(call: Received) -> Complaint | None:
    for key in ("model", "messages"):
        if call.body.get(key) is None:
            return Complaint(400, f"'' : property '{key}' is missing")
    stray = next((key for key in call.body if key not in _TOP), None)
    return None if stray is None else Complaint(400, _unsupported(stray, _TOP))


def _unsupported(key: str, known: set[str] | frozenset[str]) -> str:
    near = min(sorted(known), key=lambda one: _distance(key, one))
    hint = f", did you mean '{near}'?" if _distance(key, near) <= max(2, len(key) // 3) else ""
    return f"property '{key}' is unsupported{hint}"


def _distance(one: str, other: str) -> int:
    """Letters to change, add or leave out."""
    row = list(range(len(other) + 1))
    for at, letter in enumerate(one, 1):
        before, row[0] = row[0], at
        for place, wanted in enumerate(other, 1):
            swap = before + (letter != wanted)
            before, row[place] = row[place], min(swap, row[place] + 1, row[place - 1] + 1)
    return row[-1]


def messages(call: Received) -> Complaint | None:
    found = call.body["messages"]
    if not isinstance(found, list):
        return Complaint(400, "'messages' : value must be an array")
    if not found:
        return Complaint(400, "'messages' : minimum number of items is 1")
    for at, message in enumerate(found):
        fault = _message(message, f"messages.{at}", call)
        if fault is not None:
            return Complaint(400, fault)
    return None


def _message(message: Any, path: str, call: Received) -> str | None:
    if not isinstance(message, dict):
        return f"'{path}' : value must be an object"
    role = message.get("role")
    if role is None:
        return f"'{path}' : property 'role' is missing"
    if not isinstance(role, str) or role not in _FIELDS:
        return f"'{path}' : discriminator property 'role' has invalid value"
    fault = _field_fault(message, role, call) or _content_fault(message, role, path)
    if fault is None:
        return None
    return f"'{path}' : for 'role:{role}' the following must be satisfied[('{path}' : {fault})]"


def _field_fault(message: dict[str, Any], role: str, call: Received) -> str | None:
    stray = next((key for key in message if key not in _FIELDS[role]), None)
    if stray is not None:
        return _unsupported(stray, _FIELDS[role])
    if message.get("reasoning") is not None and not _REASONERS.search(call.model):
        return "property 'reasoning' is unsupported"
    return None


def _content_fault(message: dict[str, Any], role: str, path: str) -> str | None:
    content = message.get("content")
    if isinstance(content, str | list):
        return None
    if content is not None:
        return "property 'content' must be a string or an array"
    if role == "assistant" and (message.get("tool_calls") or message.get("function_call") or message.get("reasoning")):
        return None
    # what it says to an assistant turn without anything is not known
    return None if role in ("assistant", "function") else "property 'content' is missing"


def tools(call: Received) -> Complaint | None:
    choice = call.body.get("tool_choice")
    if isinstance(choice, str) and choice not in _CHOICES:
        return Complaint(400, "'tool_choice' : value must be one of 'none', 'auto', 'required'")
    declared = call.body.get("tools") or []
    if not isinstance(declared, list):
        return Complaint(400, "'tools' : value must be an array")
    for at, tool in enumerate(declared):
        if not isinstance(tool, dict) or "type" not in tool:
            return Complaint(400, f"'tools.{at}' : property 'type' is missing")
        if tool["type"] == "function" and not _is_named(tool.get("function")):
            return Complaint(400, f"'tools.{at}.function' : property 'name' is missing")
    return None


def _is_named(function: Any) -> bool:
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def settings(call: Received) -> Complaint | None:
    temperature = call.body.get("temperature")
    if temperature is not None and (isinstance(temperature, bool) or not isinstance(temperature, int | float)):
        return Complaint(400, "'temperature' : value must be a number")
    if temperature is not None and not 0 <= temperature <= 2:
        bound = "number must be at most 2" if temperature > 2 else "number must be at least 0"
        return Complaint(400, f"'temperature' : {bound}")
    return None


def _finish(seed: str, usage: Usage) -> dict[str, Any]:
    return {"x_groq": {"id": token("req_", 26, seed), "usage": plain_usage(usage)}}


def _error_frame(complaint: Complaint, call: Received) -> Any:
    error = {
        "message": complaint.message,
        "type": complaint.type,
        "code": complaint.code,
        "status_code": complaint.status,
    }
    return {"error": error}


VOICE = Voice(
    answer_id=lambda seed: token("chatcmpl-", 32, seed, alphabet="0123456789abcdef"),
    call_id=lambda seed, index: token("", 9, seed, index),
    reasoning="reasoning",
    whole_calls=True,
    top={"system_fingerprint": "fp_emulated_groq"},
    finish=_finish,
)

FAULTS = {
    FaultKind.AUTH: Complaint(401, "Invalid API Key", code="invalid_api_key"),
    FaultKind.RATE: Complaint(
        429,
        "Rate limit reached for model `{model}` on requests per minute (RPM): Limit 30, Used 30, Requested 1.",
        "requests",
        code="rate_limit_exceeded",
    ),
    FaultKind.SERVER: Complaint(500, "Internal Server Error", "internal_server_error"),
    FaultKind.OVERLOADED: Complaint(503, "{model} is currently over capacity.", "internal_server_error"),
    FaultKind.CONTEXT: Complaint(
        400, "Please reduce the length of the messages or completion.", param="messages", code="context_length_exceeded"
    ),
}


def provider(options: Options) -> Provider:
    """The emulator of `api.groq.com`."""
    return Chat(
        name="groq",
        options=options,
        checks=(top, messages, tools, settings),
        voice=VOICE,
        root="/openai/v1",
        shape=shape,
        faults=FAULTS,
        not_json=Complaint(400, "invalid JSON in request body"),
        error_event="error",
        error_frame=_error_frame,
        stream_type="text/event-stream",
        example_model="llama-3.3-70b-versatile",
        offers=("llama-3.3-70b-versatile", "openai/gpt-oss-120b", "qwen/qwen3-32b"),
    )
