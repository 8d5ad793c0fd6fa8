"""Anthropic Messages requests, both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.messages import FIELD, Message
from dragoman.conversation.parts import Json
from dragoman.dialects import rendering
from dragoman.dialects.anthropic import write
from dragoman.dialects.anthropic.read import DIALECT, read_messages, read_system
from dragoman.dialects.anthropic.settings import read_top, write_top
from dragoman.dialects.parsing import read_model, reading
from dragoman.dialects.rendering import Pieces, RenderOptions
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import members, readable, refuse_duplicates

LIST = "messages"
PATH = "/v1/messages"
TELLS_MODEL = True
HEADERS = {"anthropic-version": "2023-06-01"}


@reading
def parse_request(body: bytes, *, headers: Mapping[str, str] | None = None) -> Ask:
    """A client's request. Raises MalformedRequest or DuplicateKey, with a pointer."""
    source, repairs = readable(body)
    found = members(source)
    refuse_duplicates(source, found)
    raw = found.get(LIST)
    if raw is None:
        raise MalformedRequest("there are no messages", at="/messages", hint='a Messages request has "messages"')
    top = read_top(found)
    messages = read_system(bytes(found.get("system", b""))) + read_messages(raw)
    conversation = Conversation(
        tuple(messages), top.tools, top.settings, top.extras, top.hint, empty_tools=top.empty_tools
    )
    stream = bytes(found.get("stream", b"")) == b"true"
    return Ask(DIALECT, read_model(found), stream, conversation, source, found, headers or {}, True, repairs)


def render_request(conversation: Conversation, wanted: RenderOptions, ask: Ask | None = None) -> bytes:
    """The body: amended where `ask` is the client's own request in this dialect, else written anew."""
    if ask is not None:
        return rendering.amend(CODEC, ask, conversation, wanted)
    return rendering.render(CODEC, conversation, wanted)


def path(wanted: RenderOptions) -> str:
    return PATH


def locate(message: Message, part: int | None) -> str:
    """The pointer to a message of a parsed request, or to one of its parts."""
    at = "/system" if message.at == FIELD else f"/messages/{message.at}"
    if part is None:
        return at
    if message.at == FIELD:
        return f"{at}/{part}" if message.listed else at
    return f"{at}/content/{part}" if message.listed else f"{at}/content"


class _Codec:
    LIST = LIST
    TELLS_MODEL = TELLS_MODEL

    def write_members(self, conversation: Conversation, wanted: RenderOptions) -> dict[str, Json]:
        return write_top(conversation, wanted)

    def write_items(self, messages: Sequence[Message], start: int, stop: int, out: Pieces) -> None:
        write.write_items(messages, start, stop, out)


CODEC = _Codec()
