"""A client's Converse request to our values. Its path, and not its body, names the model and asks for a stream."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw

from dragoman.conversation.conversation import Ask
from dragoman.conversation.messages import FIELD, Message
from dragoman.dialects.bedrock import NAME
from dragoman.dialects.bedrock.message_parse import parse_messages
from dragoman.dialects.bedrock.near_misses import FORM, MEMBERS
from dragoman.dialects.bedrock.plain_messages import parse_opening, parse_plain
from dragoman.dialects.bedrock.settings import parse_top_level
from dragoman.dialects.near_misses.lists import MeantMessages, parse_meant
from dragoman.dialects.near_misses.members import MeantMembers, parse_members_meant
from dragoman.dialects.parsing import open_body, request_parser
from dragoman.dialects.plain_messages import Opening
from dragoman.errors import MalformedRequest


@request_parser
def parse_request(
    body: bytes, *, headers: Mapping[str, str] | None = None, model: str | None = None, stream: bool = False
) -> Ask:
    """A client's request. `model` and `stream` come from its path. Raises MalformedRequest or DuplicateKey."""
    opened = open_body(body)
    members = parse_members_meant(opened.members, MEMBERS)
    raw = members.found.get("messages")
    if raw is None:
        raise MalformedRequest("there are no messages", at="/messages", hint='a Converse request has "messages"')
    top = parse_top_level(members.found)
    opening = parse_opening(bytes(members.found.get("system", b"")))
    plain = parse_plain(raw, opening) if members.found is opened.members else None
    meant = MeantMessages(plain.messages) if plain is not None else _parse_meant(raw, opening, members)
    return Ask(
        NAME,
        model,
        stream,
        top.conversation(meant.messages, meant.misses),
        opened.source,
        opened.members,
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
    """The pointer to a message of a parsed request, or to one of its parts. Cache points stand between the parts."""
    if part is None:
        return _place(message)
    before = sum(1 for one in message.parts[:part] if one.hint is not None)
    return f"{_list_of(message)}/{part + before}"


def locate_parts(message: Message) -> list[str]:
    """The pointers to all parts of a message."""
    at, place = _list_of(message), 0
    found: list[str] = []
    for part in message.parts:
        found.append(f"{at}/{place}")
        place += 1 if part.hint is None else 2
    return found


def _place(message: Message) -> str:
    return "/system" if message.at == FIELD else f"/messages/{message.at}"


def _list_of(message: Message) -> str:
    return _place(message) if message.at == FIELD else f"{_place(message)}/content"
