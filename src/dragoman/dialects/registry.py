"""The dialects by name, loaded when first used, and how a request's dialect is recognised by its shape."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol, cast

import msgspec

from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.messages import Message
from dragoman.dialects.rendering import RenderOptions
from dragoman.errors import TargetError, near_match

PACKAGES = {
    "openai-chat": "dragoman.dialects.openai_chat",
    "openai-responses": "dragoman.dialects.openai_responses",
    "anthropic": "dragoman.dialects.anthropic",
    "gemini": "dragoman.dialects.gemini",
}


class Requests(Protocol):
    """The module `request` of a dialect.

    `TELLS_MODEL`: its body, not its path, names the model and asks for a stream. `HEADERS` go with every request.
    """

    TELLS_MODEL: bool
    HEADERS: Mapping[str, str]

    def parse_request(self, body: bytes, *, headers: Mapping[str, str] | None = None) -> Ask: ...

    def render_request(self, conversation: Conversation, wanted: RenderOptions, ask: Ask | None = None) -> bytes: ...

    def path(self, wanted: RenderOptions) -> str: ...

    def locate(self, message: Message, part: int | None) -> str: ...


class Counting(Protocol):
    """The module `counting` of a dialect that can count tokens before a request is sent."""

    PATH: str
    FIGURE: str

    def question(self, body: bytes) -> bytes: ...

    def countable(self, body: bytes, model: str) -> bytes: ...


@lru_cache(maxsize=8)
def counting(dialect: str) -> Counting:
    """How a dialect counts; only for those whose providers have an endpoint for it."""
    return cast(Counting, import_module(PACKAGES[dialect] + ".counting"))


@lru_cache(maxsize=8)
def requests(dialect: str) -> Requests:
    """The request codec of a dialect."""
    if dialect not in PACKAGES:
        raise TargetError(f'no dialect is called "{dialect}"; {near_match(dialect, PACKAGES)}')
    return cast(Requests, import_module(PACKAGES[dialect] + ".request"))


_BLOCKS = frozenset(
    {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document", "server_tool_use"}
)


def recognise(body: Mapping[str, Any]) -> str:
    """The dialect of a request, by its members; Chat where nothing speaks against it."""
    if "contents" in body:
        return "gemini"
    if "input" in body:
        return "openai-responses"
    if body.keys() & {"system", "anthropic_version", "stop_sequences"} or _anthropic_inside(body):
        return "anthropic"
    return "openai-chat"


def _anthropic_inside(body: Mapping[str, Any]) -> bool:
    tools = _decoded(body.get("tools"))
    if isinstance(tools, list) and any(isinstance(tool, dict) and "input_schema" in tool for tool in tools):
        return True
    messages = _decoded(body.get("messages"))
    if not isinstance(messages, list):
        return False
    contents = (message.get("content") for message in messages if isinstance(message, dict))
    return any(
        isinstance(block, dict) and isinstance(block.get("type"), str) and block["type"] in _BLOCKS
        for content in contents
        if isinstance(content, list)
        for block in content
    )


def _decoded(raw: Any) -> Any:
    return msgspec.json.decode(raw) if isinstance(raw, (bytes, msgspec.Raw)) else raw
