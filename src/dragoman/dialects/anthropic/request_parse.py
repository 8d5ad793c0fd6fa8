"""A client's Anthropic request to our values."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.conversation import Ask
from dragoman.conversation.messages import FIELD, Message
from dragoman.dialects.anthropic import NAME
from dragoman.dialects.anthropic.message_parse import parse_messages
from dragoman.dialects.anthropic.plain_messages import parse_opening, parse_plain
from dragoman.dialects.anthropic.settings import parse_top_level
from dragoman.dialects.parsing import asks_for_stream, open_body, parse_model, request_parser
from dragoman.errors import MalformedRequest


@request_parser
def parse_request(body: bytes, *, headers: Mapping[str, str] | None = None) -> Ask:
    """A client's request. Raises MalformedRequest or DuplicateKey, with a pointer."""
    opened = open_body(body)
    found = opened.members
    raw = found.get("messages")
    if raw is None:
        raise MalformedRequest("there are no messages", at="/messages", hint='a Messages request has "messages"')
    top = parse_top_level(found)
    opening = parse_opening(bytes(found.get("system", b"")))
    plain = parse_plain(raw, opening)
    messages = plain.messages if plain is not None else (*opening.messages, *parse_messages(raw))
    return Ask(
        NAME,
        parse_model(found),
        asks_for_stream(found),
        top.conversation(messages),
        opened.source,
        found,
        headers or {},
        top.include_usage,
        opened.repairs,
        plain.traits if plain is not None else None,
    )


def locate(message: Message, part: int | None) -> str:
    """The pointer to a message of a parsed request, or to one of its parts."""
    at = "/system" if message.at == FIELD else f"/messages/{message.at}"
    if part is None:
        return at
    if message.at == FIELD:
        return f"{at}/{part}" if message.listed else at
    return f"{at}/content/{part}" if message.listed else f"{at}/content"


def locate_parts(message: Message) -> list[str]:
    """The pointers to all parts of a message."""
    return [locate(message, part) for part in range(len(message.parts))]
