"""Every pattern of the package is linear: a character of a long text costs no more than one of a short text.

The best of many tries counts, each shorter than a slice of the processor, and only the ratio of two lengths is looked
at, so neither the speed of the machine nor what else it does matters: a quadratic pattern grows by a hundred, and
twenty is allowed.
"""

from __future__ import annotations

import re

import pytest
from tests.hostile.patterns import BUILT, Found, all_patterns, building, slowest

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.exchange import lessons
from dragoman.profiles.model_patterns import LONGEST_NAME
from dragoman.profiles.models import find_model
from dragoman.store.journals.redaction import PATTERNS
from dragoman.wire.error_bodies import parse_failure
from dragoman.wire.error_wording import cut_matched_part

PLANTED = (
    r"(?=.*one)(?=.*two)",
    r"(?P<name>[\w.]+): not permitted",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"<(title|h1)[^>]*>(.*?)</\1>",
    r"begin.*end",
    r"\s+$",
    r"(?:a+)+b",
    r"(\[id:\s*)[^\]]*(\])",
    r'"(?:[^"\\]|\\.)*"',
)
"""Patterns that are not linear, each of a kind that this package once had."""


@pytest.mark.slow
def test_every_pattern_of_the_package_is_linear() -> None:
    suspects = [found for found in all_patterns() if slowest(found) is not None]
    # One that is slow is slow at any time. One that only met a busy moment is not so again, minutes later.
    assert [slow for found in suspects if (slow := slowest(found)) is not None] == []


@pytest.mark.sampled(4)
@pytest.mark.parametrize("pattern", PLANTED)
def test_a_pattern_that_is_not_linear_is_noticed(pattern: str) -> None:
    assert slowest(Found("planted", re.compile(pattern))) is not None


@pytest.mark.slow
def test_patterns_are_found_wherever_they_stand() -> None:
    found = {one.pattern.pattern: one.where for one in all_patterns()}
    kept_in_structs = [one.compiled.pattern for lesson in lessons.LESSONS for one in lesson.says]
    kept_in_tuples = [pattern.pattern for _, pattern, _ in PATTERNS]
    in_a_function = r"messages[.\[]|contents[.\[]|input\[|tools[.\[]"
    in_a_profile = "[a-zA-Z0-9]{9}"
    assert {*kept_in_structs, *kept_in_tuples, in_a_function, in_a_profile} <= found.keys()
    assert len(found) > 300


def test_every_file_that_builds_patterns_is_listed() -> None:
    assert building() - BUILT.keys() == set(), "give an example of what it builds in tests/hostile/patterns.py"
    assert BUILT.keys() - building() == set(), "these need no entry any more"
    assert sorted(BUILT) == list(BUILT)


def test_the_name_of_a_model_is_cut_before_it_is_matched() -> None:
    assert LONGEST_NAME <= 1000
    assert find_model("gpt-5") is not None
    assert find_model("x" * LONGEST_NAME + "/gpt-5") is None


SENTENCE = "metadata: Extra inputs are not permitted"


@pytest.mark.parametrize(
    ("message", "known"),
    [
        (SENTENCE, True),
        (SENTENCE + "." + " x" * 50_000, True),
        ("x " * 50_000 + SENTENCE, True),
        ("x " * 50_000 + SENTENCE + " x" * 50_000, False),
    ],
    ids=["short", "begins a long one", "ends a long one", "in the middle of a long one"],
)
def test_a_refusal_is_read_to_four_kilobytes(message: str, known: bool) -> None:
    assert len(cut_matched_part(message)) <= 4200
    failure = Failure(FailureKind.BAD_REQUEST, message, 400)
    assert lessons.is_recognised(failure) is known


def test_a_page_of_opening_tags_and_a_list_without_end_are_read() -> None:
    for page in (b"<title>" * 9000, b"<script" * 9000, b"<h1><b>" * 9000, b"<style></scr" * 5000):
        assert len(parse_failure(500, {}, page).message) <= 2000
    assert parse_failure(500, {}, b"<h1><b>403</b> Forbidden &amp; closed</h1>").message == "403 Forbidden & closed"
    assert parse_failure(400, {}, b"[" * 800 + b"]" * 800).message
