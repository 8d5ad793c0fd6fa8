"""Frames that differ from an earlier one in their values alone.

Nearly every frame of a stream is the one before it with another word inside, and perhaps another number. Such a frame
needs no check of its own: around its values it has the bytes of a frame that was checked, so it has the same keys, and
where each value is a good JSON text or number, it is as readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_ATTEMPTS = 12
"""How often a stream is looked at for its values. Each time costs more than the check of a frame."""
_MOST_VALUES = 4
_LONGEST = 4096
_NEAR = 64
"""By how much the lengths of two frames differ whose values alone may differ."""
_NOWHERE = b"the beginning of no frame"
_START = re.compile(rb"(?:event: [\w.]+\r?\n)?data: ?(?=\{)")
_ESCAPED_TEXT = re.compile(r'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4})*+')
"""What may stand between the quotes of a JSON text, except surrogates."""
_is_escaped_text = _ESCAPED_TEXT.fullmatch
_match_number = re.compile(rb"(\s*:\s*)([0-9]+)([,}\]][^0-9]*)").fullmatch
"""What stands between two texts: the number that is the value of a member, and what follows."""

ValueCheck = Callable[[str], bool]


def _is_text(value: str) -> bool:
    plain = value.isprintable() and '"' not in value and "\\" not in value
    return plain or _is_escaped_text(value) is not None


def _is_number(value: str) -> bool:
    return value.isdigit() and value.isascii() and (value[0] != "0" or value == "0")


class FrameTemplate:
    """What stands around the values of the frames of one stream, as far as that is known."""

    __slots__ = (
        "_after",
        "_attempts",
        "_before",
        "_between",
        "_end",
        "_ends_in_text",
        "_last",
        "_last_check",
        "_start",
    )

    def __init__(self) -> None:
        self._before, self._after = _NOWHERE, b""
        self._start = self._end = 0
        self._between: list[tuple[str, ValueCheck]] = []
        self._last_check: ValueCheck = _is_text
        self._ends_in_text = True
        self._last = b""
        self._attempts = _ATTEMPTS

    def fits(self, frame: bytes) -> bool:
        """Whether a frame is one that was checked, with other values. Not where they speak of an error."""
        if not frame.startswith(self._before) or not frame.endswith(self._after):
            return False
        start, end = self._start, self._end
        if len(frame) < start - end:
            return False
        try:
            rest = frame[start:end].decode()
        except UnicodeDecodeError:
            return False
        if "error" in rest:
            return False
        for piece, check in self._between:
            value, found, rest = rest.partition(piece)
            if not found or not check(value):
                return False
        plain = self._ends_in_text and rest.isprintable() and '"' not in rest and "\\" not in rest
        return plain or self._last_check(rest)

    def learn(self, frame: bytes) -> None:
        """Take a frame that was checked, with its data in one line. Its values are where it differs from the last."""
        last, self._last = self._last, frame
        if not self._attempts or len(frame) > _LONGEST or abs(len(frame) - len(last)) > _NEAR or b"error" in frame:
            return
        self._attempts -= 1
        pieces, checks = _split(last, frame)
        if checks:
            self._before, self._after = pieces[0], pieces[-1]
            self._start, self._end = len(self._before), -len(self._after)
            self._between = list(zip([piece.decode() for piece in pieces[1:-1]], checks, strict=False))
            self._last_check, self._ends_in_text = checks[-1], checks[-1] is _is_text


def _split(last: bytes, frame: bytes) -> tuple[list[bytes], list[ValueCheck]]:
    """The pieces around the values in which two frames differ, and the checks of those values."""
    old, new = _quoted(last), _quoted(frame)
    pieces: list[bytes] = []
    checks: list[ValueCheck] = []
    at = begun = 0
    if len(old) != len(new) or _START.match(frame) is None:
        return [], []
    for index, (one, other) in enumerate(zip(old, new, strict=True)):
        if one != other:
            span = _text_span(other, new[index + 1]) if index % 2 else _number_span(one, other)
            if span is None or len(checks) == _MOST_VALUES:
                return [], []
            pieces.append(frame[begun : at + span[0]])
            checks.append(_is_text if index % 2 else _is_number)
            begun = at + span[1]
        at += len(other) + 1
    return [*pieces, frame[begun:]], checks


def _quoted(frame: bytes) -> list[bytes]:
    """What stands between quotes: each second piece is a text. Quotes within a text are masked, at equal length."""
    if b"\\" in frame:
        frame = frame.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    return frame.split(b'"')


def _text_span(text: bytes, after: bytes) -> tuple[int, int] | None:
    """The whole text, unless it is a key."""
    return None if after.lstrip()[:1] == b":" else (0, len(text))


def _number_span(one: bytes, other: bytes) -> tuple[int, int] | None:
    """The number, where two pieces differ in nothing else."""
    was, now = _match_number(one), _match_number(other)
    if was is None or now is None or (was[1], was[3]) != (now[1], now[3]):
        return None
    return now.span(2)
