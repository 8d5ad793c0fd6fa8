"""Law 10, linear: ten times the messages cost ten times the work, counted in calls and never by the clock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from tests.targets import FOUR

from dragoman.engine.adapt import adapt

TARGETS = (
    *FOUR,
    "mistral/mistral-large-latest",
    "strict-template/some-model",
    "openrouter/google/gemini-3-pro-preview",
)


def clean(count: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    for number in range(count // 4):
        call = {"id": f"call_{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        messages += [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call_{number}", "content": "ok"},
            {"role": "assistant", "content": "Done."},
        ]
    return [*messages, {"role": "user", "content": "And?"}]


def broken(count: int) -> list[dict[str, Any]]:
    """Every third message has something that has to be repaired."""
    messages: list[dict[str, Any]] = []
    for number in range(count // 4):
        call = {"id": f"odd id {number}!", "type": "function", "function": {"name": "a.b", "arguments": "nonsense"}}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call], "done": True},
            {"role": "system", "content": "Hm."},
            {"role": "tool", "tool_call_id": "nobody", "content": "ok"},
            {"role": "user", "content": [{"type": "text", "text": " "}]},
        ]
    return messages


def work(run: Callable[[], Any]) -> int:
    """How many Python and C functions are called."""
    count = 0

    def tick(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(tick)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("made", [clean, broken])
def test_the_work_grows_with_the_messages(made: Callable[[int], list[dict[str, Any]]], target: str) -> None:
    small, large = (msgspec.json.encode({"model": "m", "messages": made(count)}) for count in (100, 1000))
    adapt(small, target=target)
    few, many = (work(lambda body=body: adapt(body, target=target)) for body in (small, large))  # type: ignore[misc]
    assert many < 12 * few, (few, many)
