"""Half of a surrogate pair is mended wherever it stands; whole pairs, and text that only looks like one, stay."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.errors import MalformedRequest
from dragoman.wire.json_reader import _STRETCH, open_object, readable, replace_lone_surrogates, split_members

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


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_PIECES, max_size=8).map(b"".join))
def test_Q37_the_quick_look_misses_nothing(text: bytes) -> None:
    body = b'{"a":"' + text + b'"}'
    assert readable(body)[0] == replace_lone_surrogates(body)


@pytest.mark.parametrize("back", range(9))
@pytest.mark.parametrize("between", [b"", b"a" * 3 * _STRETCH])
def test_Q37_a_half_at_the_end_of_a_searched_stretch_is_found(back: int, between: bytes) -> None:
    body = b'"' + between + rb"\n" + b"a" * (_STRETCH - back) + rb'\ud83d"'
    assert readable(body)[0] == body.replace(rb"\ud83d", rb"\ufffd")


_WRAPPED = st.sampled_from(
    [b'{"a":"%b"}', b'{"%b":1}', b'{"a":[{"b":"%b"}]}', b'\xef\xbb\xbf{"a":"%b"}', b'{"a":"\xc3\xa9%b"}']
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(_PIECES, max_size=8).map(b"".join), _WRAPPED)
def test_Q37_a_body_is_opened_without_a_search_and_misses_nothing(text: bytes, form: bytes) -> None:
    body = form % text
    source, members, repairs = open_object(body)
    assert (source, repairs) == readable(body)
    assert [bytes(value) for value in members.values()] == [bytes(value) for value in split_members(source).values()]


@pytest.mark.parametrize("before", [*range(16381, 16386), 2 * 16384 - 1])
@pytest.mark.parametrize("character", ["é", "—", "😀"])
def test_a_character_may_stand_anywhere_in_a_long_body(before: int, character: str) -> None:
    body = b'{"a":"' + b"x" * (before - 6) + character.encode() + b"x" * 20_000 + b'"}'
    assert open_object(body)[0] == body
    for broken in (body.replace(character.encode(), character.encode()[:-1]), body[: before + 1] + b"\x80" * 40_000):
        with pytest.raises(MalformedRequest, match="not UTF-8"):
            open_object(broken)
