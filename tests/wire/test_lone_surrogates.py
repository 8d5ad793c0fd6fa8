"""Half of a surrogate pair is mended wherever it stands; whole pairs, and text that only looks like one, stay."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.wire.json_reader import _STRETCH, readable, replace_lone_surrogates

_PIECES = st.sampled_from(
    [rb"\ud83d", rb"\ude00", rb"\uD83D", rb"\uDE00", rb"\\", rb"\n", b"a", rb"\u00e9", rb"\"", b"ud83d", rb"\\ud83d"]
)


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        (rb"\ud83d\ude00", rb"\ud83d\ude00"),
        (rb"\ud83d", rb"\ufffd"),
        (rb"\ude00", rb"\ufffd"),
        (rb"\\ud83d", rb"\\ud83d"),
        (rb"\\ud83d\ude00", rb"\\ud83d\ufffd"),
        (rb"\\\ud83d", rb"\\\ufffd"),
    ],
)
def test_Q37_halves_are_replaced(text: bytes, mended: bytes) -> None:
    body, repairs = readable(b'{"a":"' + text + b'"}')
    assert body == b'{"a":"' + mended + b'"}'
    assert bool(repairs) is (text != mended)


@given(st.lists(_PIECES, max_size=8).map(b"".join))
def test_Q37_the_quick_look_misses_nothing(text: bytes) -> None:
    body = b'{"a":"' + text + b'"}'
    assert readable(body)[0] == replace_lone_surrogates(body)


@pytest.mark.parametrize("back", range(9))
@pytest.mark.parametrize("between", [b"", b"a" * 3 * _STRETCH])
def test_Q37_a_half_at_the_end_of_a_searched_stretch_is_found(back: int, between: bytes) -> None:
    body = b'"' + between + rb"\n" + b"a" * (_STRETCH - back) + rb'\ud83d"'
    assert readable(body)[0] == body.replace(rb"\ud83d", rb"\ufffd")
