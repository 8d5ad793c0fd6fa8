"""The top-level fields of a request, in the order in which OpenAI reports errors: input, unknown keys, then values."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.chat.openai.request_types import bracketed, missing, unknown
from dragoman.emulators.openai_responses.client_items import CLIENT_TOOLS
from dragoman.emulators.openai_responses.items import request_input
from dragoman.emulators.openai_responses.refusals import ResponsesRefusal, check_shape
from dragoman.emulators.openai_responses.schemas import check_function, check_patterns, check_strict
from dragoman.emulators.request_shape import (
    Path,
    RecordShape,
    Shape,
    anything,
    boolean,
    both,
    bounded,
    complete,
    either,
    integer,
    items,
    mapping,
    matching,
    nullable,
    number,
    one_of,
    table,
    tagged,
    text,
    text_up_to,
)

STORED_STATE = ("previous_response_id", "prompt", "conversation")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_CHOICES = ("none", "auto", "required")
_TOOLS = (
    *("apply_patch", "code_interpreter", "computer", "computer_use_preview", "custom", "file_search"),
    *("image_generation", "local_shell", "mcp", "namespace", "programmatic_tool_calling", "shell", "tool_search"),
    *("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"),
)


def _function(value: Any, path: Path) -> None:
    RecordShape(
        {
            "type": anything,
            "name": text,
            "description": nullable(text),
            "parameters": anything,
            "strict": nullable(boolean),
            "defer_loading": boolean,
            "allowed_callers": anything,
            "output_schema": anything,
            "async": anything,
        },
        required=("name",),
    )(value, path)
    check_function(value, bracketed(path))


tools: Shape = items(tagged("type", {"function": _function, **dict.fromkeys(_TOOLS, anything), **CLIENT_TOOLS}))


_named = complete(type=text, name=text)
_hosted = RecordShape({"type": anything})
_named_choice = tagged(
    "type",
    {
        **dict.fromkeys((*_TOOLS, "computer_use"), _hosted),
        "function": _named,
        "custom": _named,
        "mcp": RecordShape(
            {"type": anything, "server_label": text, "name": nullable(text)}, required=("server_label",)
        ),
        "allowed_tools": complete(type=text, mode=one_of("auto", "required"), tools=items(mapping)),
    },
)


def _named_schema(value: Any, path: Path) -> None:
    RecordShape(
        {
            "type": anything,
            "name": both(text_up_to(64, nonempty=True), matching("^[a-zA-Z0-9_-]+$")),
            "schema": mapping,
            "strict": nullable(boolean),
            "description": text,
        },
        required=("name", "schema"),
    )(value, path)
    check_patterns(value["schema"], "text.format.schema")
    if value.get("strict"):
        check_strict(
            value["schema"], f"response_format '{value['name']}'", f"{bracketed(path)}.schema", "invalid_json_schema"
        )


_format = tagged(
    "type",
    {
        "text": RecordShape({"type": anything}),
        "json_object": RecordShape({"type": anything}),
        "json_schema": _named_schema,
    },
)

FIELDS: dict[str, Shape] = {
    "input": request_input,
    "include": items(text, expected="an array of strings"),
    "tools": tools,
    "metadata": table(text),
    "text": RecordShape({"format": _format, "verbosity": nullable(one_of("low", "medium", "high"))}),
    "temperature": bounded(number, 0, 2),
    "top_p": bounded(number, 0, 1),
    "model": text,
    "instructions": text,
    "tool_choice": either("one of an object or string", text=one_of(*_CHOICES), keys=_named_choice),
    "reasoning": RecordShape(
        {
            "effort": nullable(one_of(*EFFORTS)),
            "summary": nullable(one_of("concise", "detailed", "auto")),
            "generate_summary": nullable(one_of("concise", "detailed", "auto")),
            "context": nullable(text),
            "mode": nullable(text),
        }
    ),
    "max_output_tokens": bounded(integer, 16),
    "max_tool_calls": bounded(integer, 1),
    "parallel_tool_calls": boolean,
    "store": boolean,
    "stream": boolean,
    "stream_options": RecordShape({"include_obfuscation": boolean}),
    "background": boolean,
    "truncation": one_of("auto", "disabled"),
    "top_logprobs": bounded(integer, 0),
    "frequency_penalty": bounded(number, -2, 2),
    "presence_penalty": bounded(number, -2, 2),
    "previous_response_id": text,
    "conversation": anything,
    "prompt": mapping,
    "service_tier": one_of("auto", "default", "flex", "scale", "priority", "fast", "ultrafast"),
    "user": text_up_to(64),
    "safety_identifier": text_up_to(128),  # 64 in the OpenAPI, 128 in the package
    "prompt_cache_key": text_up_to(64),
    "prompt_cache_options": anything,
    "prompt_cache_retention": anything,
    "context_management": items(
        tagged(
            "type", {"compaction": RecordShape({"type": anything, "compact_threshold": nullable(bounded(integer, 1))})}
        )
    ),
    "moderation": anything,
    "access_programs": anything,
    "client_metadata": mapping,  # in no public type; Codex sends it with every request
    "image": anything,
}


# fields whose published type has no null; `tool_choice: null` is recorded as accepted
_NEVER_NULL = ("input", "tools", "text", "user", "prompt_cache_options", "image", "access_programs")


def check_fields(body: dict[str, Any]) -> None:
    """Check each field. The model was checked before."""
    if "messages" in body:
        raise ResponsesRefusal(
            "Unsupported parameter: 'messages'. In the Responses API, this parameter has moved to 'input'. Try again "
            "with the new parameter. See the documentation for more information: "
            "https://platform.openai.com/docs/guides/migrate-to-responses",
            None,
            "unsupported_parameter",
        )
    if body.get("input") is None and not has_state(body):
        raise missing("input")
    for name in body:
        if name not in FIELDS:
            raise unknown(name)
    for name, check in FIELDS.items():
        if body.get(name) is not None or (name in body and name in _NEVER_NULL):
            check_shape(check, body[name], (name,))


def has_state(body: dict[str, Any]) -> bool:
    """Whether the request refers to something that the service has stored."""
    return any(body.get(name) for name in STORED_STATE)
