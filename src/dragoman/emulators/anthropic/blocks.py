"""The content blocks of a message by type, with the keys that each may have.

The blocks of Anthropic's server tools (search results, code execution) change with every tool version, so only their
main keys are checked.
"""

from __future__ import annotations

import re
from typing import Any

from dragoman.emulators.anthropic.field_checks import (
    array,
    boolean,
    invalid,
    join_path,
    mapping,
    matching,
    non_empty_text,
    one_of,
    record,
    tagged,
    text,
    text_up_to,
    typed,
)
from dragoman.emulators.native_api import FieldCheck, anything, nullable

NAME = r"^[a-zA-Z0-9_-]{1,128}$"
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
SERVER_RESULTS = (
    *("web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result"),
    *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
    *("tool_search_tool_result", "advisor_tool_result", "mcp_tool_result"),
)
SERVER_CALLS = ("server_tool_use", "mcp_tool_use")
SERVER_NOTES = ("compaction", "fallback", "mcp_tool_listing", "browser_state")
SERVER_BLOCKS = (*SERVER_CALLS, *SERVER_RESULTS, *SERVER_NOTES)


def base64_text(value: Any, at: str) -> None:
    """Base64 in the standard alphabet. Clients often send a data URL by mistake."""
    text(value, at)
    if re.fullmatch(r"[A-Za-z0-9+/=\s]*", value) is None:
        raise invalid(at, "Invalid base64 data")


def https_url(value: Any, at: str) -> None:
    """Anthropic only fetches over TLS."""
    text(value, at)
    if not value.startswith("https://"):
        raise invalid(at, "Only HTTPS URLs are supported.")


def called_name(value: Any, at: str) -> None:
    """The name in a call of the history may be longer than that of a declared tool."""
    text_up_to(200)(value, at)
    matching(r"^[a-zA-Z0-9_-]+$")(value, at)


def loose_record(*required: str) -> FieldCheck:
    """An object that must have these keys, and may have others."""
    return record(dict.fromkeys(required, anything), required=required, loose=True)


cache_control: FieldCheck = nullable(
    tagged({"ephemeral": record({"type": anything, "ttl": one_of("5m", "1h"), "scope": text})}, tag_in_path=True)
)
_cached: dict[str, FieldCheck] = {"type": anything, "cache_control": cache_control}
_citations = nullable(record({"enabled": boolean}))

text_block: FieldCheck = record(
    {**_cached, "text": text, "citations": nullable(array(loose_record("type")))}, required=("text",)
)

_image_source = tagged(
    {
        "base64": typed(data=base64_text, media_type=one_of(*IMAGE_TYPES)),
        "url": typed(url=https_url),
        "file": typed(file_id=non_empty_text),
    }
)
image_block: FieldCheck = record(
    {**_cached, "source": _image_source, "transformations": anything}, required=("source",)
)


def _inner_blocks(value: Any, at: str) -> None:
    if isinstance(value, str):
        return
    array(tagged({"text": text_block, "image": image_block}))(value, at)


_document_source = tagged(
    {
        "base64": typed(data=base64_text, media_type=one_of("application/pdf")),
        "text": typed(data=text, media_type=one_of("text/plain")),
        "content": typed(content=_inner_blocks),
        "url": typed(url=https_url),
        "file": typed(file_id=non_empty_text),
    }
)
document_block: FieldCheck = record(
    {
        **_cached,
        "source": _document_source,
        "citations": _citations,
        "context": nullable(text),
        "title": nullable(text),
    },
    required=("source",),
)
search_result_block: FieldCheck = record(
    {
        **_cached,
        "content": array(tagged({"text": text_block})),
        "source": text,
        "title": text,
        "citations": _citations,
    },
    required=("content", "source", "title"),
)

_result_content = array(
    tagged(
        {
            "text": text_block,
            "image": image_block,
            "document": document_block,
            "search_result": search_result_block,
            "tool_reference": record({**_cached, "tool_name": text}, required=("tool_name",)),
        }
    ),
    nonempty=True,
)


def _result_value(value: Any, at: str) -> None:
    if not isinstance(value, str):
        _result_content(value, at)


tool_result_block: FieldCheck = record(
    {
        **_cached,
        "tool_use_id": matching(r"^[a-zA-Z0-9_-]+$"),
        "content": _result_value,
        "is_error": boolean,
        "toolset_name": nullable(text),
    },
    required=("tool_use_id",),
)
tool_use_block: FieldCheck = record(
    {
        **_cached,
        "id": matching(r"^[a-zA-Z0-9_-]+$"),
        "input": mapping,
        "name": called_name,
        "caller": nullable(loose_record("type")),
        "toolset_name": nullable(text),
    },
    required=("id", "input", "name"),
)
thinking_block: FieldCheck = typed(thinking=text, signature=text)
redacted_block: FieldCheck = typed(data=text)

CONTENT: dict[str, FieldCheck] = {
    "text": text_block,
    "image": image_block,
    "document": document_block,
    "search_result": search_result_block,
    "tool_result": tool_result_block,
    "tool_use": tool_use_block,
    "thinking": thinking_block,
    "redacted_thinking": redacted_block,
    "container_upload": record({**_cached, "file_id": non_empty_text}, required=("file_id",)),
    **dict.fromkeys(SERVER_CALLS, loose_record("id", "name", "input")),
    **dict.fromkeys(SERVER_RESULTS, loose_record("tool_use_id")),
    **dict.fromkeys(SERVER_NOTES, loose_record()),
    "tool_addition": loose_record("tool"),
    "tool_removal": loose_record("tool"),
}

_block = tagged(CONTENT)


def content(value: Any, at: str) -> None:
    """The content of a message: text or blocks."""
    if isinstance(value, str):
        return
    array(_block)(value, at)


def message(value: Any, at: str) -> None:
    """One message: `role` and `content`, and two keys for directives if the role is system."""
    if not isinstance(value, dict):
        raise invalid(at, "Input does not match the expected shape.")
    keys: dict[str, FieldCheck] = {"role": text, "content": content}
    required = ["role", "content"]
    if value.get("role") == "system":
        keys |= {"output_config": anything, "clear_at": anything}
        required.remove("content")
    record(keys, required=required)(value, at)
    if value["role"] not in ("user", "assistant", "system"):
        raise invalid(at.split(".")[0], f'Unexpected role "{value["role"]}". Allowed roles are "user" or "assistant"')


def system(value: Any, at: str) -> None:
    """The system prompt: text or text blocks."""
    if isinstance(value, str):
        return
    if not isinstance(value, list):
        raise invalid(at, "Input should be a valid array")
    for index, block in enumerate(value):
        tagged({"text": text_block}, tag_in_path=False)(block, join_path(at, index))
        if block["text"] == "" and block.get("cache_control"):
            raise invalid(join_path(at, index), "cache_control cannot be set for empty text blocks")
