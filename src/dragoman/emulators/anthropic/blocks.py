"""The content blocks of a message by type, with the keys that each may have.

The blocks of Anthropic's server tools (search results, code execution) change with every tool version, so only their
main keys are checked.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from dragoman.emulators.anthropic.refusals import by_type, invalid, items_of, mapping, record, typed
from dragoman.emulators.request_shape import (
    Path,
    Shape,
    anything,
    boolean,
    both,
    filled,
    matching,
    nullable,
    one_of,
    tagged,
    text,
    text_up_to,
)

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


def base64_text(value: Any, path: Path) -> None:
    """Base64 in the standard alphabet. Clients often send a data URL by mistake."""
    text(value, path)
    if re.fullmatch(r"[A-Za-z0-9+/=\s]*", value) is None:
        raise invalid(path, "Invalid base64 data")


def https_url(value: Any, path: Path) -> None:
    """Anthropic only fetches over TLS."""
    text(value, path)
    if not value.startswith("https://"):
        raise invalid(path, "Only HTTPS URLs are supported.")


_id = matching(r"^[a-zA-Z0-9_-]+$")
called_name = both(text_up_to(200), _id)
"""The name in a call of the history may be longer than that of a declared tool."""


def loose_record(*required: str) -> Shape:
    """An object that must have these keys, and may have others."""
    return record(dict.fromkeys(required, anything), required=required, open=True)


cache_control: Shape = nullable(
    by_type({"ephemeral": record({"type": anything, "ttl": one_of("5m", "1h"), "scope": text})})
)
_cached: dict[str, Shape] = {"type": anything, "cache_control": cache_control}
_citations = nullable(record({"enabled": boolean}))

text_block: Shape = record(
    {**_cached, "text": text, "citations": nullable(items_of(loose_record("type")))}, required=("text",)
)

_MAGIC = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)
_typed_image = typed(data=base64_text, media_type=one_of(*IMAGE_TYPES))


def _image_bytes(value: Any, path: Path) -> None:
    """Bytes that begin as another type than it is given under. Of others nobody knows what they are."""
    _typed_image(value, path)
    head = base64.b64decode(value["data"][:16] + "===", validate=False)
    shown = next((name for magic, name in _MAGIC if head.startswith(magic)), value["media_type"])
    if shown != value["media_type"]:
        raise invalid(
            path,
            f"The image was specified using the {value['media_type']} media type, but the image appears to be a "
            f"{shown} image",
        )


_image_source = by_type(
    {
        "base64": _image_bytes,
        "url": typed(url=https_url),
        "file": typed(file_id=filled),
    }
)
image_block: Shape = record({**_cached, "source": _image_source, "transformations": anything}, required=("source",))


def _text_or(blocks: Shape) -> Shape:
    """Text, or blocks."""
    return lambda value, path: None if isinstance(value, str) else blocks(value, path)


_inner_blocks = _text_or(items_of(by_type({"text": text_block, "image": image_block})))
_document_source = by_type(
    {
        "base64": typed(data=base64_text, media_type=one_of("application/pdf")),
        "text": typed(data=text, media_type=one_of("text/plain")),
        "content": typed(content=_inner_blocks),
        "url": typed(url=https_url),
        "file": typed(file_id=filled),
    }
)
document_block: Shape = record(
    {
        **_cached,
        "source": _document_source,
        "citations": _citations,
        "context": nullable(text),
        "title": nullable(text),
    },
    required=("source",),
)
search_result_block: Shape = record(
    {
        **_cached,
        "content": items_of(by_type({"text": text_block})),
        "source": text,
        "title": text,
        "citations": _citations,
    },
    required=("content", "source", "title"),
)

_result_content = items_of(
    by_type(
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


tool_result_block: Shape = record(
    {
        **_cached,
        "tool_use_id": _id,
        "content": _text_or(_result_content),
        "is_error": boolean,
        "toolset_name": nullable(text),
    },
    required=("tool_use_id",),
)
tool_use_block: Shape = record(
    {
        **_cached,
        "id": _id,
        "input": mapping,
        "name": called_name,
        "caller": nullable(loose_record("type")),
        "toolset_name": nullable(text),
    },
    required=("id", "input", "name"),
)
thinking_block: Shape = typed(thinking=text, signature=text)
redacted_block: Shape = typed(data=text)

CONTENT: dict[str, Shape] = {
    "text": text_block,
    "image": image_block,
    "document": document_block,
    "search_result": search_result_block,
    "tool_result": tool_result_block,
    "tool_use": tool_use_block,
    "thinking": thinking_block,
    "redacted_thinking": redacted_block,
    "container_upload": record({**_cached, "file_id": filled}, required=("file_id",)),
    **dict.fromkeys(SERVER_CALLS, loose_record("id", "name", "input")),
    **dict.fromkeys(SERVER_RESULTS, loose_record("tool_use_id")),
    **dict.fromkeys(SERVER_NOTES, loose_record()),
    "tool_addition": loose_record("tool"),
    "tool_removal": loose_record("tool"),
}

content = _text_or(items_of(by_type(CONTENT)))
"""The content of a message."""


def message(value: Any, path: Path) -> None:
    """One message: `role` and `content`, and two keys for directives if the role is system."""
    if not isinstance(value, dict):
        raise invalid(path, "Input does not match the expected shape.")
    keys: dict[str, Shape] = {"role": text, "content": content}
    required: tuple[str, ...] = ("role", "content")
    if value.get("role") == "system":
        keys |= {"output_config": anything, "clear_at": anything}
        required = ("role",)
    record(keys, required=required)(value, path)
    if value["role"] not in ("user", "assistant", "system"):
        raise invalid(path[:1], f'Unexpected role "{value["role"]}". Allowed roles are "user" or "assistant"')


def _system_block(value: Any, path: Path) -> None:
    tagged("type", {"text": text_block})(value, path)
    if value["text"] == "" and value.get("cache_control"):
        raise invalid(path, "cache_control cannot be set for empty text blocks")


system = _text_or(items_of(_system_block))
"""The system prompt."""
