"""A client's Anthropic request to our values."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw

from dragoman.conversation.conversation import Ask
from dragoman.conversation.messages import FIELD, Message
from dragoman.dialects.anthropic import NAME
from dragoman.dialects.anthropic.message_parse import parse_messages
from dragoman.dialects.anthropic.near_misses import FORM, MEMBERS
from dragoman.dialects.anthropic.plain_messages import parse_opening, parse_plain
from dragoman.dialects.anthropic.settings import parse_top_level
from dragoman.dialects.near_misses.lists import MeantMessages, parse_meant
from dragoman.dialects.near_misses.members import MeantMembers, parse_members_meant
from dragoman.dialects.parsing import asks_for_stream, open_body, parse_model, request_parser
from dragoman.dialects.plain_messages import Opening
from dragoman.errors import MalformedRequest


@request_parser
def parse_request(body: bytes, *, headers: Mapping[str, str] | None = None) -> Ask:
    """A client's request. Raises MalformedRequest or DuplicateKey, with a pointer."""
    opened = open_body(body)
    found = opened.members
    members = parse_members_meant(found, MEMBERS)
    raw = members.found.get("messages")
    if raw is None:
        raise MalformedRequest("there are no messages", at="/messages", hint='a Messages request has "messages"')
    top = parse_top_level(members.found)
    opening = parse_opening(bytes(members.found.get("system", b"")))
    plain = parse_plain(raw, opening) if members.found is found else None
    meant = MeantMessages(plain.messages) if plain is not None else _parse_meant(raw, opening, members)
    return Ask(
        NAME,
        parse_model(found),
        asks_for_stream(found),
        top.conversation(meant.messages, meant.misses),
        opened.source,
        found,
        headers or {},
        top.include_usage,
        opened.repairs,
        plain.traits if plain is not None else None,
    )


def _parse_meant(raw: Raw, opening: Opening, members: MeantMembers) -> MeantMessages:
    """Messages that may not fit the schema."""
    found = parse_meant(raw, FORM, parse_messages, members.list_name)
    return MeantMessages((*opening.messages, *found.messages), (*members.misses, *found.misses))


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
