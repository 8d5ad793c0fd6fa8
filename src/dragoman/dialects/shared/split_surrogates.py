r"""Surrogate pairs that a server split: `\ud83d` at the end of one delta, `\ude00` at the start of the next.

JSON decoders refuse half a pair. Such a frame is marked so that it can be decoded, and the halves of successive deltas
are joined again. A half without its partner becomes U+FFFD.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from dragoman.conversation.events import CallDelta, Event, ReasoningDelta, RefusalDelta, TextDelta
from dragoman.wire.json_reader import hide_backslashes, replace_in_stretches, replace_lone_surrogates, show_backslashes

_DELTAS: frozenset[type[Any]] = frozenset({TextDelta, ReasoningDelta, RefusalDelta, CallDelta})
_REPLACEMENT = b'"\\ufffd"'
_ESCAPE = re.compile(rb"\\u(?=[dD][89a-fA-F][0-9a-fA-F]{2})")
_MARKED = re.compile(rb"\\u0001([dD][89a-fA-F][0-9a-fA-F]{2})")
_LAST_HIGH = re.compile(rb'\\u[dD][89abAB][0-9a-fA-F]{2}"')
_FIRST_LOW = re.compile(rb'"(?=\\u[dD][c-fC-F][0-9a-fA-F]{2})')


class SurrogateMender(Struct, eq=False):
    """Costs nothing until a frame turns up that holds half a pair: then `found` is set and all deltas are looked at."""

    found: bool = False
    _waiting: dict[tuple[type[Any], int, int], bytes] = {}
    """First halves that wait for their partner, by the text they belong to."""

    def mark(self, frame: bytes) -> bytes:
        """The frame in a form that can be decoded."""
        hidden = mark_surrogates(frame)
        self.found = self.found or hidden != frame
        return hidden

    def mend(self, out: list[Event], start: int) -> None:
        for place in range(start, len(out)):
            event: Any = out[place]
            if type(event) in _DELTAS:
                literal = self._join((type(event), event.choice, event.part), event.literal)
                out[place] = replace(event, literal=literal)

    def _join(self, text: tuple[type[Any], int, int], literal: bytes) -> bytes:
        """The literal without marks. A first half at its end is kept for the next one."""
        literal = b'"' + self._waiting.pop(text, b"") + replace_in_stretches(_unmark, literal)[1:]
        if _LAST_HIGH.fullmatch(literal, len(literal) - 7) and _begins_escape(literal, len(literal) - 7):
            self._waiting[text] = literal[-7:-1]
            literal = literal[:-7] + b'"'
        return replace_lone_surrogates(literal)

    def flush(self, out: list[Event]) -> None:
        """Half a pair at the very end of a text."""
        for kind, choice, part in self._waiting:
            out.append(kind(choice, part, _REPLACEMENT))


class HalfPairs(Struct, eq=False):
    """The halves of one relayed stream, whose frames are not read: the one that ends a text waits for the next text
    that begins with the other."""

    _waiting: bytes = b""

    def join(self, frame: bytes) -> bytes:
        """A frame that cannot be decoded, without half a pair."""
        if b"\0" in frame:  # which is no JSON
            return frame
        text = hide_backslashes(frame)
        if self._waiting and (low := _FIRST_LOW.search(text)) is not None:
            text, self._waiting = text[: low.end()] + self._waiting + text[low.end() :], b""
        if (high := _LAST_HIGH.search(text)) is not None:
            text, self._waiting = text[: high.start()] + text[high.end() - 1 :], high[0][:-1]
        return replace_lone_surrogates(show_backslashes(text))


def mark_surrogates(frame: bytes) -> bytes:
    """The frame with a control character in each surrogate escape, so that a decoder accepts it."""
    if b"\0" in frame:  # which is no JSON
        return frame
    return replace_in_stretches(_mark, frame)


def _mark(text: bytes) -> bytes:
    return show_backslashes(_ESCAPE.sub(rb"\\u0001", hide_backslashes(text)))


def _unmark(text: bytes) -> bytes:
    return _MARKED.sub(rb"\\u\1", text)


def _begins_escape(literal: bytes, at: int) -> bool:
    """Whether the backslash there begins an escape, and is not itself escaped."""
    before = literal[:at]
    return (at - len(before.rstrip(b"\\"))) % 2 == 0
