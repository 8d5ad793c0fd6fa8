"""Words in place of parts that a target does not take: media, and blocks of a provider's own.

A server tool's call and its result, a summary, a passage that was found: other models can read them. What only the
provider can read (encrypted content, signatures, bytes) and what only it needs (ids, marks) is left out.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

import msgspec

from dragoman.conversation.changes import Loss
from dragoman.conversation.literals import prefix_literal, quote, unquote
from dragoman.conversation.parts import Inline, Json, Media, MediaKind, Opaque, Plain, Remote, Stored, Text
from dragoman.rules.rewriting import Swap


def put_in_words(part: Media) -> Swap:
    """A text in place of media: that of a document which is text, else a line that says what was there."""
    plain = part.source if isinstance(part.source, Plain) else read_text_file(part)
    if plain is None:
        return Swap((Text(quote(_stand_in(part))),), f"put a line of text in place of {with_article(part.kind)}")
    head = f"[{part.kind.value}: {part.title}]\n" if part.title else ""
    return Swap(
        (Text(prefix_literal(head, plain.literal)),), f"turned {with_article(part.kind)} into text", Loss.NOTHING
    )


def read_text_file(part: Media) -> Plain | None:
    """The text of a file that holds nothing else; None for all other files."""
    source = part.source
    if not isinstance(source, Inline) or not _is_text(source.media_type):
        return None
    try:
        return Plain(quote(b64decode(unquote(source.data), validate=True).decode()))
    except ValueError:
        return None


def _is_text(media_type: str) -> bool:
    name = media_type.partition(";")[0].strip().lower()
    return name.startswith("text/") or name in _TEXTS


_TEXTS = (
    "image/svg+xml",
    "application/json",
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/toml",
)


def _stand_in(part: Media) -> str:
    match part.source:
        case Remote(url):
            return f"[{part.kind.value}: {url}]"
        case Inline(media_type, _):
            words = part.title or media_type
            return f"[{part.kind.value}: {words}]"
        case Stored(identity):
            return f"[{part.kind.value}: {part.title or identity}]"
    return f"[{part.kind.value}]"


def with_article(kind: MediaKind) -> str:
    return ("an " if kind.value[0] in "aeiou" else "a ") + kind.value


_UNREADABLE = frozenset(
    {
        *("type", "id", "tool_use_id", "call_id", "cache_control", "caller", "signature", "thoughtSignature"),
        *("encrypted_content", "encrypted_index", "encrypted_stdout", "thought_signature", "content_index", "status"),
        "enabled",
    }
)
LISTINGS = frozenset({"mcp_list_tools", "mcp_tool_listing"})
"""What a server of tools has. The request declares the server again, so that nothing is lost with them."""
THOUGHTS = frozenset({"thinking", "redacted_thinking", "reasoning"})
MARKS = frozenset({"cachePoint"})
"""What says something of the parts before it. One with no part before it stands as a block of its own."""
_UNSAID = frozenset({*LISTINGS, *THOUGHTS, *MARKS, "tool_search_output", "tool_addition", "tool_removal"})
"""Kinds whose words would mislead the target: tools that it cannot call, and thoughts, which nobody said."""
_PAYLOADS = frozenset({"data", "bytes", "file_data", "fileData", "b64_json"})
"""Members that hold what is shown or heard. A text there has a space, or letters that no encoding uses."""
_FORMS = frozenset({"media_type", "mime_type", "mimeType", "format", "detail"})
"""Members that say how a payload is written. Alone they say nothing of what it shows."""
_BYTES = re.compile(r"(?:data:[^,]{1,256},)?[A-Za-z0-9+/_-]{96,}={0,2}")


class BlockWords(msgspec.Struct, frozen=True):
    """What a block says."""

    literal: Json
    """The text as a JSON literal."""
    whole: bool
    """Whether no payload, such as the bytes of a picture, was left out."""


def block_words(block: Opaque) -> BlockWords | None:
    """The text of a block, or None if it has no words: then a request of nothing else is refused, not sent."""
    if block.kind in _UNSAID:
        return None
    values = list(_values(msgspec.json.decode(block.json)))
    found = [(name, text) for name, text in values if not _is_payload(name, text)]
    if all(name in _FORMS for name, _ in found):
        return None
    lines = [text if len(found) == 1 or not name else f"{name}: {text}" for name, text in found]
    return BlockWords(quote("\n".join([f"[{block.kind}]", *lines])), len(found) == len(values))


def _is_payload(name: str, text: str) -> bool:
    """Whether a value is a picture's bytes or the like, which no model can read as words."""
    return _BYTES.fullmatch(text) is not None or (name in _PAYLOADS and text.isascii() and " " not in text)


def _values(block: Any) -> Iterator[tuple[str, str]]:
    """Every value that may be read with the name of its member, in order. A stack, since blocks may be deep."""
    waiting: list[tuple[str, Any]] = [("", block)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(key, inner) for key, inner in reversed(value.items()) if key not in _UNREADABLE]
        elif isinstance(value, list):
            waiting += [(name, inner) for inner in reversed(value)]
        elif isinstance(value, str) and value.strip():
            yield name, value
        elif value is not None and not isinstance(value, str):
            yield name, msgspec.json.encode(value).decode()
