"""Gemini generateContent requests, both ways. Model and streaming are told by the path, not by the body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from urllib.parse import quote as escape

import msgspec
from msgspec import Raw

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import FIELD, Message
from dragoman.conversation.parts import Json
from dragoman.dialects import rendering
from dragoman.dialects.gemini import write
from dragoman.dialects.gemini.read import DIALECT, read_messages, read_system
from dragoman.dialects.gemini.settings import SNAKE, read_top, write_top
from dragoman.dialects.parsing import read_model, reading
from dragoman.dialects.rendering import Pieces, RenderOptions
from dragoman.errors import DuplicateKey, MalformedRequest
from dragoman.wire.json_reader import items, members, readable, refuse_duplicates, write_list, write_object

LIST = "contents"
PATH = "/v1beta/models/"
TELLS_MODEL = False
HEADERS: dict[str, str] = {}
"""Model and stream are said by the path."""


@reading
def parse_request(
    body: bytes, *, headers: Mapping[str, str] | None = None, model: str | None = None, stream: bool = False
) -> Ask:
    """A client's request, with the model and the streaming of its path. Raises MalformedRequest or DuplicateKey."""
    source, repairs = readable(body)
    given = members(source)
    refuse_duplicates(source, given)
    found = _renamed(given)
    raw = found.get(LIST)
    if raw is None:
        raise MalformedRequest("there are no contents", at="/contents", hint='a Gemini request has "contents"')
    contents, mended = _listed(bytes(raw))
    found[LIST] = Raw(contents)
    if mended:
        source, repairs = write_object(found), (*repairs, "made a content of a text")
    top = read_top(found)
    messages = read_system(bytes(found.get("systemInstruction", b""))) + read_messages(contents)
    conversation = Conversation(tuple(messages), top.tools, top.settings, top.extras, empty_tools=top.empty_tools)
    named = model or (read_model(found) or "").removeprefix("models/") or None
    return Ask(DIALECT, named, stream, conversation, source, found, headers or {}, True, repairs)


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


def _listed(raw: bytes) -> tuple[bytes, bool]:
    """The contents as a list, and whether a text had to be made a content: SDKs take these, the API does not."""
    if raw[:1] == b"{":
        return b"[" + raw + b"]", False
    if raw[:1] == b'"':
        return write_list([_content(raw)]), True
    if raw[:1] != b"[":
        raise MalformedRequest("contents are not a list", at="/contents")
    if raw[1:64].lstrip()[:1] != b'"':
        return raw, False
    return write_list([_content(bytes(item)) for item in items(raw, "/contents")]), True


def _content(raw: bytes) -> bytes:
    return b'{"role":"user","parts":[{"text":' + raw + b"}]}" if raw[:1] == b'"' else raw


def render_request(conversation: Conversation, wanted: RenderOptions, ask: Ask | None = None) -> bytes:
    """The body: amended where `ask` is the client's own request in this dialect, else written anew."""
    if ask is None:
        return rendering.render(CODEC, conversation, wanted)
    told = "model" in ask.members
    if conversation is ask.conversation and (wanted.model == ask.model or not told):
        return ask.source
    if told and wanted.model != ask.model:
        ask = msgspec.structs.replace(ask, members={**ask.members, "model": quote(wanted.model)})
    return rendering.amend(CODEC, ask, conversation, wanted)


def path(wanted: RenderOptions) -> str:
    """Where the request goes: the model and the streaming stand here."""
    verb = "streamGenerateContent?alt=sse" if wanted.stream else "generateContent"
    return f"{PATH}{_escaped(wanted.model)}:{verb}"


@lru_cache(maxsize=256)
def _escaped(model: str) -> str:
    return escape(model.removeprefix("models/"), safe="/@:._-")


def locate(message: Message, part: int | None) -> str:
    """The pointer to a message of a parsed request, or to one of its parts."""
    at = "/systemInstruction" if message.at == FIELD else f"/contents/{message.at}"
    if part is None:
        return at
    if message.span > 1:
        return f"/contents/{message.at + min(part, message.span - 1)}"
    return f"{at}/parts/{part}"


class _Codec:
    LIST = LIST
    TELLS_MODEL = TELLS_MODEL

    def write_members(self, conversation: Conversation, wanted: RenderOptions) -> dict[str, Json]:
        return write_top(conversation, wanted)

    def write_items(self, messages: Sequence[Message], start: int, stop: int, out: Pieces) -> None:
        write.write_items(messages, start, stop, out)


CODEC = _Codec()
