"""Anthropic Messages requests, both ways."""

from __future__ import annotations

from collections.abc import Mapping

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.messages import FIELD, Message
from dragoman.dialects.anthropic import NAME
from dragoman.dialects.anthropic.message_parse import parse_messages, parse_system
from dragoman.dialects.anthropic.settings import parse_top_level
from dragoman.dialects.dialect import RenderOptions
from dragoman.dialects.parsing import parse_model, request_parser
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import members, readable, refuse_duplicates

LIST = "messages"
PATH = "/v1/messages"
TELLS_MODEL = True
HEADERS = {"anthropic-version": "2023-06-01"}


@request_parser
def parse_request(body: bytes, *, headers: Mapping[str, str] | None = None) -> Ask:
    """A client's request. Raises MalformedRequest or DuplicateKey, with a pointer."""
    source, repairs = readable(body)
    found = members(source)
    refuse_duplicates(source, found)
    raw = found.get(LIST)
    if raw is None:
        raise MalformedRequest("there are no messages", at="/messages", hint='a Messages request has "messages"')
    top = parse_top_level(found)
    messages = parse_system(bytes(found.get("system", b""))) + parse_messages(raw)
    conversation = Conversation(
        tuple(messages), top.tools, top.settings, top.extras, top.hint, empty_tools=top.empty_tools
    )
    stream = bytes(found.get("stream", b"")) == b"true"
    return Ask(NAME, parse_model(found), stream, conversation, source, found, headers or {}, True, repairs)


def path(options: RenderOptions) -> str:
    return PATH


def locate(message: Message, part: int | None) -> str:
    """The pointer to a message of a parsed request, or to one of its parts."""
    at = "/system" if message.at == FIELD else f"/messages/{message.at}"
    if part is None:
        return at
    if message.at == FIELD:
        return f"{at}/{part}" if message.listed else at
    return f"{at}/content/{part}" if message.listed else f"{at}/content"
