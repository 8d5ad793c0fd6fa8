"""OpenAI Responses requests, both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.messages import FIELD, Message, Role
from dragoman.conversation.parts import Json
from dragoman.dialects import rendering
from dragoman.dialects.openai_responses import write
from dragoman.dialects.openai_responses.content import DIALECT
from dragoman.dialects.openai_responses.read import read_instructions, read_messages
from dragoman.dialects.openai_responses.settings import read_top, write_top
from dragoman.dialects.parsing import read_model, reading
from dragoman.dialects.rendering import Pieces, RenderOptions
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import members, readable, refuse_duplicates

LIST = "input"
PATH = "/responses"
TELLS_MODEL = True
HEADERS: dict[str, str] = {}
_STORED = ("previous_response_id", "conversation", "prompt")
"""Members beside which there need not be any input."""


@reading
def parse_request(body: bytes, *, headers: Mapping[str, str] | None = None) -> Ask:
    """A client's request. Raises MalformedRequest or DuplicateKey, with a pointer."""
    source, repairs = readable(body)
    found = members(source)
    refuse_duplicates(source, found)
    if LIST not in found and not any(key in found for key in _STORED):
        raise MalformedRequest("there is no input", at="/input", hint='a Responses request has "input"')
    top = read_top(found)
    messages = read_instructions(bytes(found.get("instructions", b""))) + read_messages(bytes(found.get(LIST, b"")))
    conversation = Conversation(tuple(messages), top.tools, top.settings, top.extras, empty_tools=top.empty_tools)
    stream = bytes(found.get("stream", b"")) == b"true"
    return Ask(DIALECT, read_model(found), stream, conversation, source, found, headers or {}, True, repairs)


def render_request(conversation: Conversation, wanted: RenderOptions, ask: Ask | None = None) -> bytes:
    """The body: amended where `ask` is the client's own request in this dialect, else written anew."""
    if ask is None:
        return rendering.render(CODEC, conversation, wanted)
    if conversation.messages is not ask.conversation.messages:
        ask = msgspec.structs.replace(ask, members={**ask.members, LIST: _listed(bytes(ask.members.get(LIST, b"")))})
    return rendering.amend(CODEC, ask, conversation, wanted)


def _listed(raw: bytes) -> bytes:
    """The input as a list of items, for a list that is to be amended."""
    if raw[:1] == b'"':
        return b'[{"type":"message","role":"user","content":' + raw + b"}]"
    return raw if raw[:1] == b"[" else b"[]"


def path(wanted: RenderOptions) -> str:
    return PATH


def locate(message: Message, part: int | None) -> str:
    """The pointer to a message of a parsed request, or to one of its parts."""
    if message.at == FIELD:
        return "/instructions"
    at = f"/input/{message.at}"
    if part is None:
        return at
    if message.role is Role.TOOL:
        return f"/input/{message.at + part}"
    if message.role is not Role.ASSISTANT:
        return f"{at}/content/{part}" if message.listed else f"{at}/content"
    passed = 0
    for index, parts in enumerate(write.turn_items(message.parts)):
        if part < passed + len(parts):
            at = f"/input/{message.at + index}"
            return f"{at}/content/{part - passed}" if len(parts) > 1 else at
        passed += len(parts)
    return at


class _Codec:
    LIST = LIST
    TELLS_MODEL = TELLS_MODEL

    def write_members(self, conversation: Conversation, wanted: RenderOptions) -> dict[str, Json]:
        return write_top(conversation, wanted)

    def write_items(self, messages: Sequence[Message], start: int, stop: int, out: Pieces) -> None:
        write.write_items(messages, start, stop, out)


CODEC = _Codec()
