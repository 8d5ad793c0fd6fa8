"""Converse messages to ours. A block is an object with one key, which names its kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Raw

from dragoman.conversation import reasoning_states
from dragoman.conversation.literals import quote, unquote
from dragoman.conversation.messages import ASSISTANT, FIELD, SYSTEM, TOOL, USER, Message
from dragoman.conversation.parts import (
    CacheHint,
    Call,
    Extras,
    Json,
    MediaKind,
    Opaque,
    Part,
    Reasoning,
    Result,
    Text,
)
from dragoman.dialects.bedrock import NAME, ORIGIN
from dragoman.dialects.bedrock.media import parse_media
from dragoman.dialects.carried_state import reattached
from dragoman.dialects.parsing import extras_of, parse_state
from dragoman.dialects.raw_json import ABSENT
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import salvage, split_items, split_members

CACHE_POINT = "cachePoint"


class BedrockWireMessage(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    role: str
    content: Raw = ABSENT


_messages = msgspec.json.Decoder(list[BedrockWireMessage]).decode
_message = msgspec.json.Decoder(BedrockWireMessage)
_blocks = msgspec.json.Decoder(list[dict[str, Raw]]).decode
_ROLES = {"user": USER, "assistant": ASSISTANT, "system": SYSTEM}


def parse_messages(raw: bytes | Raw) -> list[Message]:
    """The list of messages. A user turn of results and text becomes TOOL + USER."""
    found: list[Message] = []
    try:
        wire = _messages(raw)
    except msgspec.DecodeError:
        for index, item in enumerate(split_items(raw, "/messages")):
            salvaged = salvage(item, _message, f"/messages/{index}")
            extras = extras_of(NAME, salvaged.extras.get("$", {}))
            _parse_message(salvaged.value, index, extras, found)
        return found
    for index, message in enumerate(wire):
        _parse_message(message, index, None, found)
    return found


def _parse_message(wire: BedrockWireMessage, index: int, extras: Extras | None, found: list[Message]) -> None:
    role = _ROLES.get(wire.role)
    role_text = ""
    if role is None:
        role, role_text = USER, wire.role
    parts = parse_blocks(bytes(wire.content), f"/messages/{index}/content")
    if role is USER and any(type(part) is Result for part in parts):
        _split_turn(parts, index, extras, found)
        return
    inline = role is SYSTEM and (not found or found[-1].inline)
    found.append(Message(role, parts, index, extras=extras, listed=True, inline=inline, role_text=role_text))


def _split_turn(parts: tuple[Part, ...], index: int, extras: Extras | None, found: list[Message]) -> None:
    """Runs of results and of other parts, in their order."""
    run: list[Part] = []
    for position, part in enumerate(parts):
        run.append(part)
        last = position + 1 == len(parts)
        if last or (type(parts[position + 1]) is Result) is not (type(part) is Result):
            role = TOOL if type(part) is Result else USER
            found.append(Message(role, tuple(run), index, extras=extras, listed=True))
            run = []


def parse_system(raw: bytes) -> list[Message]:
    """The `system` field: one message of its blocks."""
    if raw in (b"", b"null", b"[]"):
        return []
    return [Message(SYSTEM, parse_blocks(raw, "/system"), FIELD, listed=True)]


def parse_blocks(raw: bytes, at: str) -> tuple[Part, ...]:
    """Blocks. A cache point belongs to the block before it."""
    if raw in (b"", b"null"):
        return ()
    if raw[:1] != b"[":
        raise MalformedRequest("content is not a list of blocks", at=at)
    try:
        blocks = _blocks(raw)
    except msgspec.DecodeError:
        raise MalformedRequest("a content block that is not an object", at=at) from None
    parts: list[Part] = []
    for index, block in enumerate(blocks):
        part = _parse_block(block, f"{at}/{index}")
        hint = hint_of(part)
        if hint is not None and parts and parts[-1].hint is None and not isinstance(parts[-1], Opaque):
            parts[-1] = msgspec.structs.replace(parts[-1], hint=hint)
        else:
            parts.append(part)
    return reattached(parts)


def hint_of(part: Part) -> CacheHint | None:
    """What a cache point says; None where a part is none, or says more than we know."""
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
        return Reasoning(state=parse_state(reasoning_states.REDACTED, redacted, ORIGIN), redacted=True)
    inner = bytes(wire.get("reasoningText", b""))
    if wire.keys() != {"reasoningText"} or inner[:1] != b"{":
        return None
    text = split_members(inner, f"{at}/reasoningContent/reasoningText")
    return thinking(bytes(text.pop("text", b"")), bytes(text.pop("signature", b"")), _rest(text))


def thinking(literal: bytes, signature: bytes, extras: Extras | None = None) -> Reasoning:
    """Thinking with its signature. State of another maker may stand in it without a text."""
    text = Text(literal) if literal[:1] == b'"' else None
    held = parse_state(reasoning_states.SIGNATURE, signature, ORIGIN) if len(signature) > 2 else None
    if held is not None and held.origin is not ORIGIN and text is not None and text.literal == b'""':
        text = None
    redacted = held is not None and held.kind == reasoning_states.REDACTED
    return Reasoning(text=text, state=held, redacted=redacted, extras=extras)


def _parse_cited(raw: bytes, at: str) -> Part | None:
    """A text with its sources. Several texts in one block are left as they are."""
    wire = split_members(raw, f"{at}/citationsContent")
    texts = cited_texts(bytes(wire.get("content", b"")))
    citations = bytes(wire.get("citations", b"[]"))
    if len(texts) != 1 or wire.keys() - {"content", "citations"}:
        return None
    return Text(texts[0], extras=Extras(NAME, {"citations": citations}))


def cited_texts(raw: bytes) -> Sequence[bytes]:
    """The literals of the texts of a cited block; none where it holds anything else."""
    try:
        blocks = _blocks(raw)
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
