"""A part in the form of any dialect, read for what it means.

It may be a text, media, a call, a result or a thought. What none of the dialects has is not guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from dragoman.conversation.literals import EMPTY, quote
from dragoman.conversation.parts import (
    CacheHint,
    Call,
    Inline,
    Json,
    Media,
    MediaKind,
    Part,
    Plain,
    Reasoning,
    Remote,
    Result,
    Stored,
    Text,
)
from dragoman.dialects.shared.parsing import OPENAI_FILES, link_literal
from dragoman.dialects.shared.raw_json import (
    NULL,
    Fields,
    as_text,
    fields_of,
    first_of,
    items_of,
    parse_embedded_object,
    text_of,
)
from dragoman.wire.media_types import type_of_url

_IDS = ("tool_use_id", "tool_call_id", "call_id", "toolUseId", "toolCallId")
_NAMES = ("name", "tool_name", "toolName")
_ARGUMENTS = ("arguments", "args", "input", "parameters")
_RESULTS = ("content", "output", "response", "result")
_CALL_WRAPPERS = ("functionCall", "function_call", "toolUse", "tool_use", "function")
_RESULT_WRAPPERS = ("functionResponse", "function_response", "toolResult", "tool_result")


def parse_part_of_any(raw: Json) -> Part | None:
    """The part that is meant, or None if that is not clear. A bare string or number is a text."""
    if raw[:1] == b'"':
        return Text(raw)
    fields = fields_of(raw)
    if fields is None:
        return None
    kind = text_of(first_of(fields, ("type", "block_type"))).replace("-", "_")
    reader = READERS.get(kind)
    if reader is not None:
        return reader(fields)
    return _parse_wrapped(fields) if kind else _parse_untyped(fields)


def _parse_untyped(fields: Fields) -> Part | None:
    """A part without a type of its own: its members show what it is."""
    part = _parse_wrapped(fields) or _parse_thought_mark(fields)
    if part is not None:
        return part
    if not fields.keys().isdisjoint(_IDS) and not fields.keys().isdisjoint(_RESULTS):
        return parse_any_result(fields)
    if "name" in fields and ("arguments" in fields or "args" in fields):
        return parse_any_call(fields)
    if "image_url" in fields:
        return _parse_image(fields)
    kind = kind_of_source(fields)
    return READERS[kind](fields) if kind else _parse_text(fields)


def _parse_wrapped(fields: Fields) -> Part | None:
    """A part that stands in a member of its name."""
    return _parse_wrapped_call(fields) or _parse_wrapped_result(fields) or _parse_blob(fields)


def _parse_text(fields: Fields) -> Part | None:
    literal = fields.get("text", b"")
    if literal == b"" and text_of(fields.get("type")) == "text":
        literal = first_of(fields, ("data", "content")) or b""
    elif literal == NULL and "type" in fields:
        literal = EMPTY
    elif literal[:1] != b'"':
        literal = odd_text(literal) or b""
    return Text(literal, hint=_hint(fields)) if literal[:1] == b'"' else None


def odd_text(raw: Json) -> Json | None:
    """A text in an object or in a list of one, or a number in its place."""
    fields, items = fields_of(raw), items_of(raw)
    if fields is not None:
        return first_of(fields, ("value", "text"))
    if items is not None:
        return items[0] if len(items) == 1 else None
    return as_text(raw) if raw not in (b"", NULL) else None


def _parse_thought_mark(fields: Fields) -> Part | None:
    """Gemini's thought: a text with a mark."""
    if fields.get("thought") != b"true" or fields.get("text", b"")[:1] != b'"':
        return None
    return Reasoning(text=Text(fields["text"]), field="reasoning_content")


def _parse_thinking(fields: Fields) -> Part | None:
    literal = first_of(fields, ("thinking", "reasoning", "text")) or _list_words(fields)
    if literal is None or literal[:1] != b'"':
        return None
    return Reasoning(text=Text(literal), field="reasoning_content")


def _list_words(fields: Fields) -> Json | None:
    """The words of an item of Responses: its own, or those of its summary, which may be none."""
    for key in ("content", "summary"):
        words = [text_of((fields_of(one) or {}).get("text")) for one in items_of(fields.get(key)) or ()]
        if any(words):
            return quote("\n\n".join(words))
    return EMPTY if "summary" in fields else None


def _hint(fields: Fields) -> CacheHint | None:
    raw = fields.get("cache_control", NULL)
    return None if raw == NULL else CacheHint(raw)


# calls and results


def _parse_wrapped_call(fields: Fields) -> Part | None:
    if fields.keys().isdisjoint(_CALL_WRAPPERS):
        return None
    for key in _CALL_WRAPPERS:
        inner = fields_of(fields.get(key))
        if inner is not None and first_of(inner, _NAMES) is not None:
            return parse_any_call({**fields, **inner})
    return None


def parse_any_call(fields: Fields) -> Call | None:
    """A call in any form. Its id is empty if it has none."""
    for key in _CALL_WRAPPERS:
        fields = {**fields, **(fields_of(fields.get(key)) or {})}
    name = text_of(first_of(fields, _NAMES))
    if not name:
        return None
    identity = _parse_id(first_of(fields, ("call_id", "id", *_IDS)))
    return Call(identity, name, parse_any_arguments(first_of(fields, _ARGUMENTS)), hint=_hint(fields))


def _parse_id(raw: Json | None) -> str:
    """An id: a text or a number; empty if it is neither."""
    return raw.decode() if raw is not None and raw.isdigit() else text_of(raw)


def parse_any_arguments(raw: Json | None) -> Json:
    """Arguments as an object, or as a string if they are no object."""
    if raw is None or raw in (NULL, EMPTY):
        return b"{}"
    if raw[:1] != b'"':
        return raw if raw[:1] == b"{" else as_text(raw)
    return parse_embedded_object(raw) or raw


def _parse_wrapped_result(fields: Fields) -> Part | None:
    if fields.keys().isdisjoint(_RESULT_WRAPPERS):
        return None
    for key in _RESULT_WRAPPERS:
        inner = fields_of(fields.get(key))
        if inner is not None:
            return parse_any_result({**fields, **inner, "type": NULL})
    return None


def parse_any_result(fields: Fields) -> Result:
    """A result in any form. Its id is empty if it has none, and it may have no parts."""
    identity = _parse_id(first_of(fields, _IDS if text_of(fields.get("type")) else (*_IDS, "id")))
    failed = fields.get("is_error") == b"true" or fields.get("isError") == b"true" or fields.get("status") == b'"error"'
    name = text_of(first_of(fields, _NAMES)) or None
    parts = parse_result_content(first_of(fields, _RESULTS))
    return Result(identity, parts, failed, name, hint=_hint(fields))


def parse_result_content(raw: Json | None) -> tuple[Part, ...]:
    """What a tool gave back: texts and media. Anything else is the text of its JSON."""
    if raw is None or raw == NULL:
        return ()
    items = items_of(raw)
    if items is None:
        return (_parse_piece(raw) or Text(as_text(raw)),)
    pieces = [_parse_piece(item) for item in items]
    found = tuple([piece for piece in pieces if piece is not None])
    return found if len(found) == len(pieces) else (Text(as_text(raw)),)


def fits_items(raw: Json, fits: Callable[[Json], bool]) -> bool:
    """Whether every item of a list fits, or is of a kind that is not known here and may be newer than this."""
    items = items_of(raw)
    return bool(items) and all(fits(item) or _is_newer(item) for item in items or ())


def _is_newer(item: Json) -> bool:
    fields = fields_of(item)
    kind = text_of(fields.get("type")) if fields is not None else ""
    return kind != "" and kind.replace("-", "_") not in READERS


def _parse_piece(raw: Json) -> Part | None:
    """A text or media; of an object `{"output": "text"}` the text."""
    fields = fields_of(raw)
    if fields is not None and len(fields) == 1 and fields.get("output", b"")[:1] == b'"':
        return Text(fields["output"])
    part = parse_part_of_any(raw) if fields is None or _is_part(fields) else None
    return part if isinstance(part, (Text, Media)) else None


def _is_part(fields: Fields) -> bool:
    """Whether an object is a part and not a value that happens to have a member `text`."""
    return (
        text_of(fields.get("type")) in READERS
        or fields.keys() == {"text"}
        or not fields.keys().isdisjoint(_BLOBS)
        or kind_of_source(fields) != ""
    )


# media


def _parse_image(fields: Fields) -> Part | None:
    return _parse_media(fields, MediaKind.IMAGE, ("image_url", "imageUrl", "image", "url"))


def parse_picture(raw: Json) -> Media | None:
    """A picture beside the content: its bytes in base64, a link, or a part."""
    if raw[:1] != b'"':
        part = parse_part_of_any(raw)
        return part if type(part) is Media else None
    if raw.startswith((b'"data:', b'"http:', b'"https:')):
        return Media(MediaKind.IMAGE, link_literal(raw))
    if _BASE64.match(raw[1:_LOOKED_AT]) is None:
        return None
    form = next((name for head, name in _PICTURES if raw.startswith(head)), "png")
    return Media(MediaKind.IMAGE, Inline(f"image/{form}", raw))


_PICTURES = ((b'"/9j/', "jpeg"), (b'"R0lGOD', "gif"), (b'"UklGR', "webp"))
"""How the bytes of each format begin in base64. Others are taken for the usual one."""
_LOOKED_AT = 256
_BASE64 = re.compile(rb'[A-Za-z0-9+/]{4,}={0,2}"?$')


def _parse_document(fields: Fields) -> Part | None:
    raw = fields.get("file", b"")
    file = fields_of(parse_embedded_object(raw) if raw[:1] == b'"' else raw)
    inner = file if file is not None else fields
    return _parse_media({**inner, "type": NULL}, MediaKind.DOCUMENT, ("document_url", "file_data", "file_url", "url"))


def _parse_bytes(fields: Fields) -> Part | None:
    """Bytes of the kind that their media type says."""
    source = _parse_flat_bytes(fields)
    return None if source is None else Media(MediaKind.of(source.media_type), source, hint=_hint(fields))


def _parse_resource(fields: Fields) -> Part | None:
    """What a tool of MCP found: a text, or bytes with their media type."""
    inner = fields_of(fields.get("resource")) or {}
    text, blob = inner.get("text", b""), inner.get("blob", b"")
    if blob[:1] == b'"':
        return _parse_bytes({**inner, "data": blob})
    return Text(text) if text[:1] == b'"' else None


def _parse_json(fields: Fields) -> Part | None:
    """A value as a result: the text of its JSON."""
    return Text(as_text(fields["json"])) if fields.get("json", NULL) != NULL else None


def _parse_audio(fields: Fields) -> Part | None:
    if "input_audio" not in fields and first_of(fields, _MEDIA_TYPES) is not None:
        return _parse_bytes(fields)
    raw = fields.get("input_audio", NULL)
    inner = fields_of(parse_embedded_object(raw) if raw[:1] == b'"' else raw) or fields
    content = inner.get("data", b"")
    if content.startswith(b'"data:') and isinstance(linked := link_literal(content), Inline):
        content = linked.data
    if content[:1] != b'"':
        return None
    form = text_of(inner.get("format")) or next((name for head, name in _SOUNDS if content.startswith(head)), "")
    return Media(MediaKind.AUDIO, Inline(f"audio/{_AUDIO.get(form, form)}", content), hint=_hint(fields))


_AUDIO = {"mp3": "mpeg"}
_SOUNDS = ((b'"UklGR', "wav"), (b'"SUQz', "mp3"), (b'"//', "mp3"), (b'"T2dnUw', "ogg"), (b'"ZkxhQ', "flac"))
"""How the bytes of each format begin in base64."""


def _parse_media(fields: Fields, kind: MediaKind, links: tuple[str, ...]) -> Part | None:
    source = _parse_source(fields_of(fields.get("source"))) or _parse_link(fields, links) or _parse_flat_bytes(fields)
    if source is None:
        return None
    title = text_of(first_of(fields, ("filename", "title"))) or None
    wrapper = fields_of(first_of(fields, ("image_url", "imageUrl"))) or fields
    detail = text_of(wrapper.get("detail")) or None
    return Media(kind, source, title, detail if kind is MediaKind.IMAGE else None, hint=_hint(fields))


def _parse_link(fields: Fields, links: tuple[str, ...]) -> Inline | Remote | Stored | None:
    raw = first_of(fields, links)
    inner = fields_of(raw)
    literal = inner.get("url") if inner is not None else raw
    if literal is not None and literal[:1] == b'"' and literal != EMPTY:
        return link_literal(literal)
    file_id = text_of(fields.get("file_id"))
    return Stored(file_id, OPENAI_FILES) if file_id else None


def kind_of_source(fields: Fields) -> str:
    """What media with a source are, `image` or `document`, by their media type; empty if nothing tells."""
    source = _parse_source(fields_of(fields.get("source")))
    if type(source) is Remote:
        found = type_of_url(source.url)
        return MediaKind.of(found).value if found.startswith(("image/", "application/")) else ""
    if source is None:
        return ""
    return "image" if type(source) is Inline and source.media_type.startswith("image/") else "document"


def _parse_source(fields: Fields | None) -> Inline | Remote | Plain | None:
    """Anthropic's source of media. A stored file has meaning for its own provider only."""
    if fields is None:
        return None
    content = fields.get("data", b"")
    if content[:1] == b'"' and text_of(fields.get("type")) == "text":
        return Plain(content)
    if content[:1] == b'"':
        return _parse_flat_bytes(fields)
    url = fields.get("url", b"")
    return link_literal(url) if url[:1] == b'"' else None


_MEDIA_TYPES = ("media_type", "mediaType", "mime_type", "mimeType")


def _parse_flat_bytes(fields: Fields) -> Inline | None:
    """Bytes that stand beside their media type, as MCP and LangChain write them, or a data URL in their place."""
    content = first_of(fields, ("data", "base64")) or b""
    if content.startswith(b'"data:'):
        linked = link_literal(content)
        return linked if isinstance(linked, Inline) else None
    media_type = text_of(first_of(fields, _MEDIA_TYPES))
    return Inline(media_type, content) if content[:1] == b'"' and media_type else None


_BLOBS = ("inlineData", "inline_data", "fileData", "file_data")


def _parse_blob(fields: Fields) -> Part | None:
    """Gemini's media: bytes or a file, with their media type."""
    blob = fields_of(first_of(fields, _BLOBS))
    if blob is None:
        return None
    media_type = text_of(first_of(blob, ("mimeType", "mime_type")))
    content, uri = blob.get("data", b""), first_of(blob, ("fileUri", "file_uri")) or b""
    if content[:1] == b'"':
        return Media(MediaKind.of(media_type), Inline(media_type, content))
    return Media(MediaKind.of(media_type), Remote(text_of(uri), media_type)) if uri[:1] == b'"' else None


READERS: dict[str, Callable[[Fields], Part | None]] = {
    "text": _parse_text,
    "input_text": _parse_text,
    "output_text": _parse_text,
    "image_url": _parse_image,
    "input_image": _parse_image,
    "image": _parse_image,
    "document": _parse_document,
    "document_url": _parse_document,
    "input_file": _parse_document,
    "file": _parse_document,
    "imageUrl": _parse_image,
    "input_audio": _parse_audio,
    "audio": _parse_audio,
    "media": _parse_bytes,
    "resource": _parse_resource,
    "json": _parse_json,
    "thinking": _parse_thinking,
    "reasoning": _parse_thinking,
    "tool_use": parse_any_call,
    "tool_call": parse_any_call,
    "function_call": parse_any_call,
    "function": parse_any_call,
    "tool_result": parse_any_result,
    "function_call_output": parse_any_result,
}

CALL_KEYS = frozenset(
    {
        *("type", "id", "call_id", "name", "arguments", "args", "input", "parameters", "function", "custom"),
        *("functionCall", "function_call", "toolUse", "tool_use", "toolName", "toolCallId", "cache_control"),
    }
)
CONSUMED = CALL_KEYS | {
    *("text", "value", "image_url", "image", "detail", "source", "file", "file_data", "file_url", "file_id"),
    *("filename", "title", "input_audio", "data", "format", "document_url", "url", "inlineData", "inline_data"),
    *("fileData", "tool_use_id", "tool_call_id", "toolUseId", "tool_name", "functionResponse", "function_response"),
    *("toolResult", "tool_result", "content", "output", "response", "result", "is_error", "isError", "status"),
    *("thinking", "thought", "reasoning", "annotations", "imageUrl", "base64", "source_type", "resource", "json"),
    *("media_type", "mediaType", "mime_type", "mimeType", "block_type"),
}
"""Members of parts that are read. What else stands in a part of another dialect is left out, and noted."""
