"""The content parts of Responses messages and outputs, both ways."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from dragoman.conversation.literals import quote
from dragoman.conversation.parts import (
    Extras,
    Inline,
    Media,
    MediaKind,
    Opaque,
    Part,
    Plain,
    Refusal,
    Remote,
    Stored,
    Text,
)
from dragoman.dialects.openai_responses import NAME, ORIGIN
from dragoman.dialects.ownership import own_block, render_extras
from dragoman.dialects.parsing import OPENAI_FILES, data_url, extras_of, kind_of, parse_link, stated_detail
from dragoman.dialects.raw_json import ABSENT, NOTHING
from dragoman.dialects.rendering import Pieces
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import salvage, split_items

_EMPTY = (b"", b"null", b"[]")


class ResponsesWirePart(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    type: str
    text: Raw = ABSENT
    refusal: Raw = ABSENT
    annotations: Raw = ABSENT
    logprobs: Raw = ABSENT
    image_url: str | None = None
    file_id: str | None = None
    file_url: str | None = None
    file_data: str | None = None
    filename: str | None = None
    detail: str | None = None
    input_audio: Raw = ABSENT


_parts = msgspec.json.Decoder(list[ResponsesWirePart]).decode
_part = msgspec.json.Decoder(ResponsesWirePart)


def parse_content(raw: bytes, at: str) -> tuple[Part, ...]:
    """A list of parts. A part of an unknown type is kept verbatim."""
    if raw in NOTHING:
        return ()
    if raw[:1] != b"[":
        raise MalformedRequest("content is neither a string nor a list of parts", at=at)
    try:
        wire = _parts(raw)
    except msgspec.DecodeError:
        return tuple([_salvaged(bytes(item), f"{at}/{index}") for index, item in enumerate(split_items(raw, at))])
    parts = [_parse_part(part, None) for part in wire]
    if None not in parts:
        return tuple(parts)  # type: ignore[arg-type]
    raws = split_items(raw, at)
    return tuple(
        [_opaque(bytes(raws[index]), f"{at}/{index}") if part is None else part for index, part in enumerate(parts)]
    )


def _salvaged(raw: bytes, at: str) -> Part:
    if raw[:1] != b"{":
        raise MalformedRequest("a content part that is not an object", at=at)
    if kind_of(raw, at) not in PARSERS:
        return _opaque(raw, at)
    salvaged = salvage(raw, _part, at)
    part = _parse_part(salvaged.value, extras_of(NAME, salvaged.extras.get("$", {})))
    return _opaque(raw, at) if part is None else part


def _opaque(raw: bytes, at: str) -> Opaque:
    """A part that is kept verbatim. Raises MalformedRequest where it is a text that is none."""
    fields = msgspec.json.decode(raw)
    kind = str(fields.get("type"))
    if kind in _TEXTS and not isinstance(fields.get("text"), str):
        raise MalformedRequest("the text is not a string", at=f"{at}/text")
    return Opaque(kind=kind, json=raw, origin=ORIGIN)


_TEXTS = ("input_text", "output_text")


def _parse_part(wire: ResponsesWirePart, extras: Extras | None) -> Part | None:
    parser = PARSERS.get(wire.type)
    return None if parser is None else parser(wire, extras)


def _parse_text(wire: ResponsesWirePart, extras: Extras | None) -> Part | None:
    literal = bytes(wire.text)
    if literal[:1] != b'"':
        return None
    fields = dict(extras.fields) if extras is not None else {}
    for name in ("annotations", "logprobs"):
        raw = bytes(getattr(wire, name))
        if raw not in _EMPTY:
            fields[name] = raw
    return Text(literal, extras=extras_of(NAME, fields))


def _parse_refusal(wire: ResponsesWirePart, extras: Extras | None) -> Part | None:
    literal = bytes(wire.refusal)
    return Refusal(literal, extras=extras) if literal[:1] == b'"' else None


def _parse_image(wire: ResponsesWirePart, extras: Extras | None) -> Part | None:
    source: Inline | Remote | Stored
    if wire.image_url is not None and wire.file_id is None:
        source = parse_link(wire.image_url)
    elif wire.file_id is not None and wire.image_url is None:
        source = Stored(wire.file_id, OPENAI_FILES)
    else:
        return None
    return Media(MediaKind.IMAGE, source, wire.filename, stated_detail(wire.detail), extras=extras)


def _parse_file(wire: ResponsesWirePart, extras: Extras | None) -> Part | None:
    source: Inline | Remote | Stored
    given = [wire.file_data, wire.file_url, wire.file_id]
    if given.count(None) != 2:
        return None
    if wire.file_data is not None:
        source = parse_link(wire.file_data)
        if not isinstance(source, Inline):
            return None
    elif wire.file_url is not None:
        source = Remote(wire.file_url)
    else:
        source = Stored(wire.file_id or "", OPENAI_FILES)
    return Media(MediaKind.DOCUMENT, source, wire.filename, wire.detail, extras=extras)


def _parse_audio(wire: ResponsesWirePart, extras: Extras | None) -> Part | None:
    raw = bytes(wire.input_audio)
    content: Any = msgspec.json.decode(raw) if raw else None
    if not isinstance(content, dict) or content.keys() != {"data", "format"}:
        return None
    form, encoded = content["format"], content["data"]
    if not isinstance(form, str) or not isinstance(encoded, str):
        return None
    return Media(MediaKind.AUDIO, Inline("audio/" + _TYPES.get(form, form), quote(encoded)), extras=extras)


_TYPES = {"mp3": "mpeg"}
_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav"}

PARSERS: dict[str, Callable[[ResponsesWirePart, Extras | None], Part | None]] = {
    "input_text": _parse_text,
    "output_text": _parse_text,
    "text": _parse_text,
    "refusal": _parse_refusal,
    "input_image": _parse_image,
    "input_file": _parse_file,
    "input_audio": _parse_audio,
}


def render_content(parts: Sequence[Part], by_assistant: bool, out: Pieces) -> None:
    """A list of parts. `by_assistant`: they are output, not input."""
    if not parts:
        out.append(b"[]")
        return
    mark = b"["
    for part in parts:
        out.append(mark)
        render_part(part, by_assistant, out)
        mark = b","
    out.append(b"]")


def render_part(part: Part, by_assistant: bool, out: Pieces) -> None:
    if part.hint is not None:
        raise Unrepresentable("a cache hint in a Responses part")
    match part:
        case Text():
            if part.signature is not None:
                raise Unrepresentable("a signature on a text in a Responses request")
            out += (b'{"type":"output_text","text":' if by_assistant else b'{"type":"input_text","text":', part.literal)
        case Refusal():
            out += (b'{"type":"refusal","refusal":', part.literal)
        case Media() if not by_assistant:
            _render_media(part, out)
        case Opaque() if not by_assistant:
            out.append(own_block(part, NAME))
            return
        case _:
            raise Unrepresentable(f"a part of kind {type(part).__name__} in a Responses message")
    render_extras(part.extras, NAME, out, "")
    out.append(b"}")


def _render_media(part: Media, out: Pieces) -> None:
    source, kind = part.source, part.kind
    if part.transcript is not None:
        raise Unrepresentable("the transcript of a sound in a Responses request")
    if isinstance(source, Stored) and source.provider not in ("", OPENAI_FILES):
        raise Unrepresentable(f"a file stored at {source.provider} in a Responses request")
    if kind is MediaKind.AUDIO and isinstance(source, Inline):
        form = source.media_type.partition("/")[2]
        out += (b'{"type":"input_audio","input_audio":{"data":', source.data)
        out += (b',"format":', quote(_FORMATS.get(form, form)), b"}")
    elif kind not in _ADDRESSED or isinstance(source, Plain):
        raise Unrepresentable(f"{kind.value} as {type(source).__name__.lower()} in a Responses request")
    else:
        out.append(b'{"type":"input_%b",' % _ADDRESSED[kind])
        out += _address(kind, source)
    if part.title is not None:
        out += (b',"filename":', quote(part.title))
    if part.detail is not None or kind is MediaKind.IMAGE:
        out += (b',"detail":', quote(part.detail or "auto"))  # the published types demand it of images


_ADDRESSED = {MediaKind.IMAGE: b"image", MediaKind.DOCUMENT: b"file"}


def _address(kind: MediaKind, source: Inline | Remote | Stored) -> tuple[bytes | memoryview, ...]:
    image = kind is MediaKind.IMAGE
    match source:
        case Stored(file_id):
            return b'"file_id":', quote(file_id)
        case Inline():
            return b'"image_url":' if image else b'"file_data":', *data_url(source)
        case Remote(url):
            return b'"image_url":' if image else b'"file_url":', quote(url)
