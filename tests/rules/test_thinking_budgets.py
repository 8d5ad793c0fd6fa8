"""Efforts, budgets and token limits: the answer always has room, and a client's own budget is only clamped (K21)."""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
import pytest
from tests.judges import judge

from dragoman.conversation.dialect_names import SourceName
from dragoman.engine.library.adapt import adapt

Wire = dict[str, Any]
HI = [{"role": "user", "content": "Hi"}]
EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
LIMITS = (None, 100, 2047, 2048, 3000, 20000, 60000)
CLAUDE, FLASH = "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"
MOST = {"anthropic/claude-opus-4-1": 32000}
"""Targets whose answers are shorter than some of the limits."""
LEAST = {CLAUDE: 1024, FLASH: 1, "anthropic/claude-opus-4-1": 1024, "gemini/gemini-2.5-flash-lite": 512}


def chat(limit: int | None, effort: str) -> Wire:
    return {"model": "m", "messages": HI, "reasoning_effort": effort, **({"max_tokens": limit} if limit else {})}


def responses(limit: int | None, effort: str) -> Wire:
    body: Wire = {"model": "m", "input": "Hi", "reasoning": {"effort": effort}}
    return body | ({"max_output_tokens": limit} if limit else {})


ASKS = {"openai-chat": chat, "openai-responses": responses}


def accepted(body: Wire, source: str, target: str) -> Wire:
    done = adapt(body, source=source, target=target)
    profile, _, model = target.partition("/")
    assert judge(profile, model, done.path, done.headers, done.body) is None
    sent: Wire = done.json
    return sent


def told(body: Wire) -> tuple[int | None, int | None]:
    """The budget (0: off) and the limit of a body."""
    if "contents" in body:
        config = body.get("generationConfig", {})
        return config.get("thinkingConfig", {}).get("thinkingBudget"), config.get("maxOutputTokens")
    thinking = body.get("thinking", {})
    return 0 if thinking.get("type") == "disabled" else thinking.get("budget_tokens"), body.get("max_tokens")


@pytest.mark.parametrize("target", LEAST)
@pytest.mark.parametrize("source", ASKS)
def test_an_effort_leaves_room_for_the_answer(source: str, target: str) -> None:
    for effort, asked in product(EFFORTS, LIMITS):
        budget, sent_limit = told(accepted(ASKS[source](asked, effort), source, target))
        limit = None if asked is None else min(asked, MOST.get(target, asked))
        assert budget is not None
        if limit is None:
            assert sent_limit is None or sent_limit - budget >= 4096, (effort, limit)
        elif limit // 2 < LEAST[target]:
            assert budget == 0, (effort, limit)
        else:
            assert LEAST[target] <= budget <= limit // 2, (effort, limit)
            assert sent_limit == limit


def test_the_limit_is_raised_by_the_budget_if_the_client_gave_none() -> None:
    assert told(accepted(chat(None, "high"), "openai-chat", CLAUDE)) == (16384, 16384 + 8192)
    assert told(accepted(chat(None, "low"), "openai-chat", CLAUDE)) == (2048, 8192)


def gemini(budget: int, limit: int | None = None) -> Wire:
    config: Wire = {"thinkingConfig": {"thinkingBudget": budget}} | ({"maxOutputTokens": limit} if limit else {})
    return {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}], "generationConfig": config}


def claude(budget: int, limit: int) -> Wire:
    return {
        "model": "m",
        "messages": HI,
        "max_tokens": limit,
        "thinking": {"type": "enabled", "budget_tokens": budget},
    }


CLAMPED: list[tuple[Wire, str, str, tuple[int, int | None]]] = [
    (gemini(5000, 6000), "gemini", CLAUDE, (5000, 6000)),
    (gemini(300, 6000), "gemini", CLAUDE, (1024, 6000)),
    (gemini(8000, 6000), "gemini", CLAUDE, (5999, 6000)),
    (gemini(8000, 1000), "gemini", CLAUDE, (0, 1000)),
    (gemini(0, 6000), "gemini", CLAUDE, (0, 6000)),
    (gemini(20000), "gemini", CLAUDE, (20000, 28192)),
    (claude(30000, 40000), "anthropic", FLASH, (24576, 40000)),
    (claude(1024, 1025), "anthropic", FLASH, (1024, 1025)),
    (claude(1024, 4000), "anthropic", "gemini/gemini-2.5-pro", (1024, 4000)),
]


@pytest.mark.parametrize(("body", "source", "target", "sent"), CLAMPED)
def test_a_budget_of_the_client_is_only_clamped(
    body: Wire, source: str, target: str, sent: tuple[int, int | None]
) -> None:
    assert told(accepted(body, source, target)) == sent


DYNAMIC: dict[str, Wire] = {
    CLAUDE: {"thinking": {"type": "enabled", "budget_tokens": 8192}},
    "anthropic/claude-sonnet-4-6": {"thinking": {"type": "adaptive"}},
    "anthropic/claude-opus-4-7": {"thinking": {"type": "adaptive"}},
    "openai/gpt-5": {"reasoning_effort": None},
    "openai-responses/gpt-5": {"reasoning": None},
    "deepseek/deepseek-v4-flash": {"thinking": {"type": "enabled"}},
    "openrouter/anthropic/claude-sonnet-4.5": {"reasoning": {"enabled": True}},
}


@pytest.mark.parametrize("target", DYNAMIC)
def test_minus_one_means_that_the_model_decides(target: str) -> None:
    body = accepted(gemini(-1), "gemini", target)
    assert {key: body.get(key) for key in DYNAMIC[target]} == DYNAMIC[target]
    assert b"-1" not in adapt(gemini(-1), source="gemini", target=target).body


def test_minus_one_stays_what_it_is_for_gemini() -> None:
    assert told(accepted(gemini(-1), "gemini", FLASH)) == (-1, None)


def test_the_emulator_refuses_a_budget_of_minus_one_and_one_without_room() -> None:
    for wrong in (claude(-1, 4000), claude(4000, 4000), claude(1000, 4000)):
        with pytest.raises(AssertionError):
            accepted_as_it_is(wrong)


def accepted_as_it_is(body: Wire) -> None:
    wire = msgspec.json.encode({**body, "model": "claude-sonnet-4-5"})
    assert judge("anthropic", "claude-sonnet-4-5", "/v1/messages", {"anthropic-version": "2023-06-01"}, wire) is None


@pytest.mark.parametrize(
    ("target", "source", "budget"),
    [(CLAUDE, "anthropic", "budget_tokens"), ("cohere/command-a-reasoning-08-2025", "cohere", "token_budget")],
)
def test_a_budget_of_nothing_turns_thinking_off(target: str, source: SourceName, budget: str) -> None:
    body = {"messages": HI, "max_tokens": 3000, "thinking": {"type": "enabled", budget: 0}}
    done = adapt(body, target=target, source=source)
    assert done.json["thinking"] == {"type": "disabled"}
    assert [change.rule for change in done.changes] == ["thinking-form"]


@pytest.mark.parametrize(
    ("target", "asked"),
    [
        ("openrouter/anthropic/claude-sonnet-4.5", {"enabled": False}),
        ("openrouter/google/gemini-3-pro-preview", {"effort": "low"}),
    ],
)
def test_a_limit_of_one_token_leaves_no_room_for_a_budget(target: str, asked: Wire) -> None:
    body = {"messages": HI, "max_tokens": 1, "thinking": {"type": "enabled", "budget_tokens": 1024}}
    assert adapt(body, target=target, source="anthropic").json["reasoning"] == asked


def test_an_effort_is_worth_no_budget_of_nothing() -> None:
    body = {"messages": HI, "max_tokens": 1, "reasoning_effort": "high"}
    done = adapt(body, target="qwen/qwen3-max", source="openai-chat").json
    assert (done["enable_thinking"], "thinking_budget" in done) == (False, False)
