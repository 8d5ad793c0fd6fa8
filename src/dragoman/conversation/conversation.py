"""The conversation: what every dialect is read into and written from, and every rule looks at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from dragoman.conversation.messages import Message, Role
from dragoman.conversation.near_misses import NearMiss
from dragoman.conversation.parts import CacheHint, Extras
from dragoman.conversation.settings import Settings
from dragoman.conversation.tools import NativeTool, Tool

SYSTEM_ROLES = (Role.SYSTEM, Role.DEVELOPER)


class Conversation(msgspec.Struct, frozen=True, gc=False):
    """Messages in order, system texts among them where the client put them; tools; settings.

    `extras` are top-level fields of the client's dialect that have no counterpart elsewhere. `hint` is a cache hint
    for the whole request. `empty_tools`: the client sent an empty list of tools.
    `near_misses`: what was not written as the client's dialect has it, and still is where its text is copied.
    """

    messages: tuple[Message, ...]
    tools: tuple[Tool | NativeTool, ...] = ()
    settings: Settings = Settings()
    extras: Extras | None = None
    hint: CacheHint | None = None
    empty_tools: bool = False
    near_misses: tuple[NearMiss, ...] = ()

    def __eq__(self, other: object) -> bool:
        from dragoman.conversation.canonical import canonical

        return isinstance(other, Conversation) and (self is other or canonical(self) == canonical(other))

    def __hash__(self) -> int:
        return hash((len(self.messages), len(self.tools)))

    @property
    def opening(self) -> int:
        """How many system and developer messages stand before the first turn."""
        for index, message in enumerate(self.messages):
            if message.role not in SYSTEM_ROLES:
                return index
        return len(self.messages)


class RequestWrapper(msgspec.Struct, frozen=True, gc=False):
    """An object around a request. `at` points at the request in it, `lost` are the members beside it."""

    at: str
    lost: tuple[str, ...] = ()


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
    made: Mapping[Any, Any] = {}
    """What was made of the messages on the turn before, by keys of those who made it."""


class Ask(msgspec.Struct, frozen=True, gc=False):
    """A client's request, read once and compiled for every attempt.

    `source` is the client's own text and `members` its top-level members as raw JSON: what no rule touches is written
    from them. `include_usage` is Chat's wish for a usage chunk. `repairs` are sentences about what had to be mended
    before the text could be read at all. `traits` are those of the messages, where the reader has seen them on its way.
    `wrapper`: the request stood inside another object. `known`: what is remembered of the conversation, if anything.
    """

    dialect: str
    model: str | None
    stream: bool
    conversation: Conversation
    source: bytes
    members: Mapping[str, bytes | msgspec.Raw] = {}
    headers: Mapping[str, str] = {}
    include_usage: bool = False
    repairs: tuple[str, ...] = ()
    traits: int | None = None
    wrapper: RequestWrapper | None = None
    known: KnownBeginning | None = None
