"""A client's Chat request to our values."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.conversation import Ask
from dragoman.conversation.messages import TOOL, Message
from dragoman.conversation.parts import Call, Opaque, Reasoning, Refusal, Result, Text
from dragoman.dialects.openai_chat import NAME
from dragoman.dialects.openai_chat.message_parse import parse_messages
from dragoman.dialects.openai_chat.plain_messages import parse_plain
from dragoman.dialects.openai_chat.settings import parse_top_level
from dragoman.dialects.parsing import asks_for_stream, open_body, parse_model, request_parser
from dragoman.errors import MalformedRequest


@request_parser
def parse_request(body: bytes, *, headers: Mapping[str, str] | None = None) -> Ask:
    """A client's request. Raises MalformedRequest or DuplicateKey, with a pointer."""
    opened = open_body(body)
    found = opened.members
    raw = found.get("messages")
    if raw is None:
        raise MalformedRequest("there are no messages", at="/messages", hint='a Chat request has "messages"')
    top = parse_top_level(found)
    plain = parse_plain(raw)
    messages = plain.messages if plain is not None else parse_messages(raw)
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
    if message.role is TOOL:
        return f"/messages/{message.at + (part or 0)}"
    at = f"/messages/{message.at}"
    if part is None:
        return at
    value = message.parts[part]
    same = sum(1 for other in message.parts[:part] if type(other) is type(value))
    match value:
        case Call():
            return f"{at}/function_call" if value.spelled else f"{at}/tool_calls/{same}"
        case Reasoning():
            return f"{at}/{value.field}"
        case Refusal() if not message.listed:
            return f"{at}/refusal"
        case Opaque(kind="audio"):
            return f"{at}/audio"
        case Result() | Text() if not message.listed:
            return f"{at}/content"
    said = sum(1 for other in message.parts[:part] if not isinstance(other, (Reasoning, Call)))
    return f"{at}/content/{said}" if message.listed else f"{at}/content"
