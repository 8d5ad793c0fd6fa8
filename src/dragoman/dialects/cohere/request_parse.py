"""A client's Cohere request to our values."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw

from dragoman.conversation.conversation import Ask
from dragoman.conversation.messages import FIELD, SYSTEM, TOOL, Message
from dragoman.conversation.parts import Call, Citation, Part, Text
from dragoman.dialects.cohere import NAME
from dragoman.dialects.cohere.documents import is_documents, parse_documents
from dragoman.dialects.cohere.message_parse import parse_messages
from dragoman.dialects.cohere.near_misses import FORM, MEMBERS
from dragoman.dialects.cohere.plain_messages import parse_plain
from dragoman.dialects.cohere.settings import parse_top_level
from dragoman.dialects.near_misses.lists import MeantMessages, parse_meant
from dragoman.dialects.near_misses.members import MeantMembers, parse_members_meant
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
        raise _no_messages(found)
    documents = parse_documents(bytes(members.found.get("documents", b"")))
    top = parse_top_level(members.found, documents is not None)
    plain = parse_plain(raw) if members.found is found and documents is None else None
    meant = MeantMessages(plain.messages) if plain is not None else _parse_meant(raw, members)
    return Ask(
        NAME,
        parse_model(found),
        asks_for_stream(found),
        top.conversation(_with_documents(meant.messages, documents), meant.misses),
        opened.source,
        found,
        headers or {},
        top.include_usage,
        opened.repairs,
        plain.traits if plain is not None else None,
    )


def _no_messages(found: Mapping[str, Raw]) -> MalformedRequest:
    """Version 1 of the API has tools, documents and search of other kinds: half of such a request would be lost."""
    older = next((name for name in _VERSION_1 if name in found), None)
    if older is None:
        return MalformedRequest("there are no messages", at="/messages", hint='a Cohere request has "messages"')
    return MalformedRequest(
        f'"{older}" belongs to version 1 of Cohere\'s API, which is not served',
        at=f"/{older}",
        hint='send "messages", as ClientV2.chat does: the preamble as a system message, chat_history with its roles '
        "CHATBOT as assistant and USER as user, and message as the last user message",
    )


_VERSION_1 = ("message", "chat_history", "preamble")


def _parse_meant(raw: Raw, members: MeantMembers) -> MeantMessages:
    """Messages that may not fit the schema. A system text in a field of its own opens them."""
    found = parse_meant(raw, FORM, parse_messages, members.list_name)
    if not members.system:
        return MeantMessages(found.messages, (*members.misses, *found.misses))
    system = Message(SYSTEM, tuple([Text(literal) for literal in members.system]), FIELD)
    return MeantMessages((system, *found.messages), (*members.misses, *found.misses))


def _with_documents(messages: tuple[Message, ...], documents: Message | None) -> tuple[Message, ...]:
    """The documents stand before the first turn: all of the conversation may be about them."""
    if documents is None:
        return messages
    opening = next((at for at, message in enumerate(messages) if message.role is not SYSTEM), len(messages))
    return (*messages[:opening], documents, *messages[opening:])


def locate(message: Message, part: int | None) -> str:
    """The pointer to a message of a parsed request, or to one of its parts."""
    if is_documents(message):
        return "/documents" if part is None else f"/documents/{part}"
    if message.at == FIELD:
        return "/system"
    return f"/messages/{message.at}" if part is None else locate_parts(message)[part]


def locate_parts(message: Message) -> list[str]:
    """The pointers to all parts of a message. One part's depends on how many of its kind stand before it."""
    if message.at == FIELD:
        return [locate(message, part) for part in range(len(message.parts))]
    if message.role is TOOL:
        return [f"/messages/{message.at + part}" for part in range(len(message.parts))]
    at = f"/messages/{message.at}"
    calls = sum(type(part) is Call for part in message.parts)
    counts = {Call: 0, Citation: 0, Part: 0}
    pointers: list[str] = []
    for part in message.parts:
        kind: type[Part] = type(part) if type(part) in (Call, Citation) else Part
        pointers.append(at + _place(message, part, kind, counts[kind], calls > 0))
        counts[kind] += 1
    return pointers


def _place(message: Message, part: Part, kind: type[Part], number: int, calls: bool) -> str:
    if kind is Call:
        return f"/tool_calls/{number}"
    if kind is Citation:
        return f"/citations/{number}"
    if type(part) is Text and not message.listed:
        # Beside calls it may be the plan or the content: the message holds it in any case.
        return "" if calls else "/content"
    return f"/content/{number}"
