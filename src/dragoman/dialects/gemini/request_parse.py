"""A client's Gemini request to our values. Its path, and not its body, names the model and asks for a stream."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw

from dragoman.conversation.conversation import Ask
from dragoman.conversation.messages import FIELD, Message
from dragoman.dialects.gemini import NAME
from dragoman.dialects.gemini.message_parse import parse_messages
from dragoman.dialects.gemini.plain_messages import parse_opening, parse_plain
from dragoman.dialects.gemini.settings import SNAKE, parse_top_level
from dragoman.dialects.parsing import open_body, parse_model, request_parser
from dragoman.errors import DuplicateKey, MalformedRequest
from dragoman.wire.json_reader import render_list, render_object, split_items


@request_parser
def parse_request(
    body: bytes, *, headers: Mapping[str, str] | None = None, model: str | None = None, stream: bool = False
) -> Ask:
    """A client's request. `model` and `stream` come from its path. Raises MalformedRequest or DuplicateKey."""
    opened = open_body(body)
    source, repairs = opened.source, opened.repairs
    found = _renamed(opened.members)
    raw = found.get("contents")
    if raw is None:
        raise MalformedRequest("there are no contents", at="/contents", hint='a Gemini request has "contents"')
    contents, was_text = _listed(bytes(raw))
    found["contents"] = Raw(contents)
    if was_text:
        source, repairs = render_object(found), (*repairs, "made a content of a text")
    top = parse_top_level(found)
    opening = parse_opening(bytes(found.get("systemInstruction", b"")))
    plain = parse_plain(contents, opening)
    messages = plain.messages if plain is not None else (*opening.messages, *parse_messages(contents))
    named = model or (parse_model(found) or "").removeprefix("models/") or None
    return Ask(
        NAME,
        named,
        stream,
        top.conversation(messages),
        source,
        found,
        headers or {},
        top.include_usage,
        repairs,
        plain.traits if plain is not None else None,
    )


def _renamed(found: Mapping[str, Raw]) -> dict[str, Raw]:
    """The members under their camelCase names."""
    if not found.keys() & SNAKE.keys():
        return dict(found)
    out: dict[str, Raw] = {}
    for key, value in found.items():
        name = SNAKE.get(key, key)
        if name in out:
            raise DuplicateKey(f'the key "{name}" stands twice, in two spellings', at=f"/{key}", hint="send it once")
        out[name] = value
    return out


def _listed(raw: bytes) -> tuple[bytes, bool]:
    """The contents as a list, and whether a text was made a content: SDKs accept texts, the API does not."""
    if raw[:1] == b"{":
        return b"[" + raw + b"]", False
    if raw[:1] == b'"':
        return render_list([_content(raw)]), True
    if raw[:1] != b"[":
        raise MalformedRequest("contents are not a list", at="/contents")
    if raw[1:64].lstrip()[:1] != b'"':
        return raw, False
    return render_list([_content(bytes(item)) for item in split_items(raw, "/contents")]), True


def _content(raw: bytes) -> bytes:
    return b'{"role":"user","parts":[{"text":' + raw + b"}]}" if raw[:1] == b'"' else raw


def locate(message: Message, part: int | None) -> str:
    """The pointer to a message of a parsed request, or to one of its parts."""
    at = "/systemInstruction" if message.at == FIELD else f"/contents/{message.at}"
    if part is None:
        return at
    if message.span > 1:
        return f"/contents/{message.at + min(part, message.span - 1)}"
    return f"{at}/parts/{part}"


def locate_parts(message: Message) -> list[str]:
    """The pointers to all parts of a message."""
    return [locate(message, part) for part in range(len(message.parts))]
