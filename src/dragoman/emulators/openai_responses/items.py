"""The items of `input` by type, with the keys that each may have. Items of tools that OpenAI runs are not checked."""

from __future__ import annotations

import re
from typing import Any

from dragoman.emulators.native_api import FieldCheck, anything, nullable
from dragoman.emulators.openai_responses.client_items import CLIENT_ITEMS
from dragoman.emulators.openai_responses.field_checks import (
    ResponsesRefusal,
    array,
    mapping,
    missing,
    not_among,
    one_of,
    record,
    sized,
    tagged,
    text,
    typed,
    wrong_type,
)
from dragoman.emulators.signatures import is_masked

ROLES = ("assistant", "system", "developer", "user")
_DATA_URL = re.compile(r"data:(?P<mime>[^;,]*+)(?:;[^;,]*+)*?;base64,")
_REFUSED_FILE_TYPES = ("audio/", "video/")


def _image_url(value: Any, at: str) -> None:
    if not isinstance(value, str):
        raise wrong_type(value, "an image URL", at)


def _file_data(value: Any, at: str) -> None:
    text(value, at)
    found = _DATA_URL.match(value)
    if found is not None and not found["mime"].startswith(_REFUSED_FILE_TYPES):
        return
    got = f"unsupported MIME type '{found['mime']}'" if found else "a value without the 'data:' prefix"
    raise ResponsesRefusal(
        f"Invalid file data: '{at}'. Expected a base64-encoded data URL with a valid file MIME type "
        f"(e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got {got}. Please see "
        "https://platform.openai.com/docs/assistants/tools/file-search#supported-files for supported file types.",
        at,
        "invalid_value",
    )


_STATUSES = ("in_progress", "completed", "incomplete")
_cacheable: dict[str, FieldCheck] = {"type": anything, "prompt_cache_breakpoint": nullable(mapping)}
# the published type requires `detail`; recorded requests without it were accepted
_INPUT_PARTS: dict[str, FieldCheck] = {
    "input_text": record({**_cacheable, "text": text}, required=("text",)),
    "input_image": record(
        {
            **_cacheable,
            "image_url": nullable(_image_url),
            "file_id": nullable(text),
            "detail": one_of("low", "high", "auto", "original"),
        }
    ),
    "input_file": record(
        {
            **_cacheable,
            "file_data": _file_data,
            "file_id": nullable(text),
            "file_url": text,
            "filename": text,
            "detail": one_of("low", "high", "auto"),
        }
    ),
    "input_audio": typed(input_audio=mapping),
}
_OUTPUT_PARTS: dict[str, FieldCheck] = {
    "output_text": record(
        {"type": anything, "text": text, "annotations": array(mapping), "logprobs": array(mapping)}, required=("text",)
    ),
    "refusal": typed(refusal=text),
}
_RESULT_PARTS = {kind: _INPUT_PARTS[kind] for kind in ("input_text", "input_image", "input_file")}


def _text_or(parts: FieldCheck) -> FieldCheck:
    def check(value: Any, at: str) -> None:
        if isinstance(value, str):
            return
        if not isinstance(value, list):
            raise wrong_type(value, "one of an array of objects or string", at)
        parts(value, at)

    return check


def _check_message(value: dict[str, Any], at: str) -> None:
    role = value.get("role")
    if role not in ROLES:
        raise missing(f"{at}.role") if role is None else not_among(role, ROLES, at)
    is_assistant = role == "assistant"
    keys: dict[str, FieldCheck] = {
        "type": anything,
        "role": anything,
        "content": _text_or(array(tagged(_OUTPUT_PARTS if is_assistant else _INPUT_PARTS))),
        "id": _id_with_prefix("msg") if is_assistant else text,
        "status": one_of(*_STATUSES),
    }
    if is_assistant:
        keys["phase"] = nullable(one_of("commentary", "final_answer"))
    record(keys, required=("content",))(value, at)


def _id_with_prefix(prefix: str) -> FieldCheck:
    def check(value: Any, at: str) -> None:
        text(value, at)
        if not value:
            expected = "Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained"
            raise ResponsesRefusal(f"Invalid '{at}': ''. {expected} additional characters.", at, "invalid_value")
        if not value.startswith(prefix) and not is_masked(value):
            raise ResponsesRefusal(
                f"Invalid '{at}': '{value}'. Expected an ID that begins with '{prefix}'.", at, "invalid_value"
            )

    return check


_call: dict[str, FieldCheck] = {
    "type": anything,
    "call_id": sized(1, 64),
    "status": nullable(one_of(*_STATUSES)),  # null on a function_call is recorded as accepted
    "caller": nullable(mapping),
}
_function_call = record(
    {
        **_call,
        "id": _id_with_prefix("fc"),
        "name": text,
        "arguments": text,
        "namespace": text,
        "async": anything,
    },
    required=("call_id", "name", "arguments"),
)
_function_call_output = record(
    {
        **_call,
        "id": nullable(text),
        "name": nullable(text),
        "namespace": nullable(text),
        "output": _text_or(array(tagged(_RESULT_PARTS))),
    },
    required=("call_id", "output"),
)


def _texts(kind: str) -> FieldCheck:
    """A list of texts of one type."""
    return array(tagged({kind: typed(text=text)}))


# the published type requires `id`; recorded requests without it were accepted
_reasoning = record(
    {
        "type": anything,
        "id": _id_with_prefix("rs"),
        "summary": _texts("summary_text"),
        "content": _texts("reasoning_text"),
        "encrypted_content": nullable(text),
        "status": one_of(*_STATUSES),
    },
    required=("summary",),
)
_compaction = record(
    {"type": anything, "id": nullable(text), "encrypted_content": text, "created_by": nullable(text)},
    required=("encrypted_content",),
)
_UNCHECKED = (
    *("item_reference", "custom_tool_call", "custom_tool_call_output", "configuration_update", "web_search_call"),
    *("file_search_call", "code_interpreter_call", "image_generation_call", "mcp_list_tools", "mcp_approval_request"),
    *("mcp_approval_response", "mcp_call", "tool_search_call", "tool_search_output", "program", "program_output"),
)
_TYPES: dict[str, FieldCheck] = {
    "message": _check_message,
    "function_call": _function_call,
    "function_call_output": _function_call_output,
    "reasoning": _reasoning,
    "compaction": _compaction,
    "compaction_trigger": record({"type": anything, "id": nullable(text)}),
    **CLIENT_ITEMS,
    **dict.fromkeys(_UNCHECKED, anything),
}
_check_tagged_item = tagged(_TYPES)


def kind_of(check_item: dict[str, Any]) -> str:
    """The type of an item. The short forms omit it."""
    implied = "message" if "role" in check_item or "id" not in check_item else "item_reference"
    kind: str = check_item.get("type", implied)
    return kind


def check_item(value: Any, at: str) -> None:
    """One item of the input."""
    if not isinstance(value, dict):
        raise wrong_type(value, "an object", at)
    _check_tagged_item({**value, "type": kind_of(value)}, at)


def check_input(value: Any, at: str) -> None:
    """The whole input. A trigger that is not the last item is refused; the sentence is ours."""
    _text_or(array(check_item))(value, at)
    for index, item in enumerate(value[:-1] if isinstance(value, list) else ()):
        if kind_of(item) == "compaction_trigger":
            place = f"{at}[{index}]"
            raise ResponsesRefusal(f"Invalid '{place}': 'compaction_trigger' must be the last item.", place)
