"""Headers of a request that belong to its dialect."""

from __future__ import annotations

import pytest

from dragoman.engine.adapt import adapt

GIVEN = {"anthropic-beta": "a", "anthropic-version": "2024-01-01", "openai-beta": "o", "x-custom": "x"}
CHAT = {"messages": [{"role": "user", "content": "Hi"}]}
MESSAGES = {**CHAT, "max_tokens": 9}


@pytest.mark.parametrize(
    ("source", "body", "target", "passed"),
    [
        ("openai-chat", CHAT, "openai/gpt-4o", {"openai-beta": "o"}),
        ("openai-responses", {"input": "Hi"}, "openai-responses/gpt-5.4", {"openai-beta": "o"}),
        (
            "anthropic",
            MESSAGES,
            "anthropic/claude-sonnet-4-5",
            {"anthropic-beta": "a", "anthropic-version": "2024-01-01"},
        ),
        ("openai-chat", CHAT, "anthropic/claude-sonnet-4-5", {"anthropic-version": "2023-06-01"}),
        ("anthropic", MESSAGES, "openai/gpt-4o", {}),
    ],
)
def test_headers_of_the_dialect_are_passed_on_within_it(
    source: str, body: dict[str, object], target: str, passed: dict[str, str]
) -> None:
    sent = adapt(body, source=source, target=target, headers=GIVEN).headers
    assert sent == {"content-type": "application/json", **passed}
