"""A client's Gemini request to our values. Its path, and not its body, names the model and asks for a stream."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Raw

from dragoman.conversation.conversation import Ask
from dragoman.conversation.messages import FIELD, Message
from dragoman.dialects.gemini import NAME
from dragoman.dialects.gemini.message_parse import parse_messages
from dragoman.dialects.gemini.near_misses import FORM, MEMBERS
from dragoman.dialects.gemini.plain_messages import parse_opening, parse_plain
from dragoman.dialects.gemini.settings import SNAKE, parse_top_level
from dragoman.dialects.near_misses.lists import MeantMessages, parse_meant
from dragoman.dialects.near_misses.members import MeantMembers, parse_members_meant
from dragoman.dialects.parsing import open_body, parse_model, request_parser
from dragoman.dialects.plain_messages import Opening
from dragoman.errors import DuplicateKey, MalformedRequest


@request_parser
def parse_request(
    body: bytes, *, headers: Mapping[str, str] | None = None, model: str | None = None, stream: bool = False
) -> Ask:
    """A client's request. `model` and `stream` come from its path. Raises MalformedRequest or DuplicateKey."""
    opened = open_body(body)
    found = _renamed(opened.members)
    members = parse_members_meant(found, MEMBERS)
    raw = members.found.get("contents")
    if raw is None:
        raise MalformedRequest("there are no contents", at="/contents", hint='a Gemini request has "contents"')
    contents = bytes(raw)
    top = parse_top_level(members.found)
    opening = parse_opening(bytes(members.found.get("systemInstruction", b"")))
    plain = parse_plain(contents, opening) if members.found is found else None
    meant = MeantMessages(plain.messages) if plain is not None else _parse_meant(contents, opening, members)
    named = model or (parse_model(found) or "").removeprefix("models/") or None
    return Ask(
        NAME,
        named,
        stream,
        top.conversation(meant.messages, meant.misses),
        opened.source,
        found,
        headers or {},
        top.include_usage,
        opened.repairs,
        plain.traits if plain is not None else None,
    )


def _parse_meant(raw: bytes, opening: Opening, members: MeantMembers) -> MeantMessages:
    """Contents that may not fit the schema."""
    found = parse_meant(raw, FORM, parse_messages, members.list_name)
    return MeantMessages((*opening.messages, *found.messages), (*members.misses, *found.misses))


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
