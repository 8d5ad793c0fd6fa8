"""A message: one role's words, calls or results, at a place of the client's request."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from dragoman.conversation.parts import CacheHint, Extras, Part

FIELD = -1
"""The `at` of a system text that stood in a field of its own, not in the list of messages."""
MADE = -2
"""The `at` of a message that a rule made up."""


class Role(StrEnum):
    SYSTEM = "system"
    DEVELOPER = "developer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


SYSTEM, DEVELOPER, USER, ASSISTANT, TOOL = Role
"""The roles as plain names: a look-up in the enum costs four times as much, and hot loops ask for them often."""


class Message(msgspec.Struct, frozen=True, gc=False):
    """One turn, or a part of one.

    How the client wrote it (listed, inline, blank, steps) may be changed by a rule, and takes no part in equality.
    """

    role: Role
    parts: tuple[Part, ...]
    at: int = MADE
    """Its index on the client's wire. Two messages of one wire item share it: a Claude user turn of results and text is
    TOOL and USER."""
    span: int = 1
    """How many wire items it came from."""
    name: str | None = None
    hint: CacheHint | None = None
    extras: Extras | None = None
    listed: bool = False
    """The content was written as a list."""
    inline: bool = False
    """A leading system text, written among the messages of a dialect that has a field for it."""
    prefill: str = ""
    """The mark on a last assistant message that the client wants continued, by its name."""
    role_text: str = ""
    """A role that we do not know (`role` is then USER)."""
    blank: bytes = b""
    """The JSON that stood for the content of a turn of nothing but calls, if there was any."""
    steps: int = 1
    """How many of the wire items it came from have calls. A server may take each for a step of its own."""

    def __eq__(self, other: object) -> bool:
        from dragoman.conversation.canonical import canonical

        return isinstance(other, Message) and (self is other or canonical(self) == canonical(other))

    def __hash__(self) -> int:
        return hash((self.role, len(self.parts)))


def find_waiting_results(messages: Sequence[Message]) -> int:
    """The place of the results that the model is to answer now; -1 if it is to answer something else.

    Instructions may follow them, and so may text of the same item: an agent writes its reminders there.
    """
    place = len(messages) - 1
    while place >= 0 and messages[place].role in (SYSTEM, DEVELOPER):
        place -= 1
    if place > 0 and messages[place].role is USER and messages[place].at == messages[place - 1].at:
        place -= 1
    return place if place >= 0 and messages[place].role is TOOL else -1
