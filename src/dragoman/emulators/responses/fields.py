"""The top-level fields of a request, in the order in which OpenAI reports errors: input, unknown keys, then values."""

from __future__ import annotations

from typing import Any

from dragoman.emulators.responses.field_checks import (
    FieldCheck,
    ResponsesRefusal,
    anything,
    array,
    boolean,
    integer,
    mapping,
    missing,
    not_among,
    number,
    one_of,
    record,
    tagged,
    text,
    unknown,
    wrong_type,
)
from dragoman.emulators.responses.items import check_input
from dragoman.emulators.responses.schemas import check_function, check_strict

STORED_STATE = ("previous_response_id", "prompt", "conversation")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_CHOICES = ("none", "auto", "required")
_TOOLS = (
    "apply_patch",
    "code_interpreter",
    "computer",
    "computer_use_preview",
    "custom",
    "file_search",
    "image_generation",
    "local_shell",
    "mcp",
    "namespace",
    "programmatic_tool_calling",
    "shell",
    "tool_search",
    "web_search",
    "web_search_2025_08_26",
    "web_search_preview",
    "web_search_preview_2025_03_11",
)


def _check_function_tool(value: dict[str, Any], at: str) -> None:
    record(
        {
            "type": anything,
            "name": text,
            "description": text,
            "parameters": anything,
            "strict": boolean,
            "defer_loading": boolean,
            "allowed_callers": anything,
            "output_schema": anything,
            "async": anything,
        },
        required=("name",),
    )(value, at)
    check_function(value, at)


tools: FieldCheck = array(tagged({"function": _check_function_tool, **dict.fromkeys(_TOOLS, anything)}))


def _check_tool_choice(value: Any, at: str) -> None:
    if isinstance(value, str):
        if value not in _CHOICES:
            raise not_among(value, _CHOICES, at)
        return
    if not isinstance(value, dict):
        raise wrong_type(value, "one of an object or string", at)
    if "type" not in value:
        raise missing(f"{at}.type")
    if value["type"] == "function" and "name" not in value:
        raise missing(f"{at}.name")


def _check_named_schema(value: dict[str, Any], at: str) -> None:
    record(
        {"type": anything, "name": text, "schema": mapping, "strict": boolean, "description": text},
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
    "metadata": mapping,
    "text": record({"format": _format, "verbosity": one_of("low", "medium", "high")}),
    "temperature": number(0, 2),
    "top_p": number(0, 1),
    "model": text,
    "instructions": anything,
    "tool_choice": _check_tool_choice,
    "reasoning": record(
        {
            "effort": one_of(*EFFORTS),
            "summary": one_of("concise", "detailed", "auto"),
            "generate_summary": one_of("concise", "detailed", "auto"),
            "context": text,
            "mode": text,
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
    "service_tier": text,
    "user": text,
    "safety_identifier": text,
    "prompt_cache_key": text,
    "prompt_cache_options": anything,
    "prompt_cache_retention": anything,
    "context_management": anything,
    "moderation": anything,
    "access_programs": anything,
    "image": anything,
}


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
        if body.get(name) is not None:
            check(body[name], name)


def has_state(body: dict[str, Any]) -> bool:
    """Whether the request refers to something that the service has stored."""
    return any(body.get(name) for name in STORED_STATE)
