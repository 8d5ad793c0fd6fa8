"""Mistral: forbids stray message keys, and minds the order of roles.

A user turn after tool results is accepted, as recorded; ids of any form too, except on the large models that were
seen to refuse them.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from dragoman.emulators.chat_answers import UsagePlace, Voice, plain_usage
from dragoman.emulators.chat_service import Chat, Complaint
from dragoman.emulators.pairs import call_ids, role
from dragoman.emulators.provider import FaultKind, Options, Provider, Received
from dragoman.emulators.signatures import is_masked
from dragoman.emulators.usage import Usage
from dragoman.emulators.wire import token

_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "prefix"},
    "tool": {"role", "content", "tool_call_id", "name"},
}
_PARTS = ("text", "image_url", "document_url", "reference", "file", "thinking", "input_audio")
_AFTER = {
    "system": ("user", "assistant", "system"),
    "user": ("assistant", "system", "user"),
    "assistant": ("assistant", "user", "tool"),
    "tool": ("assistant", "tool", "user"),
}
_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
_ID = re.compile(r"^[a-zA-Z0-9]{9}$")
_CHOICES = ("auto", "any", "none", "required")


def shape(complaint: Complaint) -> Any:
    """Mistral's flat error, or the bare `detail` of its validation and of its key check."""
    if complaint.status in (401, 422):
        return {"detail": complaint.more.get("detail", complaint.message)}
    return {
        "object": "error",
        "message": complaint.message,
        "type": complaint.type,
        "param": complaint.param,
        "code": complaint.code,
        "raw_status_code": complaint.status,
    }


def _invalid(sort: str, loc: list[Any], words: str, value: Any) -> Complaint:
    detail = [{"type": sort, "loc": ["body", *loc], "msg": words, "input": value}]
    return Complaint(422, words, more={"detail": detail})


def _order(words: str) -> Complaint:
    return Complaint(400, words, "invalid_request_message_order", code="3230")


def required(call: Received) -> Complaint | None:
    for key in ("model", "messages"):
        if call.body.get(key) is None:
            return _invalid("missing", [key], "Field required", call.body)
    messages = call.body["messages"]
    if not isinstance(messages, list):
        return _invalid("list_type", ["messages"], "Input should be a valid list", messages)
    if not messages:
        return Complaint(
            400, "Conversation must have at least one message", "invalid_request_message_order", code="3230"
        )
    return None


def fields(call: Received) -> Complaint | None:
    """Roles and keys, message by message."""
    for at, message in enumerate(call.body["messages"]):
        if not isinstance(message, dict):
            return _invalid("model_type", ["messages", at], "Input should be a valid dictionary", message)
        sort = message.get("role")
        if not isinstance(sort, str) or sort not in _FIELDS:
            words = (
                f"Input tag '{sort}' found using 'role' does not match any of the expected tags:"
                " 'system', 'user', 'assistant', 'tool'"
            )
            return _invalid("union_tag_invalid", ["messages", at], words, message)
        complaint = _keys(message, sort, ["messages", at, sort]) or _parts(message, ["messages", at, sort])
        if complaint is not None:
            return complaint
    return None


def _keys(message: dict[str, Any], sort: str, loc: list[Any]) -> Complaint | None:
    stray = next((key for key in message if key not in _FIELDS[sort]), None)
    if stray is not None:
        return _invalid("extra_forbidden", [*loc, stray], "Extra inputs are not permitted", message[stray])
    if sort in ("system", "user") and message.get("content") is None:
        return _invalid("missing", [*loc, "content"], "Field required", message)
    return None


def _parts(message: dict[str, Any], loc: list[Any]) -> Complaint | None:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return None
    if not isinstance(content, list):
        return _invalid("string_type", [*loc, "content"], "Input should be a valid string", content)
    for at, part in enumerate(content):
        sort = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, dict) and sort in _PARTS:
            continue
        words = f"Input tag '{sort}' found using 'type' does not match any of the expected tags"
        return _invalid("union_tag_invalid", [*loc, "content", at], words, part)
    return None


def order(call: Received) -> Complaint | None:
    """Which role may follow which, and which may be last."""
    messages = call.body["messages"]
    for before, message in pairwise(messages):
        if message["role"] not in _AFTER[before["role"]]:
            return _order(f"Unexpected role '{message['role']}' after role '{before['role']}'")
    if messages[0]["role"] == "tool":
        return _order("Unexpected role 'tool' after role 'system'")
    last = messages[-1]
    if last["role"] == "assistant" and last.get("prefix") is not True:
        words = "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant"
        return _order(words)
    return None


def substance(call: Received) -> Complaint | None:
    """Turns that say nothing."""
    for message in call.body["messages"]:
        if message["role"] == "system" and not message.get("content"):
            return Complaint(400, "System prompt must have content", "invalid_system_prompt", code="3250")
        silent = not message.get("content") and not message.get("tool_calls")
        if message["role"] == "assistant" and silent:
            words = "Assistant message must have either content or tool_calls, but not both."
            return Complaint(400, words, "invalid_assistant_message", code="3240")
    return None


def calls(call: Received) -> Complaint | None:
    """Results answer the calls before them, one each; ids in the form the model wants."""
    messages = call.body["messages"]
    for at, message in enumerate(messages):
        if not call_ids(message):
            continue
        complaint = _named(message) or _form(call, message) or _answered(messages, at)
        if complaint is not None:
            return complaint
    return None


def _named(message: dict[str, Any]) -> Complaint | None:
    for made in message["tool_calls"]:
        function = made.get("function") if isinstance(made, dict) else None
        name = function.get("name") if isinstance(function, dict) else None
        if not isinstance(name, str) or not _NAME.match(name):
            words = f"Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes"
            return Complaint(400, words + ", with a maximum length of 64.", "invalid_function_call", code="3280")
    return None


def _form(call: Received, message: dict[str, Any]) -> Complaint | None:
    if not call.model.startswith("mistral-large"):
        return None
    for one in call_ids(message):
        if not _ID.match(one) and not is_masked(one):
            words = f"Tool call id was {one} but must be a-z, A-Z, 0-9, with a length of 9."
            return Complaint(400, words, "invalid_function_call", code="3280")
    return None


def _answered(messages: list[Any], at: int) -> Complaint | None:
    wanted = list(call_ids(messages[at]))
    results = []
    for message in messages[at + 1 :]:
        if role(message) != "tool":
            break
        results.append(str(message.get("tool_call_id")))
    # calls at the very end are waiting for the client, with prefix; the order check has judged that
    if not results and at == len(messages) - 1:
        return None
    if len(results) != len(wanted):
        return _order("Not the same number of function calls and responses")
    for seen, one in enumerate(results):
        if one in results[:seen]:
            return _order(f"Duplicate tool call id {one} in tool results")
        if one not in wanted:
            return _order(f"Unexpected tool call id {one} in tool results")
    return None


def settings(call: Received) -> Complaint | None:
    """Parameters with recorded or published limits."""
    body = call.body
    if body.get("logprobs"):
        words = "Logprobs are not enabled for this model"
        return Complaint(400, words, "invalid_request_invalid_args", code="3051")
    choice = body.get("tool_choice")
    if isinstance(choice, str) and choice not in _CHOICES:
        words = "Input should be 'auto', 'none', 'any' or 'required'"
        return _invalid("enum", ["tool_choice", "str-enum[ToolChoiceEnum]"], words, choice)
    return None


def tools(call: Received) -> Complaint | None:
    declared = call.body.get("tools")
    if declared is not None and not isinstance(declared, list):
        return _invalid("list_type", ["tools"], "Input should be a valid list", declared)
    for at, tool in enumerate(declared or ()):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict):
            return _invalid("missing", ["tools", at, "function"], "Field required", tool)
        name = function.get("name")
        if not isinstance(name, str) or not _NAME.match(name):
            words = f"Function name was {name} but must be a-z, A-Z, 0-9, or contain underscores and dashes"
            return Complaint(400, words + ", with a maximum length of 64.", "invalid_tool", code="3280")
        schema = function.get("parameters")
        if schema is not None and not isinstance(schema, dict):
            return Complaint(
                400, f"Invalid tool schema: {schema!r} is not an object", "invalid_tool_schema", code="3310"
            )
    return None


def _usage(usage: Usage) -> dict[str, Any]:
    return {**plain_usage(usage), "prompt_tokens_details": {"cached_tokens": usage.cached}}


VOICE = Voice(
    answer_id=lambda seed: token("", 32, seed, alphabet="0123456789abcdef"),
    call_id=lambda seed, index: token("", 9, seed, index),
    usage=UsagePlace.FINISH,
    usage_shape=_usage,
    closing_calls=True,
    logprobs=False,
    empty_content="",
    message={"tool_calls": None},
)

FAULTS = {
    FaultKind.AUTH: Complaint(401, "Invalid API Key"),
    FaultKind.MODEL: Complaint(400, "Invalid model: {model}", "invalid_model", code="1500"),
    FaultKind.RATE: Complaint(429, "Requests rate limit exceeded", "rate_limited", code="1300"),
    FaultKind.SERVER: Complaint(500, "Internal server error", "internal_server_error", code="1000"),
    FaultKind.OVERLOADED: Complaint(503, "Service unavailable.", "service_unavailable", code="3505"),
    FaultKind.CONTEXT: Complaint(
        400,
        "Prompt contains {tokens} tokens and 0 draft tokens, too large for model with 131072 maximum context length",
        "invalid_request_prompt",
        code="3051",
    ),
}


def provider(options: Options) -> Provider:
    """The emulator of `api.mistral.ai`."""
    return Chat(
        name="mistral",
        options=options,
        checks=(required, fields, order, substance, calls, tools, settings),
        voice=VOICE,
        shape=shape,
        faults=FAULTS,
        not_json=_invalid("json_invalid", [0], "JSON decode error", {}),
        example_model="mistral-small-latest",
        offers=("mistral-small-latest", "mistral-large-latest", "ministral-3b-latest", "magistral-medium-latest"),
    )
