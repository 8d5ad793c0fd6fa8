"""Images, documents, films and sounds. Bedrock names a short format; other dialects have a media type."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw

from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.parts import Extras, Inline, Json, Media, MediaKind, Plain, Remote, Stored
from dragoman.dialects.bedrock import NAME
from dragoman.dialects.shared.ownership import require_own
from dragoman.dialects.shared.parsing import DOCUMENT_TYPES, extras_of
from dragoman.dialects.shared.rendering import Pieces
from dragoman.errors import MalformedRequest, Unrepresentable
from dragoman.wire.json_reader import split_members
from dragoman.wire.media_types import UNTOLD

FORMATS: Mapping[MediaKind, Mapping[str, str]] = {
    MediaKind.IMAGE: {"png": "image/png", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"},
    MediaKind.DOCUMENT: DOCUMENT_TYPES,
    MediaKind.VIDEO: {
        "mkv": "video/x-matroska",
        "mov": "video/quicktime",
        "mp4": "video/mp4",
        "webm": "video/webm",
        "flv": "video/x-flv",
        "mpeg": "video/mpeg",
        "mpg": "video/mpg",
        "wmv": "video/x-ms-wmv",
        "three_gp": "video/3gpp",
    },
    MediaKind.AUDIO: {
        "mp3": "audio/mpeg",
        "opus": "audio/opus",
        "wav": "audio/wav",
        "aac": "audio/aac",
        "flac": "audio/flac",
        "mp4": "audio/mp4",
        "ogg": "audio/ogg",
        "mkv": "audio/x-matroska",
        "mka": "audio/matroska",
        "x-aac": "audio/x-aac",
        "m4a": "audio/m4a",
        "mpeg": "audio/mpeg3",
        "mpga": "audio/mpga",
        "pcm": "audio/pcm",
        "webm": "audio/webm",
    },
}
"""Kind → format → media type. No media type stands twice for one kind, so that both ways give the same."""

_ALIASES = {"image/jpg": "jpeg", "audio/mp3": "mp3", "audio/x-wav": "wav", "text/x-markdown": "md"}
"""Further names of media types, and their formats."""

NO_TITLE = "document"
"""The name of a document that has none, since Bedrock demands one."""


def parse_media(kind: MediaKind, raw: Json, at: str) -> Media | None:
    """An image, a document, a film or a sound. None if it has a form that only Bedrock knows."""
    wire = split_members(raw, at)
    source = _parse_source(kind, wire, at)
    if source is None:
        return None
    title = _parse_title(wire, at) if kind is MediaKind.DOCUMENT else None
    fields = {key: bytes(value) for key, value in wire.items()}
    return Media(kind, source, title=None if title == NO_TITLE else title, extras=extras_of(NAME, fields))


def _parse_title(wire: dict[str, Raw], at: str) -> str | None:
    raw = wire.pop("name", None)
    if raw is not None and bytes(raw)[:1] not in b'"n':
        raise MalformedRequest("the name is not a text", at=f"{at}/name", hint="name the document, or leave it out")
    return _text(raw)


def _parse_source(kind: MediaKind, wire: dict[str, Raw], at: str) -> Inline | Plain | Remote | Stored | None:
    given = bytes(wire.get("source", b""))
    if given[:1] != b"{":
        raise MalformedRequest("the source is not an object", at=f"{at}/source")
    source = {key: bytes(value) for key, value in split_members(given, f"{at}/source").items()}
    media_type = _media_type(kind, _text(wire.get("format")) or "")
    if source.keys() == {"bytes"} and source["bytes"][:1] == b'"' and media_type:
        found: Inline | Plain | Remote | Stored | None = Inline(media_type, source["bytes"])
    elif source.keys() == {"text"} and source["text"][:1] == b'"' and media_type == "text/plain":
        found = Plain(source["text"])
    elif source.keys() == {"url"} and source["url"][:1] == b'"':
        found = Remote(unquote(source["url"]), media_type)  # Converse takes none, so it is fetched or named
    else:
        found = _parse_stored(source, media_type)
    if found is not None:
        del wire["source"]
        wire.pop("format", None)
    return found


def _media_type(kind: MediaKind, name: str) -> str:
    """By a format, or as a media type, which Bedrock takes in its place (recorded on Nova). Empty for any other, except
    of documents: theirs is a list that Bedrock checks, and what they are is shown by their bytes."""
    known = FORMATS[kind].get(name) or (name if name in FORMATS[kind].values() else "")
    return known or (UNTOLD if kind is MediaKind.DOCUMENT and name else "")


def _parse_stored(source: Mapping[str, Json], media_type: str) -> Stored | None:
    if source.keys() != {"s3Location"} or source["s3Location"][:1] != b"{":
        return None
    place = split_members(source["s3Location"])
    uri = _text(place.get("uri"))
    return Stored(uri, NAME, media_type) if uri and place.keys() == {"uri"} and media_type else None


def _text(raw: Raw | None) -> str | None:
    literal = bytes(raw) if raw is not None else b""
    return unquote(literal) if literal[:1] == b'"' else None


def format_of(kind: MediaKind, media_type: str) -> str:
    """The format for a media type; empty if there is none."""
    bare = media_type.partition(";")[0].strip().lower()
    found = next((name for name, known in FORMATS[kind].items() if known == bare), "")
    return found or (_ALIASES.get(bare, "") if _ALIASES.get(bare, "") in FORMATS[kind] else "")


def render_media(part: Media, out: Pieces) -> None:
    """The block, without its braces."""
    source = part.source
    media_type = source.media_type if isinstance(source, (Inline, Stored, Plain)) else ""
    name = format_of(part.kind, media_type)
    if not name or (isinstance(source, Plain) and part.kind is not MediaKind.DOCUMENT):
        raise Unrepresentable(f"{part.kind.value} of the type {media_type or 'that its URL has'} in a Bedrock request")
    out.append(b'"%b":{"format":%b' % (part.kind.value.encode(), quote(name)))
    if part.kind is MediaKind.DOCUMENT:
        out.append(b',"name":%b' % quote(part.title or NO_TITLE))
    out.append(b',"source":')
    if isinstance(source, Inline):
        out += (b'{"bytes":', source.data)
    elif isinstance(source, Plain):
        out += (b'{"text":', source.literal)
    elif isinstance(source, Stored) and source.provider == NAME:
        out += (b'{"s3Location":{"uri":', quote(source.id), b"}")
    else:
        raise Unrepresentable(f"{part.kind.value} that is not in the request itself")
    out.append(b"}")
    _render_fields(part.extras, out)
    out.append(b"}")


def _render_fields(extras: Extras | None, out: Pieces) -> None:
    for key, value in require_own(extras, NAME).items():
        out += (b",", quote(key), b":", value)
