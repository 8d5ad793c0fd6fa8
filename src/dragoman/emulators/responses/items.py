"""The items of `input`, by type, with the keys each may carry. Items that OpenAI's own tools write keep free keys."""

from __future__ import annotations

import re
from typing import Any

from dragoman.emulators.responses.shape import (
    Check,
    Fault,
    anything,
    array,
    mapping,
    missing,
    mistyped,
    not_offered,
    record,
    sized,
    tagged,
    text,
)
from dragoman.emulators.signatures import is_masked

ROLES = ("assistant", "system", "developer", "user")
_DATA_URL = re.compile(r"data:(?P<mime>[^;,]*)[^,]*;base64,")
_NO_FILES = ("audio/", "video/")


def _image_url(value: Any, at: str) -> None:
    if not isinstance(value, str):
        raise mistyped(value, "an image URL", at)


def _file_data(value: Any, at: str) -> None:
    text(value, at)
    found = _DATA_URL.match(value)
    if found is not None and not found["mime"].startswith(_NO_FILES):
        return
    got = f"unsupported MIME type '{found['mime']}'" if found else "a value without the 'data:' prefix"
    raise Fault(
        f"Invalid file data: '{at}'. Expected a base64-encoded data URL with a valid file MIME type "
        f"(e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got {got}. Please see "
        "https://platform.openai.com/docs/assistants/tools/file-search#supported-files for supported file types.",
        at,
        "invalid_value",
    )


_marked: dict[str, Check] = {"type": anything, "prompt_cache_breakpoint": anything}
_ASKED: dict[str, Check] = {
    "input_text": record({**_marked, "text": text}, required=("text",)),
    "input_image": record({**_marked, "image_url": _image_url, "file_id": text, "detail": text}),
    "input_file": record(
        {**_marked, "file_data": _file_data, "file_id": text, "file_url": text, "filename": text, "detail": text}
    ),
    "input_audio": record({"type": anything, "input_audio": mapping}, required=("input_audio",)),
}
_SAID: dict[str, Check] = {
    "output_text": record(
        {"type": anything, "text": text, "annotations": array(mapping), "logprobs": array(mapping)}, required=("text",)
    ),
    "refusal": record({"type": anything, "refusal": text}, required=("refusal",)),
}
_RESULT = {kind: _ASKED[kind] for kind in ("input_text", "input_image", "input_file")}


def _text_or(parts: Check) -> Check:
    def check(value: Any, at: str) -> None:
        if isinstance(value, str):
            return
        if not isinstance(value, list):
            raise mistyped(value, "one of an array of objects or string", at)
        parts(value, at)

    return check


def _message(value: dict[str, Any], at: str) -> None:
    role = value.get("role")
    if role not in ROLES:
        raise missing(f"{at}.role") if role is None else not_offered(role, ROLES, at)
    said = role == "assistant"
    keys: dict[str, Check] = {
        "type": anything,
        "role": anything,
        "content": _text_or(array(tagged(_SAID if said else _ASKED))),
        "id": _prefixed("msg") if said else text,
        "status": text,
    }
    if said:
        keys["phase"] = text
    record(keys, required=("content",))(value, at)


def _prefixed(prefix: str) -> Check:
    def check(value: Any, at: str) -> None:
        text(value, at)
        if not value.startswith(prefix) and not is_masked(value):
            raise Fault(f"Invalid '{at}': '{value}'. Expected an ID that begins with '{prefix}'.", at, "invalid_value")

    return check


_call: dict[str, Check] = {"type": anything, "call_id": sized(1, 64), "status": text, "caller": mapping}
_function_call = record(
    {
        **_call,
        "id": _prefixed("fc"),
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
        "id": text,
        "name": text,
        "namespace": text,
        "output": _text_or(array(tagged(_RESULT))),
    },
    required=("call_id", "output"),
)
_reasoning = record(
    {
        "type": anything,
        "id": _prefixed("rs"),
        "summary": array(mapping),
        "content": array(mapping),
        "encrypted_content": text,
        "status": text,
    },
    required=("summary",),
)
_LOOSE = (
    "item_reference",
    "custom_tool_call",
    "custom_tool_call_output",
    "additional_tools",
    "compaction",
    "compaction_trigger",
    "configuration_update",
    "web_search_call",
    "file_search_call",
    "computer_call",
    "computer_call_output",
    "code_interpreter_call",
    "image_generation_call",
    "local_shell_call",
    "local_shell_call_output",
    "shell_call",
    "shell_call_output",
    "apply_patch_call",
    "apply_patch_call_output",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "tool_search_call",
    "tool_search_output",
    "program",
    "program_output",
)
_TYPES: dict[str, Check] = {
    "message": _message,
    "function_call": _function_call,
    "function_call_output": _function_call_output,
    "reasoning": _reasoning,
    **dict.fromkeys(_LOOSE, anything),
}
_item = tagged(_TYPES)


def kind_of(item: dict[str, Any]) -> str:
    """The type of an item; the easy forms leave it out."""
    implied = "message" if "role" in item or "id" not in item else "item_reference"
    return item.get("type") or implied


def item(value: Any, at: str) -> None:
    """One item of the input by itself."""
    if not isinstance(value, dict):
        raise mistyped(value, "an object", at)
    _item({**value, "type": kind_of(value)}, at)


def given(value: Any, at: str) -> None:
    """The whole of `input`."""
    _text_or(array(item))(value, at)
