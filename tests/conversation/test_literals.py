"""Texts as their literals: which are blank, however long and however written."""

from __future__ import annotations

import json

import pytest

from dragoman.conversation.literals import blank, quote

LONG = 65536


def written(text: str) -> tuple[bytes, ...]:
    """The literal with few escapes, with many, and as ours."""
    return json.dumps(text, ensure_ascii=False).encode(), json.dumps(text).encode(), quote(text)


@pytest.mark.parametrize("size", [0, 1, 7, LONG - 3, LONG - 1, LONG, LONG + 1, 3 * LONG + 5])
@pytest.mark.parametrize("space", [" ", "\n", " \u2003", "\n\u2028\u00a0", "\t\x1c"])
def test_white_space_is_blank_at_any_length(space: str, size: int) -> None:
    text = (space * (size // len(space) + 1))[:size]
    assert all(map(blank, written(text)))


@pytest.mark.parametrize("word", ["x", "\\", "\\n", '"', "é", "\U0001f600", "\u200b"])
@pytest.mark.parametrize("place", [1, LONG - 7, LONG - 2, LONG - 1, LONG, LONG + 1, 2 * LONG])
def test_a_word_among_white_space_is_not(word: str, place: int) -> None:
    for space in (" ", "\n", " \u2003"):
        text = (space * LONG)[:place] + word + space * LONG
        assert not any(map(blank, written(text)))
