"""A client's Responses request to our values."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.conversation import Ask
from dragoman.conversation.messages import FIELD, Message, Role
from dragoman.dialects.near_misses.lists import MeantMessages, parse_meant
from dragoman.dialects.near_misses.members import MeantMembers, parse_members_meant
from dragoman.dialects.openai_responses import NAME
from dragoman.dialects.openai_responses.message_parse import parse_messages
from dragoman.dialects.openai_responses.message_render import turn_items
from dragoman.dialects.openai_responses.near_misses import FORM, MEMBERS
from dragoman.dialects.openai_responses.plain_messages import parse_opening, parse_plain
from dragoman.dialects.openai_responses.settings import parse_top_level
from dragoman.dialects.parsing import asks_for_stream, open_body, parse_model, request_parser
from dragoman.dialects.plain_messages import Opening
from dragoman.dialects.raw_json import NOTHING
from dragoman.errors import MalformedRequest

_STORED = ("previous_response_id", "conversation", "prompt")
"""Members beside which there need not be any input."""


@request_parser
def parse_request(body: bytes, *, headers: Mapping[str, str] | None = None) -> Ask:
    """A client's request. Raises MalformedRequest or DuplicateKey, with a pointer."""
    opened = open_body(body)
    found = opened.members
    stored = any(key in found for key in _STORED)
    members = parse_members_meant(found, MEMBERS) if not stored else MeantMembers(found, "input")
    if bytes(members.found.get("input", b"null")) == b"null" and not stored:
        raise MalformedRequest("there is no input", at="/input", hint='a Responses request has "input"')
    top = parse_top_level(members.found)
    opening = parse_opening(bytes(members.found.get("instructions", b"")))
    raw = members.found.get("input", b"")
    plain = parse_plain(raw, opening) if members.found is found else None
    meant = MeantMessages(plain.messages) if plain is not None else _parse_meant(bytes(raw), opening, members)
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


def _parse_meant(raw: bytes, opening: Opening, members: MeantMembers) -> MeantMessages:
    """Items that may not fit the schema."""
    if members.list_name == "input" and (raw in NOTHING or raw[:1] == b'"'):
        found = MeantMessages(tuple(parse_messages(raw)))
    else:
        found = parse_meant(raw, FORM, parse_messages, members.list_name)
    return MeantMessages((*opening.messages, *found.messages), (*members.misses, *found.misses))


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
