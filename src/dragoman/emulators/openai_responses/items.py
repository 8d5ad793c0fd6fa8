"""The items of `input` by type, with the keys that each may have. Items of tools that OpenAI runs are not checked."""

from __future__ import annotations

import re
from typing import Any

from dragoman.emulators.chat.openai.request_types import array_too_long, bracketed, picture_url
from dragoman.emulators.openai_responses.client_items import CLIENT_ITEMS
from dragoman.emulators.openai_responses.refusals import ResponsesRefusal
from dragoman.emulators.request_shape import (
    MismatchKind,
    Path,
    RecordShape,
    Shape,
    ShapeMismatch,
    anything,
    complete,
    either,
    items,
    mapping,
    nullable,
    one_of,
    tagged,
    text,
    text_up_to,
)
from dragoman.emulators.signatures import is_masked

ROLES = ("assistant", "system", "developer", "user")
_DATA_URL = re.compile(r"data:(?P<mime>[^;,]*+)(?:;[^;,]*+)*?;base64,")
_REFUSED_FILE_TYPES = ("audio/", "video/")


def _file_data(value: Any, path: Path) -> None:
    text(value, path)
    found = _DATA_URL.match(value)
    if found is not None and not found["mime"].startswith(_REFUSED_FILE_TYPES):
        return
    at = bracketed(path)
    got = f"unsupported MIME type '{found['mime']}'" if found else "a value without the 'data:' prefix"
    raise ResponsesRefusal(
        f"Invalid file data: '{at}'. Expected a base64-encoded data URL with a valid file MIME type "
        f"(e.g. 'data:text/plain;base64,SGVsbG8sIFdvcmxkIQ=='), but got {got}. Please see "
        "https://platform.openai.com/docs/assistants/tools/file-search#supported-files for supported file types.",
        at,
        "invalid_value",
    )


_STATUSES = ("in_progress", "completed", "incomplete")
_cacheable: dict[str, Shape] = {"type": anything, "prompt_cache_breakpoint": nullable(mapping)}
# the published type requires `detail`; recorded requests without it were accepted
_INPUT_PARTS: dict[str, Shape] = {
    "input_text": RecordShape({**_cacheable, "text": text}, required=("text",)),
    "input_image": RecordShape(
        {
            **_cacheable,
            "image_url": nullable(picture_url),
            "file_id": nullable(text),
            "detail": one_of("low", "high", "auto", "original"),
        }
    ),
    "input_file": RecordShape(
        {
            **_cacheable,
            "file_data": _file_data,
            "file_id": nullable(text),
            "file_url": text,
            "filename": text,
            "detail": one_of("low", "high", "auto"),
        }
    ),
    "input_audio": complete(type=text, input_audio=mapping),
}
_OUTPUT_PARTS: dict[str, Shape] = {
    "output_text": RecordShape(
        {"type": anything, "text": text, "annotations": items(mapping), "logprobs": items(mapping)}, required=("text",)
    ),
    "refusal": complete(type=text, refusal=text),
}
_RESULT_PARTS = {kind: _INPUT_PARTS[kind] for kind in ("input_text", "input_image", "input_file")}


def _text_or(parts: Shape) -> Shape:
    return either("one of an array of objects or string", text=text, items=parts)


def _check_message(value: Any, path: Path) -> None:
    complete(role=text).opened()(value, path)
    role = value["role"]
    if role not in ROLES:
        raise ShapeMismatch(MismatchKind.TAG, (*path, "role"), role, choices=ROLES)
    is_assistant = role == "assistant"
    keys: dict[str, Shape] = {
        "type": anything,
        "role": anything,
        "content": _text_or(items(tagged("type", _OUTPUT_PARTS if is_assistant else _INPUT_PARTS))),
        "id": _id_with_prefix("msg") if is_assistant else text,
        "status": one_of(*_STATUSES),
    }
    if is_assistant:
        keys["phase"] = nullable(one_of("commentary", "final_answer"))
    RecordShape(keys, required=("content",))(value, path)


def _id_with_prefix(prefix: str) -> Shape:
    def check(value: Any, path: Path) -> None:
        text(value, path)
        at = bracketed(path)
        if not value:
            expected = "Expected an ID that contains letters, numbers, underscores, or dashes, but this value contained"
            raise ResponsesRefusal(f"Invalid '{at}': ''. {expected} additional characters.", at, "invalid_value")
        if not value.startswith(prefix) and not is_masked(value):
            raise ResponsesRefusal(
                f"Invalid '{at}': '{value}'. Expected an ID that begins with '{prefix}'.", at, "invalid_value"
            )

    return check


_call: dict[str, Shape] = {
    "type": anything,
    "call_id": text_up_to(64, nonempty=True),
    "status": nullable(one_of(*_STATUSES)),  # null on a function_call is recorded as accepted
    "caller": nullable(mapping),
}
_function_call = RecordShape(
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
_function_call_output = RecordShape(
    {
        **_call,
        "id": nullable(text),
        "name": nullable(text),
        "namespace": nullable(text),
        "output": _text_or(items(tagged("type", _RESULT_PARTS))),
    },
    required=("call_id", "output"),
)


def _texts(kind: str) -> Shape:
    """A list of texts of one type."""
    return items(tagged("type", {kind: complete(type=text, text=text)}))


def _no_items(value: Any, path: Path) -> None:
    _texts("reasoning_text")(value, path)
    if value:
        raise array_too_long(bracketed(path), 0, value)


# the published type requires `id` and has `status`; recorded requests without an id were accepted, and a status is
# refused with any value
_reasoning = RecordShape(
    {
        "type": anything,
        "id": _id_with_prefix("rs"),
        "summary": _texts("summary_text"),
        "content": _no_items,
        "encrypted_content": nullable(text),
    },
    required=("summary",),
)
_compaction = RecordShape(
    {"type": anything, "id": nullable(text), "encrypted_content": text, "created_by": nullable(text)},
    required=("encrypted_content",),
)
_UNCHECKED = (
    *("item_reference", "custom_tool_call", "custom_tool_call_output", "configuration_update"),
    *("file_search_call", "code_interpreter_call", "image_generation_call", "mcp_list_tools", "mcp_approval_request"),
    *("mcp_approval_response", "mcp_call", "tool_search_call", "tool_search_output", "program", "program_output"),
)
# what else may be there is not known: https://github.com/openai/codex/issues/7073
_search_action = one_of("search", "open_page", "find_in_page")
_TYPES: dict[str, Shape] = {
    "message": _check_message,
    "function_call": _function_call,
    "function_call_output": _function_call_output,
    "reasoning": _reasoning,
    "compaction": _compaction,
    "compaction_trigger": RecordShape({"type": anything, "id": nullable(text)}),
    **CLIENT_ITEMS,
    **dict.fromkeys(_UNCHECKED, anything),
    "web_search_call": RecordShape({"action": nullable(RecordShape({"type": _search_action}, open=True))}, open=True),
}
_check_tagged_item = tagged("type", _TYPES)


def kind_of(check_item: dict[str, Any]) -> str:
    """The type of an item. The short forms omit it."""
    implied = "message" if "role" in check_item or "id" not in check_item else "item_reference"
    kind: str = check_item.get("type", implied)
    return kind


def check_item(value: Any, path: Path) -> None:
    """One item of the input."""
    mapping(value, path)
    _check_tagged_item({**value, "type": kind_of(value)}, path)


def request_input(value: Any, path: Path) -> None:
    """The whole input. A trigger that is not the last item is refused; the sentence is ours."""
    _text_or(items(check_item))(value, path)
    for index, item in enumerate(value[:-1] if isinstance(value, list) else ()):
        if kind_of(item) == "compaction_trigger":
            place = bracketed((*path, index))
            raise ResponsesRefusal(f"Invalid '{place}': 'compaction_trigger' must be the last item.", place)
