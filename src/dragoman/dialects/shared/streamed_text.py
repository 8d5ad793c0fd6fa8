"""Where the model's words stand in a stream that is relayed as it is.

Such a stream is not parsed. What it says is only looked for, and only if its tokens must be estimated.
"""

from __future__ import annotations

import re

import msgspec

# Possessive: a text without an end is read once and never again.
_STRING = rb'\s*+:\s*+"((?:[^"\\]++|\\.)*+)"'


class StringMember(msgspec.Struct, frozen=True):
    """Finds the contents of the strings that a member has, anywhere in a frame. Most frames do not have the member at
    all, which a plain search for its name tells in no time."""

    name: bytes
    pattern: re.Pattern[bytes]

    def find(self, frames: bytes) -> list[bytes]:
        return self.pattern.findall(frames) if self.name in frames else []


def string_members(*names: str) -> tuple[StringMember, ...]:
    quoted = [b'"' + name.encode() + b'"' for name in names]
    return tuple(StringMember(name, re.compile(name + _STRING, re.DOTALL)) for name in quoted)


class StreamedText(msgspec.Struct, frozen=True):
    """Patterns for the frames of a dialect."""

    text: tuple[StringMember, ...]
    """Texts that the model wrote."""
    calls: re.Pattern[bytes]
    """Calls that it made, each once."""
    state: tuple[StringMember, ...] = ()
    """Opaque state, if a stream has it once."""
    arguments: re.Pattern[bytes] | None = None
    """Arguments of calls, if they are no text."""
    changing: frozenset[bytes] = frozenset()
    """The members whose values change from frame to frame and tell nothing but those texts."""
    followed: bytes = b""
    """The one of them of which every value is looked at, since servers tell some twice."""
