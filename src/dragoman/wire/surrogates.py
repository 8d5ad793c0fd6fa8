r"""Surrogate pairs that a server split: `\ud83d` at the end of one delta, `\ude00` at the start of the next.

JSON decoders refuse half a pair. Such a frame is marked so that it can be decoded, and the halves of successive deltas
are joined again. A half without its partner becomes U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Generic, TypeVar

from dragoman.wire.json_reader import hidden_backslashes, in_stretches, replace_lone_surrogates, shown_backslashes

Key = TypeVar("Key")

REPLACEMENT = b'"\\ufffd"'

_ESCAPE = re.compile(rb"\\u(?=[dD][89a-fA-F][0-9a-fA-F]{2})")
_MARKED = re.compile(rb"\\u0001([dD][89a-fA-F][0-9a-fA-F]{2})")
_LAST_HIGH = re.compile(rb'\\u[dD][89abAB][0-9a-fA-F]{2}"')


def mark_surrogates(frame: bytes) -> bytes:
    """The frame with a control character in each surrogate escape, so that a decoder accepts it."""
    if b"\0" in frame:  # which is no JSON
        return frame
    return in_stretches(_marked, frame)


def _marked(text: bytes) -> bytes:
    return shown_backslashes(_ESCAPE.sub(rb"\\u0001", hidden_backslashes(text)))


def _unmarked(text: bytes) -> bytes:
    return _MARKED.sub(rb"\\u\1", text)


def _begins_escape(literal: bytes, at: int) -> bool:
    """Whether the backslash there begins an escape, and is not itself escaped."""
    before = literal[:at]
    return (at - len(before.rstrip(b"\\"))) % 2 == 0


class SurrogateJoiner(Generic[Key]):
    """First halves that wait for their partner, by the text they belong to."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[Key, bytes] = {}

    def join(self, key: Key, literal: bytes) -> bytes:
        """The literal without marks. A first half at its end is kept for the next one."""
        literal = b'"' + self._waiting.pop(key, b"") + in_stretches(_unmarked, literal)[1:]
        if _LAST_HIGH.fullmatch(literal, len(literal) - 7) and _begins_escape(literal, len(literal) - 7):
            self._waiting[key] = literal[-7:-1]
            literal = literal[:-7] + b'"'
        return replace_lone_surrogates(literal)

    def leftovers(self) -> Iterator[Key]:
        """The texts that end with half a pair."""
        yield from self._waiting
