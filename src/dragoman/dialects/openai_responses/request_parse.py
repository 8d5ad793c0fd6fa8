"""A client's Responses request to our values."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.conversation import Ask
from dragoman.conversation.messages import FIELD, Message, Role
from dragoman.dialects.openai_responses import NAME
from dragoman.dialects.openai_responses.message_parse import parse_messages
from dragoman.dialects.openai_responses.message_render import turn_items
from dragoman.dialects.openai_responses.plain_messages import parse_opening, parse_plain
from dragoman.dialects.openai_responses.settings import parse_top_level
from dragoman.dialects.parsing import asks_for_stream, open_body, parse_model, request_parser
from dragoman.errors import MalformedRequest

_STORED = ("previous_response_id", "conversation", "prompt")
"""Members beside which there need not be any input."""


@request_parser
def parse_request(body: bytes, *, headers: Mapping[str, str] | None = None) -> Ask:
    """A client's request. Raises MalformedRequest or DuplicateKey, with a pointer."""
    opened = open_body(body)
    found = opened.members
    if "input" not in found and not any(key in found for key in _STORED):
        raise MalformedRequest("there is no input", at="/input", hint='a Responses request has "input"')
    top = parse_top_level(found)
    opening = parse_opening(bytes(found.get("instructions", b"")))
    raw = found.get("input", b"")
    plain = parse_plain(raw, opening)
    messages = plain.messages if plain is not None else (*opening.messages, *parse_messages(bytes(raw)))
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
    if message.at == FIELD:
        return "/instructions"
    return f"/input/{message.at}" if part is None else locate_parts(message)[part]


def locate_parts(message: Message) -> list[str]:
    """The pointers to all parts of a message. An assistant's turn may be several items."""
    at, count = f"/input/{message.at}", len(message.parts)
    if message.at == FIELD:
        return ["/instructions"] * count
    if message.role is Role.TOOL:
        return [f"/input/{message.at + part}" for part in range(count)]
    if message.role is not Role.ASSISTANT:
        return [f"{at}/content/{part}" for part in range(count)] if message.listed else [f"{at}/content"] * count
    pointers: list[str] = []
    for index, parts in enumerate(turn_items(message.parts)):
        at = f"/input/{message.at + index}"
        pointers += [f"{at}/content/{place}" for place in range(len(parts))] if len(parts) > 1 else [at]
    return pointers
