"""Numbers of tokens are the provider's to claim: every reader bounds them, so that no sum and no file breaks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dragoman.conversation.events import Used
from dragoman.conversation.replies import MOST_TOKENS, clamp_tokens
from dragoman.dialects import registry

CHAT = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}]}
TEXT = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x", "annotations": []}]}
CLAUDE = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "x"}], "stop_reason": "end_turn"}
GEMINI = {"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": "STOP"}]}


def answers(count: Any) -> dict[str, dict[str, Any]]:
    """An answer of each dialect that claims this count wherever it can."""
    both = {"input_tokens": count, "output_tokens": count}
    details = {"cached_tokens": count, "reasoning_tokens": count}
    chat = {"prompt_tokens": count, "completion_tokens": count, "total_tokens": count}
    return {
        "openai-chat": CHAT
        | {"usage": chat | {"prompt_tokens_details": details, "completion_tokens_details": details}},
        "openai-responses": {"object": "response", "status": "completed", "output": [TEXT]}
        | {"usage": both | {"input_tokens_details": details, "output_tokens_details": details}},
        "anthropic": CLAUDE
        | {"usage": both | {"cache_read_input_tokens": count, "cache_creation_input_tokens": count}},
        "gemini": GEMINI
        | {
            "usageMetadata": {"promptTokenCount": count, "candidatesTokenCount": count, "thoughtsTokenCount": count}
            | {"cachedContentTokenCount": count, "toolUsePromptTokenCount": count}
        },
    }


@pytest.mark.parametrize("count", [2**63, 2**64, -(2**63), 10**300, 1e300, 1.5, True, "12", None, [], -1])
@pytest.mark.parametrize("dialect", list(answers(0)))
def test_counts_are_bounded_where_they_are_read(dialect: str, count: Any) -> None:
    body = json.dumps(answers(count)[dialect]).encode()
    events = registry.dialect(dialect).answers.parse(body, None, seed="s")
    counted = [event.usage for event in events if isinstance(event, Used)]
    for usage in counted:
        numbers = (usage.input, usage.output, usage.cached, usage.cache_written, usage.reasoning)
        assert all(isinstance(number, int) and 0 <= number <= 3 * MOST_TOKENS for number in numbers)
    glanced = registry.dialect(dialect).answers.peek_usage(body)
    if glanced is not None and glanced[0] is not None:
        assert 0 <= glanced[0].input <= 3 * MOST_TOKENS
        assert 0 <= glanced[0].output <= 3 * MOST_TOKENS


@pytest.mark.parametrize(
    ("value", "count"),
    [(7, 7), (7.0, 7), (2**63, MOST_TOKENS), (float("inf"), MOST_TOKENS), (float("nan"), 0), (-3, 0)],
)
def test_a_count(value: Any, count: int) -> None:
    assert clamp_tokens(value) == count
