"""How much an inquiry may ask, and what it costs at most, which is shown before it begins."""

from __future__ import annotations

from collections import defaultdict

import msgspec

from dragoman.probe.asked_dialects import AskedDialect
from dragoman.probe.question import Question, Topic

_BYTES_PER_TOKEN = 4
_OUTPUT_TOKENS = 16
"""Tokens of output at most: one if the model takes such a limit, else sixteen."""


class ProbeBudget(msgspec.Struct, frozen=True):
    """What an inquiry may use, waits included."""

    requests: int = 100
    """At most so many."""
    seconds: float = 120.0
    """At most so long."""
    rate: float = 5.0
    """Requests in a second at most."""
    answer_seconds: float = 30.0
    """How long one answer may take."""


class ProbeCost(msgspec.Struct, frozen=True):
    requests: int
    input_tokens: int
    output_tokens: int


def highest_cost(asked: AskedDialect, requests: int) -> ProbeCost:
    """The cost if every request were as large as the largest. It is an estimate by bytes."""
    topics: dict[Topic, list[Question]] = defaultdict(list)
    for question in asked.questions:
        topics[question.topic].append(question)
    largest = max(len(msgspec.json.encode(asked.form.body(group))) for group in topics.values())
    return ProbeCost(requests, requests * (largest // _BYTES_PER_TOKEN), requests * _OUTPUT_TOKENS)
