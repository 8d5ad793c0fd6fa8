"""A call as far as a stream has told it, and whether it is told again.

vLLM tells the arguments of some calls once more at the end of a stream (vllm#42167, vllm#51697); other servers tell
each call whole, several times, or give all calls one number.
"""

from __future__ import annotations

import re

import msgspec

from dragoman.conversation.literals import EMPTY, quote, unquote
from dragoman.dialects.shared.raw_json import UNREADABLE, decode_members

OBJECT = b'"{'
_OBJECTS = (OBJECT, b'"\\u')
"""How the literal of a text begins that is an object, or may be one."""
_LONGEST_ARGUMENTS, _MOST_LOOKS = 1 << 16, 16
"""Bytes of the arguments of a call that are held, to know it if it is told again, and how often they are looked at."""


class BegunCall(msgspec.Struct, kw_only=True):
    """A call, as far as it was told."""

    given: str
    """Its id; empty if it has none, or that of another call."""
    name: str = ""
    arguments: bytearray = msgspec.field(default_factory=bytearray)
    """As they stand in the literal of their text; empty once they are too long to be compared."""
    looks: int = _MOST_LOOKS

    def grow(self, literal: bytes) -> None:
        if self.looks:
            self.arguments += literal[1:-1]
            if len(self.arguments) > _LONGEST_ARGUMENTS:
                self.looks, self.arguments = 0, bytearray()

    def goes_on(self, literal: bytes) -> bool:
        """Take the next piece of the arguments. Not one that may tell again what was told before."""
        if literal.startswith(_OBJECTS):
            return False
        self.grow(literal)
        return True

    def is_another(self, id: str | None, name: str | None) -> bool:
        """Whether a piece with a name begins another call under the same number."""
        return bool(name) and ((bool(id and self.given) and id != self.given) or bool(self.name and name != self.name))

    def rest_of(self, name: str, literal: bytes) -> bytes | None:
        """What is new in a piece that is an object in the middle of one: the call is told once more, from its
        beginning to its end, perhaps with other space between its words. None if the piece begins another call under
        the same number. An object that may stand where it comes is what it seems."""
        if not self.looks or not self.arguments or self.arguments.rstrip().endswith((b":", b"[")):
            return literal
        if not (name or literal.endswith(b'}"')):
            return literal  # a piece of code, mostly: there may be many
        self.looks -= 1
        held, is_object = b'"' + self.arguments + b'"', is_whole(literal)
        rest = _rest_after(unquote(held), unquote(literal)) if is_object and name in ("", self.name) else None
        if rest is not None:
            return quote(rest)
        if not is_whole(held):
            return literal
        return None if name else EMPTY if is_object else literal


_find_tokens = re.compile(r'"(?:[^"\\]|\\.)*+"?|[^\s"]', re.DOTALL).finditer
"""The texts of a JSON text, the last of which may have no end, and all characters beside them but for space."""


def _rest_after(beginning: str, words: str) -> str | None:
    """What of a JSON text stands behind its beginning; None if it begins otherwise."""
    left = "".join([token[0] for token in _find_tokens(beginning)])
    end = 0
    for token in _find_tokens(words):
        if not left:
            break
        if not token[0].startswith(left[: len(token[0])]):
            return None
        end = token.start() + min(len(left), len(token[0]))
        left = left[len(token[0]) :]
    return None if left else words[end:]


def is_whole(literal: bytes) -> bool:
    """Whether arguments are all there, so that no piece of them can follow."""
    try:
        return literal.endswith(b'}"') and decode_members(unquote(literal)) is not None
    except UNREADABLE:
        return False
