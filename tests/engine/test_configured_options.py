"""What a configuration sets or leaves out for a model: merged deeply, and reported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from dragoman.engine.exchange.target_attempt import configured
from dragoman.engine.library.adapt import AdaptedRequest, adapt


def with_body(body: Any) -> AdaptedRequest:
    plain = adapt({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}, target="openai/gpt-4o")
    return replace(plain, body=json.dumps(body).encode())


@pytest.mark.parametrize(
    ("body", "options", "sent"),
    [
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"p": {"x": 1, "y": [1]}}, {"p": {"y": [2], "z": 3}}, {"p": {"x": 1, "y": [2], "z": 3}}),
        ({"p": 1}, {"p": {"x": 1}}, {"p": {"x": 1}}),
        ({"p": {"x": 1}}, {"p": None}, {"p": None}),
    ],
)
def test_E15_options_are_merged_deeply(body: Any, options: Any, sent: Any) -> None:
    before = repr(options)
    adapted = configured(with_body(body), options, ())
    assert adapted.json == sent
    assert repr(options) == before
    assert [change.at for change in adapted.changes] == ([] if sent == body else [f"/{next(iter(body))}"])


def test_omissions_are_left_out_and_reported() -> None:
    adapted = configured(with_body({"a": 1, "b": 2}), {"b": 3}, ("a",))
    assert adapted.json == {"b": 3}
    assert {change.at: change.did for change in adapted.changes} == {
        "/a": "left out a as configured",
        "/b": "set b as configured",
    }
    same = with_body({"b": 2})
    assert configured(same, {}, ("a",)) is same
