"""How many values a JSON text holds, and how many of them are read: log probabilities are passed on as text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.wire import json_size
from dragoman.wire.json_size import LARGE, MANY_VALUES, count_read_values, count_values, is_heavy

TOP = [{"token": f' "{n}\\', "logprob": -0.5, "bytes": [1, 2, 3]} for n in range(20)]
TOKEN = {"token": "a", "logprob": -0.1, "bytes": [97], "top_logprobs": TOP}
CHAT = {"choices": [{"message": {"content": "x" * 300}, "logprobs": {"content": [TOKEN] * 5}, "index": 0}], "id": "1"}
GEMINI = {"candidates": [{"logprobsResult": {"chosenCandidates": [TOKEN] * 5}, "index": 1}]}
RESPONSES = {"output": [{"content": [{"text": "a", "logprobs": [TOKEN] * 5}, {"text": "b", "logprobs": []}]}]}
NAMED = {"choices": [{"message": {"content": "logprobs", "list": ["logprobs", {"a": [1, 2]}]}, "logprobs": None}]}


def without(value: Any) -> Any:
    """The same with nothing in the place of each log probability."""
    if isinstance(value, dict):
        return {name: 0 if is_said(name, one) else without(one) for name, one in value.items()}
    return [without(one) for one in value] if isinstance(value, list) else value


def is_said(name: str, value: Any) -> bool:
    return name in ("logprobs", "logprobsResult") and isinstance(value, dict | list)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("window", [1, 2, 3, 7, 64, 1 << 20])
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("body", [CHAT, GEMINI, RESPONSES, NAMED, [CHAT, GEMINI]])
def test_log_probabilities_are_not_counted(
    body: Any, indent: int | None, window: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_size, "_WINDOW", window)
    text, rest = (json.dumps(one, indent=indent).encode() for one in (body, without(body)))
    limit = count_values(rest, 1 << 30)
    assert count_values(text, limit) > limit or text == rest
    assert count_read_values(text, limit) == limit
    assert count_read_values(text, limit - 1) > limit - 1


def test_what_is_below_the_limit_is_counted_once() -> None:
    text = json.dumps(CHAT).encode()
    assert count_read_values(text, 1 << 30) == count_values(text, 1 << 30)


@pytest.mark.parametrize(
    ("body", "heavy"),
    [
        (b"x" * LARGE, False),
        (b"x" * (LARGE + 1), True),
        (b"{}," * MANY_VALUES + b" " * 4_000, False),
        (b"{}," * (MANY_VALUES + 1) + b" " * 4_000, True),
        (b"," * 4_096, False),
    ],
)
def test_a_body_is_heavy_by_its_length_or_by_what_it_holds(body: bytes, heavy: bool) -> None:
    assert is_heavy(body) is heavy
