"""A client's Ollama request to our values. A request of `/api/generate` has a prompt in place of its messages."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw

from dragoman.conversation.conversation import Ask
from dragoman.conversation.messages import FIELD, SYSTEM, TOOL, Message
from dragoman.conversation.parts import Call, Media, Part, Reasoning, Text
from dragoman.dialects.near_misses.lists import MeantMessages, parse_meant
from dragoman.dialects.near_misses.members import MeantMembers, parse_members_meant
from dragoman.dialects.ollama import NAME
from dragoman.dialects.ollama.message_parse import parse_messages
from dragoman.dialects.ollama.near_misses import FORM, MEMBERS
from dragoman.dialects.ollama.plain_messages import parse_plain
from dragoman.dialects.ollama.settings import parse_top_level
from dragoman.dialects.parsing import asks_for_stream, open_body, parse_model, request_parser
from dragoman.errors import MalformedRequest


@request_parser
def parse_request(body: bytes, *, headers: Mapping[str, str] | None = None) -> Ask:
    """A client's request. Raises MalformedRequest or DuplicateKey, with a pointer."""
    opened = open_body(body)
    found = opened.members
    members = parse_members_meant(found, MEMBERS)
    raw = members.found.get("messages")
    if raw is None:
        raise MalformedRequest("there are no messages", at="/messages", hint='a chat request has "messages"')
    top = parse_top_level(members.found)
    plain = parse_plain(raw) if members.found is found else None
    meant = MeantMessages(plain.messages) if plain is not None else _parse_meant(raw, members)
    return Ask(
        NAME,
        parse_model(found),
        streams(found),
        top.conversation(meant.messages, meant.misses),
        opened.source,
        found,
        headers or {},
        top.include_usage,
        opened.repairs,
        plain.traits if plain is not None else None,
    )


def streams(members: Mapping[str, Raw]) -> bool:
    """Whether the answer is a stream: so it is where the request does not say otherwise."""
    return bytes(members.get("stream", b"null")) == b"null" or asks_for_stream(members)


def _parse_meant(raw: Raw, members: MeantMembers) -> MeantMessages:
    """Messages that may not fit the schema. A system text in a field of its own opens them."""
    found = parse_meant(raw, FORM, parse_messages, members.list_name)
    if not members.system:
        return MeantMessages(found.messages, (*members.misses, *found.misses))
    system = Message(SYSTEM, tuple([Text(literal) for literal in members.system]), FIELD)
    return MeantMessages((system, *found.messages), (*members.misses, *found.misses))


def locate(message: Message, part: int | None) -> str:
    """The pointer to a message of a parsed request, or to one of its parts."""
    if message.at == FIELD:
        return "/system"
    return f"/messages/{message.at}" if part is None else locate_parts(message)[part]


def locate_parts(message: Message) -> list[str]:
    """The pointers to all parts of a message. One part's depends on how many of its kind stand before it."""
    if message.role is TOOL:
        return [f"/messages/{message.at + part}" for part in range(len(message.parts))]
    pointers: list[str] = []
    calls = media = 0
    for part in message.parts:
        pointers.append(f"/messages/{message.at}{_locate_part(part, calls, media)}")
        calls += type(part) is Call
        media += type(part) is Media
    return pointers


def _locate_part(part: Part, calls: int, media: int) -> str:
    match part:
        case Call():
            return f"/tool_calls/{calls}"
        case Media():
            return f"/images/{media}"
        case Reasoning():
            return "/thinking"
    return "/content"
