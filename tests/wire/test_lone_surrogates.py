"""Halves of surrogate pairs, in texts that are worked on in stretches."""

from __future__ import annotations

import json
from random import Random

import pytest

from dragoman.dialects.shared.split_surrogates import mark_surrogates
from dragoman.wire.json_reader import replace_lone_surrogates

TOKENS = (r"\ud83d", r"\ude00", r"\\", "a", r"\n", r"\"", r"\u00e9", "u", "d83d", r"\uDBff", r"\uDFFF", "é", " ")


@pytest.mark.parametrize("seed", range(6))
def test_long_texts_become_what_python_reads(seed: int) -> None:
    random = Random(seed)
    text = '"' + "".join(random.choices(TOKENS, k=70_000)) + '"'
    repaired = replace_lone_surrogates(text.encode()).decode()
    read = json.loads(text)
    assert json.loads(repaired) == "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in read)


def test_pairs_stay_whole_wherever_a_stretch_ends() -> None:
    for before in range(16_380, 16_388):
        text = b'"' + b"\\n" * before + b"\\ud83d\\ude00" * 3 + b'"'
        assert replace_lone_surrogates(text) == text


def test_escaped_backslashes_are_no_escapes() -> None:
    assert replace_lone_surrogates(rb'"\\ud800 \\\ud800"') == rb'"\\ud800 \\\ufffd"'
    assert mark_surrogates(rb'"\\ud800 \ud800"') == rb'"\\ud800 \u0001d800"'


def test_what_is_no_json_is_left_alone() -> None:
    assert replace_lone_surrogates(b'"\\ud800\0"') == b'"\\ud800\0"'
    assert mark_surrogates(b'"\\ud800\0"') == b'"\\ud800\0"'
