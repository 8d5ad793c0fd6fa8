"""What a tool of a server answers: the text that a model reads, and the media beside it. It is data of strangers."""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator, Sequence
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

from dragoman.conversation.literals import quote
from dragoman.conversation.parts import Inline, Media, MediaKind
from dragoman.gateway.tools.found_text import hide

_KINDS = {"image": MediaKind.IMAGE, "audio": MediaKind.AUDIO}
_TYPE = re.compile(r"(image|audio)/[a-z0-9][a-z0-9.+-]{0,60}|application/pdf")


def read_result(result: CallToolResult, secrets: Sequence[str] = ()) -> tuple[str, tuple[Media, ...]]:
    """All of its content, without the secrets of the server. Media is named in the text with its type and size; what is
    of another kind, or no base64, is only named. A link is named and never followed."""
    found = list(_read(result.content, secrets))
    if not found and result.structured_content is not None:
        return hide(msgspec.json.encode(result.structured_content).decode(), secrets), ()
    return hide("\n".join([text for text, _ in found]), secrets), tuple([one for _, one in found if one is not None])


def _read(content: list[Any], secrets: Sequence[str]) -> Iterator[tuple[str, Media | None]]:
    for block in content:
        match block:
            case TextContent():
                yield block.text, None
            case ImageContent() | AudioContent():
                yield _read_media(block.type, block.mime_type, block.data, secrets)
            case EmbeddedResource(resource=TextResourceContents() as resource):
                yield resource.text, None
            case EmbeddedResource(resource=BlobResourceContents() as resource):
                yield _read_media(str(resource.uri), resource.mime_type, resource.blob, secrets)
            case ResourceLink():
                about = f" ({block.description})" if block.description else ""
                yield f"{block.title or block.name}: {block.uri}{about}", None


def _read_media(name: str, mime_type: str | None, base64: str, secrets: Sequence[str]) -> tuple[str, Media | None]:
    what = f"{name}: {mime_type or 'unknown type'}, {len(base64) * 3 // 4} bytes"
    found = _TYPE.fullmatch(mime_type or "")
    if found is None or not _is_base64(base64) or hide(base64, secrets) != base64:
        return f"[{what}, not shown]", None
    kind = _KINDS.get(found[1], MediaKind.DOCUMENT)
    return f"[{what}]", Media(kind=kind, source=Inline(found[0], quote(base64)))


def _is_base64(text: str) -> bool:
    try:
        return bool(b64decode(text, validate=True))
    except ValueError:
        return False
