"""The top-level fields of a request, in the order in which OpenAI reports errors: input, unknown keys, then values."""

from __future__ import annotations

import re
from typing import Any

from dragoman.emulators.native_api import FieldCheck, anything, nullable
from dragoman.emulators.openai_responses.client_items import CLIENT_TOOLS
from dragoman.emulators.openai_responses.field_checks import (
    ResponsesRefusal,
    array,
    boolean,
    integer,
    mapping,
    missing,
    not_among,
    number,
    one_of,
    record,
    sized,
    table,
    tagged,
    text,
    typed,
    unknown,
    wrong_type,
)
from dragoman.emulators.openai_responses.items import check_input
from dragoman.emulators.openai_responses.schemas import check_function, check_strict

STORED_STATE = ("previous_response_id", "prompt", "conversation")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_CHOICES = ("none", "auto", "required")
_TOOLS = (
    *("apply_patch", "code_interpreter", "computer", "computer_use_preview", "custom", "file_search"),
    *("image_generation", "local_shell", "mcp", "namespace", "programmatic_tool_calling", "shell", "tool_search"),
    *("web_search", "web_search_2025_08_26", "web_search_preview", "web_search_preview_2025_03_11"),
)


def _check_function_tool(value: dict[str, Any], at: str) -> None:
    record(
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
    )(value, at)
    check_function(value, at)


tools: FieldCheck = array(tagged({"function": _check_function_tool, **dict.fromkeys(_TOOLS, anything), **CLIENT_TOOLS}))


_named = typed(name=text)
_hosted = record({"type": anything})
_named_choice = tagged(
    {
        **dict.fromkeys((*_TOOLS, "computer_use"), _hosted),
        "function": _named,
        "custom": _named,
        "mcp": record({"type": anything, "server_label": text, "name": nullable(text)}, required=("server_label",)),
        "allowed_tools": typed(mode=one_of("auto", "required"), tools=array(mapping)),
    }
)


def _check_tool_choice(value: Any, at: str) -> None:
    if isinstance(value, dict):
        _named_choice(value, at)
    elif not isinstance(value, str):
        raise wrong_type(value, "one of an object or string", at)
    elif value not in _CHOICES:
        raise not_among(value, _CHOICES, at)


def _check_schema_name(value: Any, at: str) -> None:
    sized(1, 64)(value, at)
    if not _NAME.fullmatch(value):
        sentence = "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'."
        raise ResponsesRefusal(f"Invalid '{at}': {sentence}", at, "invalid_value")


def _check_named_schema(value: dict[str, Any], at: str) -> None:
    record(
        {
            "type": anything,
            "name": _check_schema_name,
            "schema": mapping,
            "strict": nullable(boolean),
            "description": text,
        },
        required=("name", "schema"),
    )(value, at)
    if value.get("strict"):
        check_strict(value["schema"], f"response_format '{value['name']}'", f"{at}.schema", "invalid_json_schema")


_format = tagged(
    {
        "text": record({"type": anything}),
        "json_object": record({"type": anything}),
        "json_schema": _check_named_schema,
    }
)

FIELDS: dict[str, FieldCheck] = {
    "input": check_input,
    "include": array(text, "an array of strings"),
    "tools": tools,
    "metadata": table(text),
    "text": record({"format": _format, "verbosity": nullable(one_of("low", "medium", "high"))}),
    "temperature": number(0, 2),
    "top_p": number(0, 1),
    "model": text,
    "instructions": text,
    "tool_choice": _check_tool_choice,
    "reasoning": record(
        {
            "effort": nullable(one_of(*EFFORTS)),
            "summary": nullable(one_of("concise", "detailed", "auto")),
            "generate_summary": nullable(one_of("concise", "detailed", "auto")),
            "context": nullable(text),
            "mode": nullable(text),
        }
    ),
    "max_output_tokens": integer(16),
    "max_tool_calls": integer(1),
    "parallel_tool_calls": boolean,
    "store": boolean,
    "stream": boolean,
    "stream_options": record({"include_obfuscation": boolean}),
    "background": boolean,
    "truncation": one_of("auto", "disabled"),
    "top_logprobs": integer(0),
    "frequency_penalty": number(-2, 2),
    "presence_penalty": number(-2, 2),
    "previous_response_id": text,
    "conversation": anything,
    "prompt": mapping,
    "service_tier": one_of("auto", "default", "flex", "scale", "priority", "fast", "ultrafast"),
    "user": sized(0, 64),
    "safety_identifier": sized(0, 128),  # 64 in the OpenAPI, 128 in the package
    "prompt_cache_key": sized(0, 64),
    "prompt_cache_options": anything,
    "prompt_cache_retention": anything,
    "context_management": array(
        tagged({"compaction": record({"type": anything, "compact_threshold": nullable(integer(1))})})
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
            check(body[name], name)


def has_state(body: dict[str, Any]) -> bool:
    """Whether the request refers to something that the service has stored."""
    return any(body.get(name) for name in STORED_STATE)
