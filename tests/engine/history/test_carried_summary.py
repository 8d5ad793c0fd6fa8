"""A summary that takes the place of a conversation: what is asked, and which answer counts."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.engine.history.carried_summary import (
    HEADINGS,
    has_words,
    is_whole_summary,
    summary_parts,
    summary_question,
)
from dragoman.engine.library.adapt import read


def conversation(count: int, size: int = 1) -> Any:
    said = [{"role": ("user", "assistant")[at % 2], "content": f"word{at} " * size} for at in range(count)]
    return read(
        {"model": "m", "messages": [{"role": "system", "content": "Hush."}, *said]}, source="openai-chat"
    ).conversation


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("\n".join(HEADINGS), True),
        ("Here you are:\n" + "\n  text\n".join(HEADINGS) + "\nend", True),
        ("\n".join(HEADINGS[:-1]), False),
        (" ".join(HEADINGS), False),
        ("", False),
    ],
)
def test_a_summary_has_all_headings(text: str, is_whole: bool) -> None:
    assert is_whole_summary(text) is is_whole


def test_a_conversation_that_fits_is_one_part_without_its_instructions() -> None:
    (part,) = summary_parts(conversation(4), 32_000)
    assert part == "user: word0 \n\nassistant: word1 \n\nuser: word2 \n\nassistant: word3 "


def test_a_long_conversation_is_cut_into_parts_of_the_window() -> None:
    parts = list(summary_parts(conversation(40, 2_000), 40_000))
    assert 1 < len(parts) <= 8
    assert all(f"word{at} " in "".join(parts) for at in range(40))
    assert all(len(part) < 40_000 * 4 for part in parts)


def test_the_question_names_the_headings_and_carries_the_earlier_summary() -> None:
    text = summary_question("user: Hi", "EARLIER", "In French." + "x" * 100_000)["messages"][0]["content"]
    assert all(heading in text for heading in HEADINGS)
    assert text.index("In French.") < text.index("EARLIER") < text.index("user: Hi")
    assert len(text) < 12_000


def test_words() -> None:
    assert has_words(conversation(1))
    assert not has_words(conversation(0))
