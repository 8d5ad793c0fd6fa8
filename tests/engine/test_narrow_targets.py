"""Members of requests that some targets do not take, though others of their dialect do."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.judges import judge

from dragoman.engine.library.adapt import adapt
from dragoman.engine.library.adapted import AdaptedRequest

HI = {"role": "user", "content": "Hi"}
LOOK = {"type": "function", "name": "look", "parameters": {"type": "object", "properties": {}}, "strict": False}


def judged(body: dict[str, Any], target: str, source: str, **headers: str) -> AdaptedRequest:
    adapted = adapt(body, target=target, source=source, headers=headers)  # type: ignore[arg-type]
    profile, _, model = target.partition("/")
    assert judge(profile, model, adapted.path, adapted.headers, adapted.body) is None
    return adapted


def test_nothing_of_thinking_goes_to_a_model_that_does_not_think() -> None:
    reasoning = {"effort": "low", "context": "all_turns"}
    adapted = judged(
        {"model": "m", "input": "Hi", "reasoning": reasoning}, "openai-responses/gpt-4o", "openai-responses"
    )
    assert "reasoning" not in json.loads(adapted.body)
    assert ("refused-setting", "/reasoning/context") in [(change.rule, change.at) for change in adapted.changes]


@pytest.mark.parametrize("target", ["azure-openai-responses/gpt-5", "openai-responses/gpt-5", "openai/gpt-4o"])
def test_the_name_of_a_tool_is_left_out_if_there_are_no_tools(target: str) -> None:
    choice = {"type": "function", "function": {"name": "gone"}}
    adapted = judged({"model": "m", "messages": [HI], "tool_choice": choice}, target, "openai-chat")
    assert "tool_choice" not in json.loads(adapted.body)


def test_a_sound_alone_is_no_turn_of_llamacpp() -> None:
    spoken = {"role": "assistant", "audio": {"id": "audio_1"}}
    adapted = judged({"model": "m", "messages": [HI, spoken, HI]}, "llamacpp/m", "openai-chat")
    assert "audio_1" not in adapted.body.decode()
    assert ("/messages/1/audio", "content") in [(change.at, change.loses) for change in adapted.changes]


def test_a_budget_below_claudes_least_switches_thinking_off_on_openrouter() -> None:
    thinking = {"type": "enabled", "budget_tokens": 32000}
    body = {"model": "m", "max_tokens": 1000, "messages": [HI], "thinking": thinking}
    adapted = judged(body, "openrouter/anthropic/claude-opus-4.8", "anthropic")
    assert json.loads(adapted.body)["reasoning"] == {"enabled": False}


def test_foundry_reads_the_version_as_anthropic_does() -> None:
    cited = [{"type": "text", "text": "Hi", "citations": [{"type": "char_location", "cited_text": "H"}]}]
    body = {"model": "m", "max_tokens": 9, "temperature": 1, "messages": [{"role": "user", "content": cited}]}
    version = {"anthropic-version": "2026-10-21"}
    adapted = judged(body, "azure-anthropic/claude-sonnet-4-5", "anthropic", **version)
    written = json.loads(adapted.body)
    assert "temperature" not in written
    assert "citations" not in written["messages"][0]["content"][0]


@pytest.mark.parametrize("effort", ["low", "xhigh"])
def test_cohere_knows_two_efforts(effort: str) -> None:
    body = {"model": "m", "messages": [HI], "reasoning_effort": effort}
    assert (
        json.loads(adapt(body, target="cohere-openai/command-a", source="openai-chat").body)["reasoning_effort"]
        == "high"
    )


def test_settings_that_cohere_does_not_list_stay_home_in_a_translation() -> None:
    body = {"model": "m", "input": "Hi", "metadata": {"a": "b"}, "service_tier": "flex", "parallel_tool_calls": False}
    adapted = adapt({**body, "tools": [LOOK]}, target="cohere-openai/command-a", source="openai-responses")
    assert {"metadata", "service_tier", "parallel_tool_calls"}.isdisjoint(json.loads(adapted.body))
    assert {"/metadata", "/service_tier", "/parallel_tool_calls"} <= {change.at for change in adapted.changes}


def test_members_that_geminis_parser_does_not_have() -> None:
    odd = {"user": "ann", "metadata": {"a": "b"}, "presence_penalty": 0.5, "service_tier": "flex", "verbosity": "low"}
    adapted = judged({"model": "m", "messages": [HI], **odd}, "gemini-openai/gemini-2.5-flash", "openai-chat")
    assert odd.keys().isdisjoint(json.loads(adapted.body))
    assert {f"/{name}" for name in odd} == {change.at for change in adapted.changes}


def test_a_choice_among_tools_is_not_said_to_geminis_parser() -> None:
    chosen = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "look"}]}
    tools = [LOOK, {**LOOK, "name": "hear"}]
    body = {"model": "m", "input": "Hi", "tools": tools, "tool_choice": chosen}
    written = json.loads(judged(body, "gemini-openai/gemini-2.5-flash", "openai-responses").body)
    assert written["tool_choice"] == "required"
    assert [tool["function"]["name"] for tool in written["tools"]] == ["look"]


def test_a_seed_of_more_than_32_bits_is_made_to_fit_gemini() -> None:
    adapted = judged({"model": "m", "messages": [HI], "seed": 2**40}, "gemini/gemini-2.5-flash", "openai-chat")
    assert json.loads(adapted.body)["generationConfig"]["seed"] == 2**31 - 1
    assert ("setting-range", "/seed") in [(change.rule, change.at) for change in adapted.changes]
