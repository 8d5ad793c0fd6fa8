"""What a request reserves when it comes in: its size."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.engine.history.sizes import estimate_reserve, measure_tools
from dragoman.engine.library.adapt import read

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 40_000}}


@pytest.mark.parametrize(
    ("body", "tokens"),
    [
        ({"messages": [{"role": "user", "content": ""}]}, 4),
        ({"messages": [{"role": "user", "content": "a" * 4_000}]}, 1_004),
        ({"messages": [{"role": "user", "content": "a" * 4_000}] * 2}, 2_008),
        ({"messages": [{"role": "user", "content": [PICTURE]}]}, 1_004),
    ],
)
def test_a_token_for_every_four_bytes_and_a_thousand_for_a_picture(body: dict[str, Any], tokens: int) -> None:
    assert estimate_reserve(read(body, source="openai-chat").conversation) == tokens


def test_tools_count_with_their_schemas() -> None:
    bare = {"messages": [{"role": "user", "content": "Hi"}]}
    schema = {"type": "object", "properties": {"city": {"type": "string", "description": "d" * 400}}}
    tool = {"type": "function", "function": {"name": "weather", "parameters": schema}}
    more = estimate_reserve(read(bare | {"tools": [tool]}, source="openai-chat").conversation)
    assert more - estimate_reserve(read(bare, source="openai-chat").conversation) >= len(json.dumps(schema)) // 5


def test_the_tools_of_every_turn_are_measured_once() -> None:
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("a", "longest", "bb")]
    first, second = (
        read({"messages": [{"role": "user", "content": words}], "tools": tools}, source="openai-chat").conversation
        for words in ("Hi", "Hi again")
    )
    measured = measure_tools(first.tools)
    assert measured.longest_named is not None
    assert measured.longest_named.name == "longest"
    assert measure_tools(second.tools) is measured
