"""Converse messages to ours. A block is an object with one key, which names its kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from dragoman.conversation.bounded_cache import remembered
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.messages import ASSISTANT, FIELD, SYSTEM, USER, Message
from dragoman.conversation.parts import (
    CacheHint,
    Call,
    Extras,
    Inline,
    Json,
    Media,
    MediaKind,
    Opaque,
    Part,
    Plain,
    Reasoning,
    Remote,
    Result,
    StateKind,
    Stored,
    Text,
)
from dragoman.conversation.traits import ObservedMessage, observe_message
from dragoman.dialects.bedrock import NAME, ORIGIN
from dragoman.dialects.bedrock.schema import BedrockOutput, BedrockTurn, decode_objects
from dragoman.dialects.families.carried_state import reattach
from dragoman.dialects.shared.parsed_messages import compose
from dragoman.dialects.shared.parsing import DOCUMENT_TYPES, extras_of, parse_state
from dragoman.dialects.shared.raw_json import ABSENT
from dragoman.dialects.shared.top_level import decode_value
from dragoman.dialects.shared.wire_schema import split_unknown
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import split_members
from dragoman.wire.media_types import UNTOLD

CACHE_POINT = "cachePoint"
_ROLES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM}


def parse_turn(turn: BedrockTurn, index: int) -> Sequence[ObservedMessage] | None:
    """A message that is decoded already. Only the assistant calls tools."""
    role = _ROLES[turn.role]
    parts: list[Part] = []
    for block in turn.content:
        call, result = block.toolUse, block.toolResult
        if call is not UNSET:
            if role is USER:
                return None
            arguments = bytes(call.input)
            if arguments[:1] != b"{" or result is not UNSET or block.text is not ABSENT:
                return None
            parts.append(Call(call.toolUseId, call.name, arguments))
        elif result is not UNSET:
            outputs = _parse_outputs(result.content)
            if outputs is None or block.text is not ABSENT:
                return None
            parts.append(Result(result.toolUseId, outputs, result.status == "error", listed=True))
        else:
            literal = bytes(block.text)
            if literal[:1] != b'"':
                return None
            parts.append(Text(literal))
    return compose(role, tuple(parts), index, listed=True)


def _parse_outputs(content: list[BedrockOutput]) -> tuple[Part, ...] | None:
    """The content of a result; None if it is not texts and JSON objects. Such an object becomes a text."""
    found: list[Part] = []
    for output in content:
        literal, value = bytes(output.text), bytes(output.json)
        if value[:1] == b"{" and not literal:
            literal = quote(value.decode())
        elif value or literal[:1] != b'"':
            return None
        found.append(Text(literal))
    return tuple(found)


class _AnyConverseTurn(msgspec.Struct, gc=False):
    role: str
    content: Raw = ABSENT


_decode_any_turn = msgspec.json.Decoder(_AnyConverseTurn).decode


def parse_odd_item(raw: Json, index: int) -> Sequence[ObservedMessage]:
    """A message with members or blocks of any kind, or with a role that nobody knows."""
    at = f"/messages/{index}"
    turn = decode_value(_decode_any_turn, raw, at)
    role = _ROLES.get(turn.role)
    role, role_text = (USER, turn.role) if role is None else (role, "")
    extras = extras_of(NAME, split_unknown(raw, BedrockTurn)[1])
    parts = parse_blocks(bytes(turn.content), f"{at}/content")
    return compose(role, parts, index, listed=True, extras=extras, role_text=role_text)


@remembered
def parse_system(raw: Json) -> tuple[ObservedMessage, ...]:
    """The `system` field: one message of its blocks."""
    if raw in (b"", b"null", b"[]"):
        return ()
    return (observe_message(Message(SYSTEM, parse_blocks(raw, "/system"), FIELD, listed=True)),)


# Blocks of any kind


def parse_blocks(raw: bytes, at: str) -> tuple[Part, ...]:
    """Blocks. A cache point belongs to the block before it, and stands alone if that has one or is missing."""
    if raw in (b"", b"null"):
        return ()
    if raw[:1] != b"[":
        raise MalformedRequest("content is not a list of blocks", at=at)
    try:
        blocks = decode_objects(raw)
    except msgspec.DecodeError:
        raise MalformedRequest("a content block that is not an object", at=at) from None
    parts: list[Part] = []
    for index, block in enumerate(blocks):
        part = _parse_block(block, f"{at}/{index}")
        hint = hint_of(part)
        if hint is not None and parts and parts[-1].hint is None:
            parts[-1] = replace(parts[-1], hint=hint)
        else:
            parts.append(part if hint is None else replace(part, hint=hint))
    return reattach(parts)


def hint_of(part: Part) -> CacheHint | None:
    """What a cache point says; None if a part is none, or says more than we know."""
    return parse_hint(part.json) if isinstance(part, Opaque) and part.kind == CACHE_POINT else None


def parse_hint(block: Json) -> CacheHint | None:
    """A cache point in the words in which all dialects have cache hints."""
    try:
        return _HINTS.get(_order(_decode_block(block)))
    except msgspec.DecodeError:
        return None


_order = msgspec.json.Encoder(order="deterministic").encode
_decode_block = msgspec.json.Decoder(dict[str, dict[str, str]]).decode
HINTS = {
    b'{"type":"ephemeral"}': b'{"cachePoint":{"type":"default"}}',
    b'{"type":"ephemeral","ttl":"5m"}': b'{"cachePoint":{"ttl":"5m","type":"default"}}',
    b'{"type":"ephemeral","ttl":"1h"}': b'{"cachePoint":{"ttl":"1h","type":"default"}}',
}
"""Cache hints and the blocks that say the same."""
_HINTS = {block: CacheHint(hint) for hint, block in HINTS.items()}


def _parse_block(block: dict[str, Raw], at: str) -> Part:
    if len(block) != 1:
        keys = ", ".join(block) or "none"
        raise MalformedRequest(f"a content block with the keys {keys}", at=at, hint="a block has one key, its kind")
    kind, raw = next(iter(block.items()))
    content = bytes(raw)
    if kind == "text" and content[:1] == b'"':
        return Text(content)
    parse = PARSERS.get(kind)
    found = parse(content, at) if parse is not None and content[:1] == b"{" else None
    return Opaque(kind=kind, json=b"{%b:%b}" % (quote(kind), content), origin=ORIGIN) if found is None else found


def _parse_call(raw: bytes, at: str) -> Part | None:
    wire = split_members(raw, f"{at}/toolUse")
    if wire.get("type") is not None and bytes(wire["type"]) not in (b'"tool_use"', b"null"):
        return None  # a tool that Bedrock itself has run
    id, name = _word(wire, "toolUseId", f"{at}/toolUse"), _word(wire, "name", f"{at}/toolUse")
    arguments = bytes(wire.pop("input", b"{}"))
    wire.pop("type", None)
    return Call(id, name, arguments, extras=_rest(wire))


def _parse_result(raw: bytes, at: str) -> Part | None:
    wire = split_members(raw, f"{at}/toolResult")
    if wire.get("type") is not None:
        return None
    id = _word(wire, "toolUseId", f"{at}/toolResult")
    parts = parse_result_content(bytes(wire.pop("content", b"[]")), f"{at}/toolResult/content")
    status = bytes(wire.get("status", b"null"))
    if status in _STATUSES:
        wire.pop("status", None)
    return Result(id, parts, status == b'"error"', listed=True, extras=_rest(wire))


_STATUSES = (b'"success"', b'"error"', b"null")


def parse_result_content(raw: bytes, at: str) -> tuple[Part, ...]:
    """The content of a result. A JSON value is the text that it is written in."""
    return tuple([_plain_json(part) for part in parse_blocks(raw, at)])


def _plain_json(part: Part) -> Part:
    if not isinstance(part, Opaque) or part.kind != "json":
        return part
    return Text(quote(bytes(split_members(part.json)["json"]).decode()), hint=part.hint)


def _parse_reasoning(raw: bytes, at: str) -> Part | None:
    wire = split_members(raw, f"{at}/reasoningContent")
    redacted = bytes(wire.get("redactedContent", b""))
    if wire.keys() == {"redactedContent"} and redacted[:1] == b'"':
        return Reasoning(state=parse_state(StateKind.REDACTED, redacted, ORIGIN), redacted=True)
    inner = bytes(wire.get("reasoningText", b""))
    if wire.keys() != {"reasoningText"} or inner[:1] != b"{":
        return None
    text = split_members(inner, f"{at}/reasoningContent/reasoningText")
    return thinking(bytes(text.pop("text", b"")), bytes(text.pop("signature", b"")), _rest(text))


def thinking(literal: bytes, signature: bytes, extras: Extras | None = None) -> Reasoning:
    """Thinking with its signature. State of another maker may stand in it without a text."""
    text = Text(literal) if literal[:1] == b'"' else None
    held = parse_state(StateKind.SIGNATURE, signature, ORIGIN) if len(signature) > 2 else None
    if held is not None and held.origin is not ORIGIN and text is not None and text.literal == b'""':
        text = None
    redacted = held is not None and held.kind == StateKind.REDACTED
    return Reasoning(text=text, state=held, redacted=redacted, extras=extras)


def _parse_cited(raw: bytes, at: str) -> Part | None:
    """A text with its sources. Several texts in one block are left as they are."""
    wire = split_members(raw, f"{at}/citationsContent")
    texts = parse_cited_texts(bytes(wire.get("content", b"")))
    citations = bytes(wire.get("citations", b"[]"))
    if len(texts) != 1 or wire.keys() - {"content", "citations"}:
        return None
    return Text(texts[0], extras=Extras(NAME, {"citations": citations}))


def parse_cited_texts(raw: bytes) -> Sequence[bytes]:
    """The literals of the texts of a cited block; none if it holds anything else."""
    try:
        blocks = decode_objects(raw)
    except msgspec.DecodeError:
        return ()
    texts = [bytes(block["text"]) for block in blocks if block.keys() == {"text"}]
    return texts if len(texts) == len(blocks) and all(text[:1] == b'"' for text in texts) else ()


def _word(wire: dict[str, Raw], key: str, at: str) -> str:
    raw = bytes(wire.pop(key, b""))
    if raw[:1] != b'"':
        raise MalformedRequest(f"{key} is missing or is not a text", at=f"{at}/{key}")
    return unquote(raw)


def _rest(wire: dict[str, Raw]) -> Extras | None:
    return extras_of(NAME, {key: bytes(value) for key, value in wire.items()})


def _media(kind: MediaKind) -> Callable[[bytes, str], Part | None]:
    return lambda raw, at: parse_media(kind, raw, f"{at}/{kind.value}")


PARSERS: dict[str, Callable[[bytes, str], Part | None]] = {
    "toolUse": _parse_call,
    "toolResult": _parse_result,
    "reasoningContent": _parse_reasoning,
    "citationsContent": _parse_cited,
    **{kind.value: _media(kind) for kind in MediaKind},
}


# Images, documents, films and sounds. Bedrock names a short format; other dialects have a media type.

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
    media_type = _find_media_type(kind, _text(wire.get("format")) or "")
    if source.keys() == {"bytes"} and source["bytes"][:1] == b'"' and media_type:
        found: Inline | Plain | Remote | Stored | None = Inline(media_type, source["bytes"])
    elif (
        source.keys() == {"text"}
        and source["text"][:1] == b'"'
        and (media_type == "text/plain" or "format" not in wire)
    ):
        found = Plain(source["text"])
    elif source.keys() == {"url"} and source["url"][:1] == b'"':
        found = Remote(unquote(source["url"]), media_type)  # Converse takes none, so it is fetched or named
    else:
        found = _parse_stored(source, media_type)
    if found is not None:
        del wire["source"]
        wire.pop("format", None)
    return found


def _find_media_type(kind: MediaKind, name: str) -> str:
    """By a format, or as a media type, which Bedrock takes in its place (recorded on Nova). Empty for any other, except
    of documents: theirs is a list that Bedrock checks, they need none, and what they are is shown by their bytes."""
    known = FORMATS[kind].get(name) or (name if name in FORMATS[kind].values() else "")
    return known or (UNTOLD if kind is MediaKind.DOCUMENT else "")


def _parse_stored(source: Mapping[str, Json], media_type: str) -> Stored | None:
    if source.keys() != {"s3Location"} or source["s3Location"][:1] != b"{":
        return None
    place = split_members(source["s3Location"])
    uri = _text(place.get("uri"))
    return Stored(uri, NAME, media_type) if uri and place.keys() == {"uri"} and media_type else None


def _text(raw: Raw | None) -> str | None:
    literal = bytes(raw) if raw is not None else b""
    return unquote(literal) if literal[:1] == b'"' else None
