"""A first look at a request of an unknown dialect: its members, and the blocks that its messages hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

_NOTHING = Raw(b"null")


class _Turn(msgspec.Struct, gc=False):
    """A message, of which the content alone is looked at."""

    content: Raw = _NOTHING


_turns = msgspec.json.Decoder(list[_Turn]).decode


class RequestGlance:
    """What dialects recognise their requests by. Nothing is decoded before a dialect asks for it."""

    __slots__ = ("_blocks", "members")

    def __init__(self, members: Mapping[str, Any]) -> None:
        self.members = members
        """The members of the body, as raw JSON or decoded."""
        self._blocks: list[Any] | None = None if "messages" in members else []

    def has(self, names: frozenset[str]) -> bool:
        """Whether the body has one of these members."""
        return not names.isdisjoint(self.members)

    def mentions(self, member: str, name: bytes) -> bool:
        """Whether the JSON of a member holds a name somewhere, which costs less than to decode it."""
        raw = self.members.get(member, b"")
        return name in (bytes(raw) if isinstance(raw, (bytes, Raw)) else msgspec.json.encode(raw))

    def decoded(self, member: str) -> Any:
        """The value of a member; None if there is none."""
        return _decoded(self.members.get(member))

    @property
    def blocks(self) -> list[Any]:
        """The blocks of all messages whose content is a list."""
        if self._blocks is None:
            contents = [_decoded(content) for content in _contents(self.members["messages"])]
            self._blocks = [block for content in contents if isinstance(content, list) for block in content]
        return self._blocks


def _contents(messages: Any) -> Iterator[Any]:
    if isinstance(messages, (bytes, Raw)):
        try:
            return (turn.content for turn in _turns(messages) if bytes(turn.content)[:1] == b"[")
        except msgspec.ValidationError:  # no list of objects
            messages = _decoded(messages)
    turns = messages if isinstance(messages, list) else []
    return (turn.get("content") for turn in turns if isinstance(turn, dict))


def _decoded(value: Any) -> Any:
    return msgspec.json.decode(value) if isinstance(value, (bytes, Raw)) else value
