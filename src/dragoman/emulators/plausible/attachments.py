"""What a model says of a picture, a document or a recording: enough to see whether it arrived whole."""

from __future__ import annotations

import binascii
import re
import struct
from base64 import b64decode
from typing import Any

_PDF_TEXT = re.compile(rb"\(([^()\\]{1,200})\)\s{0,3}Tj")
_SEARCHED = 200_000
"""Bytes of a document that are searched for its words."""
_WORDS = 12
_URL_SAFE = str.maketrans("-_", "+/")
"""The alphabet of base64 for URLs, which Google's clients write."""
_HOLDERS = ("image", "document", "input_image", "input_file", "image_url", "document_url")
_STARTS = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF", "application/pdf"),
    (b"ID3", "audio/mpeg"),
)


def describe_attachment(part: dict[str, Any]) -> str:
    """One sentence about what a part of a message has attached. Empty if it has nothing."""
    inner = _inner(part)
    if inner is None:
        return ""
    text: Any = inner.get("text")
    source = inner.get("source")
    if isinstance(source, dict):
        inner = {**inner, **source}
        text = source.get("text") or (source.get("data") if source.get("type") == "text" else None)
    if isinstance(text, str):
        return f"The document begins with: {_first_words(text)}."
    link = _link(inner)
    declared = str(inner.get("media_type") or inner.get("mimeType") or inner.get("format") or "")
    if link.startswith("data:"):
        head, _, encoded = link.partition(",")
        return _describe_bytes(encoded, head[5:].partition(";")[0])
    if link:
        return f"There is an attachment at {link[:200]}."
    data = next((inner[key] for key in ("data", "bytes", "file_data") if isinstance(inner.get(key), str)), "")
    return _describe_bytes(data, declared) if data else "There is an attachment that I cannot open."


def _inner(part: dict[str, Any]) -> dict[str, Any] | None:
    """The member that holds what is attached."""
    if part.get("type") in _HOLDERS or part.keys() == {"data"}:
        return part
    names = ("inlineData", "inline_data", "fileData", "file_data", "image", "document", "input_audio", "file", "video")
    return next((part[name] for name in names if isinstance(part.get(name), dict)), None)


def _link(inner: dict[str, Any]) -> str:
    for key in ("image_url", "document_url", "url", "fileUri", "file_uri", "file_url", "file_data"):
        value = inner.get(key)
        value = value.get("url") if isinstance(value, dict) else value
        if isinstance(value, str) and (key != "file_data" or value.startswith("data:")):
            return value
    data = inner.get("data")
    return data if isinstance(data, str) and data.startswith("data:") else ""


def _describe_bytes(encoded: str, declared: str) -> str:
    try:
        data = b64decode(encoded.translate(_URL_SAFE), validate=False)
    except (binascii.Error, ValueError):
        return f"There is an attachment of type {declared or 'unknown'} that is no base64."
    kind = next((name for start, name in _STARTS if data.startswith(start)), "")
    if data[:4] == b"RIFF":
        kind = "audio/wav" if data[8:12] == b"WAVE" else "image/webp"
    kind = kind or declared or "application/octet-stream"
    if kind.startswith("image"):
        size = image_size(data)
        extent = f" of {size[0]} by {size[1]} pixels" if size else ""
        return f"There is a picture{extent}: {kind}, {len(data)} bytes."
    if kind == "audio/wav":
        return f"There is a recording of {_wav_seconds(data):.1f} seconds: {kind}, {len(data)} bytes."
    if kind.startswith("audio") or kind in ("mp3", "wav"):
        return f"There is a recording: {kind}, {len(data)} bytes."
    return f"There is a document: {kind}, {len(data)} bytes{_document_words(data, kind)}."


def image_size(data: bytes) -> tuple[int, int] | None:
    """The width and height of a picture, if its first bytes tell them."""
    try:
        if data.startswith(b"\x89PNG"):
            return struct.unpack(">II", data[16:24])
        if data.startswith(b"GIF8"):
            return struct.unpack("<HH", data[6:10])
        if data.startswith(b"\xff\xd8"):
            return _jpeg_size(data)
        if data[8:16] == b"WEBPVP8X":
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    except struct.error:
        return None
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + max(length, 2)
    return None


def _wav_seconds(data: bytes) -> float:
    rate = int.from_bytes(data[28:32], "little")
    return max(0, len(data) - 44) / rate if rate else 0.0


def _document_words(data: bytes, kind: str) -> str:
    if kind == "application/pdf":
        found = _PDF_TEXT.search(data, 0, _SEARCHED)
        text = found[1].decode("latin-1") if found else ""
    elif kind.startswith("text") or kind in ("txt", "md", "csv", "html", "application/json"):
        text = data[:_SEARCHED].decode("utf-8", "replace")
    else:
        text = ""
    return f", beginning with: {_first_words(text)}" if text.strip() else ""


def _first_words(text: str) -> str:
    return " ".join(text[:2000].split()[:_WORDS])
