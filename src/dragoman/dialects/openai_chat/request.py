"""OpenAI Chat Completions requests, both ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.messages import TOOL, Message
from dragoman.conversation.parts import Call, Json, Opaque, Reasoning, Refusal, Result, Text
from dragoman.dialects import rendering
from dragoman.dialects.openai_chat import write
from dragoman.dialects.openai_chat.plain import read_plain
from dragoman.dialects.openai_chat.read import DIALECT, read_messages
from dragoman.dialects.openai_chat.settings import read_top, write_top
from dragoman.dialects.parsing import read_model, reading
from dragoman.dialects.rendering import Pieces, RenderOptions
from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import members, readable, refuse_duplicates

LIST = "messages"
PATH = "/chat/completions"
TELLS_MODEL = True
HEADERS: dict[str, str] = {}


@reading
def parse_request(body: bytes, *, headers: Mapping[str, str] | None = None) -> Ask:
    """A client's request. Raises MalformedRequest or DuplicateKey, with a pointer."""
    source, repairs = readable(body)
    found = members(source)
    refuse_duplicates(source, found)
    raw = found.get(LIST)
    if raw is None:
        raise MalformedRequest("there are no messages", at="/messages", hint='a Chat request has "messages"')
    top = read_top(found)
    plain = read_plain(raw)
    messages = plain.messages if plain is not None else read_messages(raw)
    conversation = Conversation(messages, top.tools, top.settings, top.extras, None, top.empty_tools)
    return Ask(
        DIALECT,
        read_model(found),
        bytes(found.get("stream", b"")) == b"true",
        conversation,
        source,
        found,
        headers or {},
        top.include_usage,
        repairs,
        plain.traits if plain is not None else None,
    )


def render_request(conversation: Conversation, wanted: RenderOptions, ask: Ask | None = None) -> bytes:
    """The body: amended where `ask` is the client's own request in this dialect, else written anew."""
    if ask is not None:
        return rendering.amend(CODEC, ask, conversation, wanted)
    return rendering.render(CODEC, conversation, wanted)


def path(wanted: RenderOptions) -> str:
    return PATH


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


class _Codec:
    LIST = LIST
    TELLS_MODEL = TELLS_MODEL

    def write_members(self, conversation: Conversation, wanted: RenderOptions) -> dict[str, Json]:
        return write_top(conversation, wanted)

    def write_items(self, messages: Sequence[Message], start: int, stop: int, out: Pieces) -> None:
        write.write_items(messages, start, stop, out)


CODEC = _Codec()
