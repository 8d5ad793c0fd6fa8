"""What a tool of a server answers, as the text that a model reads. It is data of strangers, and stays text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)


def render_result(result: CallToolResult) -> str:
    """All of its content. What is no text is named with its type and size; a link is named and never followed."""
    texts = list(_texts(result.content))
    if not texts and result.structured_content is not None:
        return msgspec.json.encode(result.structured_content).decode()
    return "\n".join(texts)


def _texts(content: list[Any]) -> Iterator[str]:
    for block in content:
        match block:
            case TextContent():
                yield block.text
            case ImageContent() | AudioContent():
                yield _note(block.type, block.mime_type, block.data)
            case EmbeddedResource(resource=TextResourceContents() as resource):
                yield resource.text
            case EmbeddedResource(resource=BlobResourceContents() as resource):
                yield _note(str(resource.uri), resource.mime_type, resource.blob)
            case ResourceLink():
                about = f" ({block.description})" if block.description else ""
                yield f"{block.title or block.name}: {block.uri}{about}"


def _note(what: str, mime_type: str | None, base64: str) -> str:
    return f"[{what}: {mime_type or 'unknown type'}, {len(base64) * 3 // 4} bytes, not shown]"
