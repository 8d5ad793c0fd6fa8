"""Frames that differ from an earlier one in their values alone.

Nearly every frame of a stream is the one before it with another word inside, and perhaps another number. Such a frame
needs no check of its own: around its values it has the bytes of a frame that was checked, so it has the same keys, and
if each value is a good JSON text or number, it is as readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import compress
from operator import ne

import msgspec

_ATTEMPTS = 12
"""How often a stream is looked at for its values. Each time costs more than the check of a frame."""
_MOST_VALUES = 4
_LONGEST = 4096
_NOWHERE = b"the beginning of no frame"
_START = re.compile(rb"(?:event: [\w.]+\r?\n)?data: ?(?=\{)")
_ESCAPED_TEXT = re.compile(r'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u(?![dD][89a-fA-F])[0-9a-fA-F]{4})*+')
"""What may stand between the quotes of a JSON text, except surrogates."""
_is_escaped_text = _ESCAPED_TEXT.fullmatch
_match_number = re.compile(rb"(\s*:\s*)([0-9]+)([,}\]][^0-9]*)").fullmatch
"""What stands between two texts: the number that is the value of a member, and what follows."""

_TEXTS = rb'(?:[^"\\e\x00-\x1f]++|e(?!rror)|\\["\\/bfnrt]|\\u(?!00[2-7]|[dD][89a-fA-F])[0-9a-fA-F]{4})*+'
"""The same in bytes, unless it speaks of an error, or has escapes that may hide a word."""
_NUMBERS = rb"(?:0|[1-9][0-9]*+)"

ValueCheck = Callable[[str], bool]
_decode_text = msgspec.json.Decoder(str).decode
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError)


def _is_text(value: str) -> bool:
    plain = value.isprintable() and '"' not in value and "\\" not in value
    return plain or _is_escaped_text(value) is not None


def _is_number(value: str) -> bool:
    return value.isdigit() and value.isascii() and (value[0] != "0" or value == "0")


class FrameTemplate:
    """What stands around the values of the frames of one stream, as far as that is known. `words` are the members that
    hold the model's words, or nothing that matters. `nulls` are members to take out of every frame. `followed` is the
    one of `words` whose values are shown to who follows them."""

    __slots__ = (
        *("_after", "_around", "_attempts", "_before", "_between", "_checks", "_cuts", "_follow", "_follow_at"),
        *("_followed", "_is_cut", "_is_lone_text", "_last", "_last_check", "_nulls", "_pieces", "_rest_after"),
        *("_rest_before", "_words", "differs_in_words"),
    )

    def __init__(
        self,
        words: frozenset[bytes] = frozenset(),
        nulls: tuple[bytes, ...] = (),
        followed: bytes = b"",
    ) -> None:
        self._words, self._nulls, self._followed = words, nulls, followed
        self._follow: Callable[[bytes], bool] | None = None
        self._follow_at = -1
        self._before, self._after = _NOWHERE, b""
        self._around = -1  # the length of no frame leaves that
        self._rest_before = self._rest_after = b""
        self._pieces: list[bytes] = []
        self._checks: list[ValueCheck] = []
        self._cuts: tuple[bytes, ...] = ()
        self._between: list[tuple[str, ValueCheck]] = []
        self._last_check: ValueCheck = _is_text
        self._is_lone_text = self._is_cut = False
        self._last: list[bytes] = []
        self._attempts = _ATTEMPTS
        self.differs_in_words = False
        """Whether the values that are known to differ are words: then such a frame tells nothing else that is new."""

    def fill(self, frame: bytes) -> bytes:
        """What goes out for a frame that is one that was checked, with other values. Nothing for any other frame, and
        nothing if its values speak of an error."""
        value = frame.removeprefix(self._before).removesuffix(self._after)
        size = len(value)
        if size != len(frame) - self._around or size > _LONGEST:
            return b""
        if not self._is_lone_text:
            return self._fill_many(frame, value)
        try:
            text = _decode_text(value)
        except _UNREADABLE:
            return b""
        if "error" in text or value.strip() != value or (self._follow is not None and not self._follow(value)):
            return b""
        return self._rest_before + value + self._rest_after if self._is_cut else frame

    def _fill_many(self, frame: bytes, values: bytes) -> bytes:
        try:
            rest = values.decode()
        except UnicodeDecodeError:
            return b""
        if "error" in rest:
            return b""
        for piece, check in self._between:
            value, found, rest = rest.partition(piece)
            if not found or not check(value):
                return b""
        if not self._last_check(rest):
            return b""
        if self._follow is not None and not self._follow(self._find_followed(values)):
            return b""
        return without_members(frame, self._nulls) if self._is_cut else frame

    def _find_followed(self, values: bytes) -> bytes:
        """The value that is followed, as JSON. It stands between the pieces, which were all found."""
        at = self._follow_at
        for piece, _ in self._between[:at]:
            values = values.partition(piece.encode())[2]
        return b'"%b"' % (values.partition(self._between[at][0].encode())[0] if at < len(self._between) else values)

    def runs_in(self, data: bytes, last: FrameRuns | None = None) -> FrameRuns:
        """Where frames that are known stand together; `last` is what was found in the same data before."""
        return last if last is not None and last.pieces is self._pieces else FrameRuns(data, self._pieces, self._checks)

    def cut(self, run: bytes) -> bytes:
        """What goes out for frames that are known."""
        return without_members(run, self._cuts)

    @property
    def has_given_up(self) -> bool:
        """Whether it learns nothing more, and knows no frames but those that runs tell."""
        return not self._attempts and self._follow is None

    def learn(self, frame: bytes, follow: Callable[[bytes], bool] | None = None) -> None:
        """Take a frame that was checked, with its data in one line. Its values are where it differs from the last.
        `follow` is shown its followed member, and says whether a frame with such a value is one of these."""
        if not self._attempts or len(frame) > _LONGEST:
            return
        self._attempts -= 1
        last, self._last = self._last, _split_quotes(frame)
        pieces, checks = _split(last, self._last, frame)
        if not checks or b"error" in frame:
            return
        names = [_name_before_value(piece) for piece in pieces[:-1]]
        in_words, followed = self._words.issuperset(names), self._followed
        follow_at = names.index(followed) if followed in names else -1
        count = frame.count(b'"%b"' % followed) if followed else 0
        if count > 1 or (count and (follow_at < 0 or not in_words or follow is None)):
            return  # it may not be among what is known, and is of the one call that these words are all about
        self._follow, self._follow_at = (follow, follow_at) if follow_at >= 0 else (None, -1)
        self._hold(pieces, checks)
        self.differs_in_words = in_words

    def _hold(self, pieces: list[bytes], checks: list[ValueCheck]) -> None:
        self._pieces, self._checks = pieces if self._follow is None else [], checks
        self._is_lone_text = checks == [_is_text]
        if self._is_lone_text:  # it is read with its quotes
            pieces = [pieces[0][:-1], pieces[1][1:]]
        self._before, self._after = pieces[0], pieces[-1]
        self._around = len(self._before) + len(self._after)
        self._between = list(zip([piece.decode() for piece in pieces[1:-1]], checks, strict=False))
        self._last_check = checks[-1]
        rests = [without_members(piece, self._nulls) for piece in pieces]
        self._rest_before, self._rest_after = rests[0], rests[-1]
        self._cuts = tuple([member for member in self._nulls if any(member in piece for piece in pieces)])
        self._is_cut = bool(self._cuts)


class FrameRuns:
    """Where frames of a template stand one after the other in a piece of a stream: one pattern tells all of them."""

    __slots__ = ("_match", "_searched", "pieces")

    def __init__(self, data: bytes, pieces: list[bytes], checks: list[ValueCheck]) -> None:
        self.pieces = pieces
        self._searched = b"\0".join((data, *pieces)) if pieces and _is_readable(data) else b""
        self._match = _run_pattern(tuple([_TEXTS if check is _is_text else _NUMBERS for check in checks])).match

    def find_end(self, at: int) -> int:
        """Where the run ends that begins here; here, if none does."""
        found = self._match(self._searched, at)
        return at if found is None else found.end()


def _is_readable(data: bytes) -> bool:
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


@lru_cache(maxsize=16)
def _run_pattern(values: tuple[bytes, ...]) -> re.Pattern[bytes]:
    """Frames with such values. The bytes around the values stand behind the data, each after a zero byte, so that one
    pattern serves all streams."""
    pieces = rb"\0([^\0]*)" * (len(values) + 1)
    frame = b"".join([rb"\%d%b" % pair for pair in enumerate((*values, b""), 1)])
    return re.compile(rb"(?=.*%b\Z)(?:%b)++" % (pieces, frame), re.DOTALL)


def without_members(data: bytes, members: tuple[bytes, ...]) -> bytes:
    """The frames without these members, each as it stands there."""
    for member in members:
        if member in data:
            data = data.replace(member, b"")
    return data


def _split(old: list[bytes], new: list[bytes], frame: bytes) -> tuple[list[bytes], list[ValueCheck]]:
    """The pieces around the values in which a frame differs from the last, and the checks of those values. Both are
    given as what stands between their quotes."""
    if len(old) != len(new):
        return [], []
    indexes = list(compress(range(len(new)), map(ne, old, new)))
    if len(indexes) > _MOST_VALUES or _START.match(frame) is None:
        return [], []
    pieces: list[bytes] = []
    checks: list[ValueCheck] = []
    begun = 0
    for index in indexes:
        at = sum(map(len, new[:index])) + index
        span = _text_span(new[index], new[index + 1]) if index % 2 else _number_span(old[index], new[index])
        if span is None:
            return [], []
        pieces.append(frame[begun : at + span[0]])
        checks.append(_is_text if index % 2 else _is_number)
        begun = at + span[1]
    return [*pieces, frame[begun:]], checks


def _name_before_value(piece: bytes) -> bytes:
    """The name of the member whose value begins where a piece ends."""
    return piece.rstrip(b' :"').rpartition(b'"')[2]


def _split_quotes(frame: bytes) -> list[bytes]:
    """What stands between quotes: each second piece is a text. Quotes within a text are masked, at equal length."""
    if b"\\" in frame:
        frame = frame.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    return frame.split(b'"')


def _text_span(text: bytes, after: bytes) -> tuple[int, int] | None:
    """The whole text, unless it is a key."""
    return None if after.lstrip()[:1] == b":" else (0, len(text))


def _number_span(one: bytes, other: bytes) -> tuple[int, int] | None:
    """The number, if two pieces differ in nothing else."""
    was, now = _match_number(one), _match_number(other)
    if was is None or now is None or (was[1], was[3]) != (now[1], now[3]):
        return None
    return now.span(2)
