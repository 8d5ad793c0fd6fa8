"""What a rule did to a conversation, and what must be undone in the answer."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import msgspec

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.conversation.parts import Part


class Loss(IntEnum):
    """What a repair loses, in rising order of weight."""

    NOTHING = 0
    ORDER = 1
    METADATA = 2
    AUTHORITY = 3
    CONTENT = 4

    def __str__(self) -> str:
        return self.name.lower()


class Note(msgspec.Struct, frozen=True):
    """A rule's own account of one repair. Where it happened is said by value: a message and part of the conversation,
    or a top-level `key`; the engine turns that into a pointer into the client's request.

    `before` and `after` are the values (or their JSON-able stand-ins) from which the digests are made.
    """

    did: str
    message: Message | None = None
    part: Part | None = None
    key: str = ""
    loses: Loss | None = None
    adds: bool = False
    before: Any = None
    after: Any = None


class Undo(msgspec.Struct, frozen=True):
    """The target's tool names, call ids and argument names → the client's. `usage`: a stream tells what the client did
    not ask for."""

    names: Mapping[str, str] = {}
    ids: Mapping[str, str] = {}
    keys: Mapping[str, str] = {}
    usage: bool = False

    def __bool__(self) -> bool:
        return bool(self.names or self.ids or self.keys or self.usage)

    def then(self, later: Undo) -> Undo:
        """What both undo: the later one first."""
        if not later:
            return self
        names, ids = _through(self.names, later.names), _through(self.ids, later.ids)
        return Undo(names, ids, _through(self.keys, later.keys), self.usage or later.usage)


def _through(first: Mapping[str, str], later: Mapping[str, str]) -> Mapping[str, str]:
    return {**first, **{made: first.get(old, old) for made, old in later.items()}} if later else first


NOTHING_TO_UNDO = Undo()


class Rewrite(msgspec.Struct, frozen=True):
    """What a rule returns: the conversation (the same object if nothing changed), its notes, and its undo."""

    conversation: Conversation
    notes: tuple[Note, ...] = ()
    undo: Undo = NOTHING_TO_UNDO


class Change(msgspec.Struct, frozen=True):
    """One entry of the report. `at` is a JSON pointer into the client's request."""

    rule: str
    at: str
    did: str
    loses: str
    adds: bool
    before: str | None
    after: str | None
