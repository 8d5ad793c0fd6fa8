"""The conversation: what every dialect is read into and written from, and every rule looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dragoman.conversation.messages import DEVELOPER, SYSTEM, Message
from dragoman.conversation.near_misses import NearMiss
from dragoman.conversation.parts import CacheHint, Extras
from dragoman.conversation.settings import Settings
from dragoman.conversation.tools import NativeTool, Tool

SYSTEM_ROLES = (SYSTEM, DEVELOPER)


class Conversation(msgspec.Struct, frozen=True, gc=False):
    """Messages in order, system texts among them where the client put them; tools; settings."""

    messages: tuple[Message, ...]
    tools: tuple[Tool | NativeTool, ...] = ()
    settings: Settings = Settings()
    extras: Extras | None = None
    """Top-level fields of the client's dialect that have no counterpart elsewhere."""
    hint: CacheHint | None = None
    """A cache hint for the whole request."""
    empty_tools: bool = False
    """Whether the client sent an empty list of tools."""
    near_misses: tuple[NearMiss, ...] = ()
    """What was not written as the client's dialect has it, and still is if its text is copied."""

    def __eq__(self, other: object) -> bool:
        from dragoman.conversation.canonical import canonical

        return isinstance(other, Conversation) and (self is other or canonical(self) == canonical(other))

    def __hash__(self) -> int:
        return hash((len(self.messages), len(self.tools)))

    @property
    def opening(self) -> int:
        """How many system and developer messages stand before the first turn."""
        for index, message in enumerate(self.messages):
            if message.role is not SYSTEM and message.role is not DEVELOPER:
                return index
        return len(self.messages)


class RequestWrapper(msgspec.Struct, frozen=True, gc=False):
    """An object around a request."""

    at: str
    """Where the request stands in it."""
    lost: tuple[str, ...] = ()
    """The members beside the request."""


class KnownBeginning(msgspec.Struct):
    """What is remembered of a conversation: how it began on the turn before, and what was made of it."""

    keep: Callable[[Any, Any, int], None]
    """Keeps something in `made`, under its key and with the number of its bytes."""
    item: int = 0
    """Items at the beginning of the list of messages that are known."""
    end: int = 0
    """Where they end in the text of the list."""
    count: int = 0
    """Messages of the conversation before the first that is not known."""
    opening: int = 0
    """Messages before the list: those of a system text in a field of its own."""
    traits: int = 0
    """What is to be seen in the known messages of the list."""
    parts: int = 0
    """Parts of all messages of the list."""
    codes: str = ""
    """The letters of all messages, as `observe_roles` has them."""
    top: object = None
    """What stands around the list in the body: the same object as on the turn before, if it is the same text."""
    made: Mapping[Any, Any] = {}
    """What was made of the messages on the turn before, by keys of those who made it."""

    def forget(self) -> None:
        """Let go of the memory: the request is over, and somebody keeps it."""
        self.keep, self.made = _keep_nothing, {}


def _keep_nothing(key: Any, value: Any, size: int) -> None:
    """What is made of a request that is over is not remembered."""


class Ask(msgspec.Struct, frozen=True, gc=False):
    """A client's request, read once and compiled for every attempt."""

    dialect: str
    model: str | None
    stream: bool
    conversation: Conversation
    source: bytes
    """The client's own text."""
    members: Mapping[str, bytes | msgspec.Raw] = {}
    """Its top-level members as raw JSON. What no rule touches is written from them."""
    headers: Mapping[str, str] = {}
    include_usage: bool = False
    """Chat's request for a usage chunk."""
    repairs: tuple[str, ...] = ()
    """Sentences about what had to be mended before the text could be read at all."""
    traits: int | None = None
    """The traits of the messages, if the reader has seen them on its way."""
    wrapper: RequestWrapper | None = None
    """The request stood inside another object."""
    known: KnownBeginning | None = None
    """What is remembered of the conversation, if anything."""
