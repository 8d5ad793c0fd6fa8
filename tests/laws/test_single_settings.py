"""Law 3 for settings: each one with its published values, and each two that ask for thinking, adapted again."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import combinations
from typing import Any

import pytest
from tests.by_dialect import write_request
from tests.targets import ONE_OF_EACH, TARGETS

from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.engine.library.adapt import adapt
from dragoman.errors import MalformedRequest, Unrepresentable

Wire = dict[str, Any]
MORE = (
    *("together/openai/gpt-oss-120b", "together/moonshotai/Kimi-K2.5", "minimax/MiniMax-M2", "minimax/MiniMax-M3"),
    *("openai/gpt-5.4", "openai/gpt-6-astra", "bedrock/us.amazon.nova-2-lite-v1:0", "mistral/mistral-small-latest"),
)
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
SCHEMA: Wire = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
HI = "@max_tokens 8000\nuser: Hi"
TOOL = f"@tool f {json.dumps(SCHEMA)}\n"


def each(name: str, *values: Any) -> list[Wire]:
    return [{name: value} for value in values]


SWITCHES = ({"type": "disabled"}, {"type": "enabled"}, {"type": "adaptive"})
CLAUDES = (*SWITCHES[::2], {"type": "enabled", "budget_tokens": 1024}, {"type": "adaptive", "display": "summarized"})
BUDGETS = (0, -1, 128, 512, 1024, 24_576)
THINKING: dict[str, list[Wire]] = {
    "openai-chat": [
        *each("reasoning_effort", *EFFORTS, "default"),
        *each("thinking", *SWITCHES),
        *each("reasoning", {"enabled": False}, {"enabled": True}, {"effort": "high"}, {"max_tokens": 2000}),
        *each("reasoning", {"exclude": True}),
    ],
    "openai-responses": each("reasoning", *({"effort": one} for one in EFFORTS), {"summary": "auto"}),
    "anthropic": [*each("thinking", *CLAUDES), *each("output_config", {"effort": "low"}, {"effort": "max"})],
    "gemini": [
        {"generationConfig": {"thinkingConfig": one}}
        for one in (
            *each("thinkingBudget", *BUDGETS),
            *each("thinkingLevel", "MINIMAL", "LOW", "MEDIUM", "HIGH"),
            *each("includeThoughts", True, False),
        )
    ],
    "bedrock": [
        {"additionalModelRequestFields": one}
        for one in (
            *each("thinking", *CLAUDES),
            *each("reasoning_effort", "low", "high"),
            *each("reasoningConfig", SWITCHES[0], {"type": "enabled", "maxReasoningEffort": "low"}),
        )
    ],
}
SETTINGS: dict[str, list[Wire]] = {
    "openai-chat": [
        *each("verbosity", "low", "high"),
        *each("service_tier", "auto", "flex", "priority"),
        *each("prompt_cache_retention", "in_memory", "24h"),
        *each("prompt_cache_options", {"mode": "explicit", "ttl": "30m"}),
        *each("safety_identifier", "u" * 80),
        *each("stop", "a", ["a", "b", "c", "d", "e"]),
        *each("n", 1),
        *each("temperature", 0, 2),
        *each("max_tokens", 1, 100_000),
        *each("response_format", {"type": "json_object"}),
        *each("response_format", {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}),
        {"logprobs": True, "top_logprobs": 5},
        {"modalities": ["text", "audio"], "audio": {"voice": "alloy", "format": "wav"}},
    ],
    "openai-responses": [
        *each("text", {"verbosity": "low"}, {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}}),
        *each("truncation", "auto"),
        *each("include", ["reasoning.encrypted_content"], ["message.output_text.logprobs"]),
        *each("context_management", [{"type": "compaction", "compact_threshold": 10_000}]),
        *each("prompt_cache_options", {"ttl": "12h"}),
        *each("top_logprobs", 5),
    ],
    "anthropic": [
        *each("service_tier", "auto", "standard_only"),
        *each("context_management", {"edits": [{"type": "clear_tool_uses_20250919"}]}),
        *each("output_config", {"format": {"type": "json_schema", "schema": SCHEMA}}),
        *each("cache_control", {"type": "ephemeral"}),
    ],
}


def written_thinking(source: str) -> list[Wire]:
    """What the dialect writes for every intent that it has words for."""
    plain, told = write_request(source, HI), []
    switches = ({"on": True}, {"on": False}, {"on": True, "budget": 2000})
    for intent in (*(json.dumps({"is": "Thinking", **one}) for one in switches), *EFFORTS):
        with suppress(Unrepresentable):
            told.append(write_request(source, f"@thinking {intent}\n{HI}"))
    return [{name: value for name, value in one.items() if plain.get(name) != value} for one in told]


@pytest.mark.parametrize(
    "target",
    [pytest.param(one, marks=() if one in ONE_OF_EACH else pytest.mark.slow) for one in (*TARGETS, *MORE)],
)
def test_a_setting_is_adapted_to_itself(target: str) -> None:
    for source in DIALECT_NAMES:
        body, calling = (write_request(source, head + HI) for head in ("", TOOL))
        thinking = THINKING.get(source) or written_thinking(source)
        pairs = [first | second for first, second in combinations(thinking, 2) if first.keys().isdisjoint(second)]
        for given in (*thinking, *pairs, *[calling | one for one in thinking], *SETTINGS.get(source, ())):
            try:
                once = adapt({**body, **given}, source=source, target=target)
            except MalformedRequest:  # two fields that contradict each other
                continue
            twice = adapt(once.body, source=once.dialect, target=target)
            assert (twice.body, twice.changes) == (once.body, ()), (source, given)
