"""`foreign-field`: a top-level field that another vendor of the same dialect added to it (K18, Q18)."""

from __future__ import annotations

from typing import Any

import pytest
from tests.corpus import exchanges, sampled
from tests.rules.runs import facts, run, sent

from dragoman.engine.library.adapt import adapt
from dragoman.errors import DragomanError
from dragoman.rules.settings.foreign_field import foreign_field

HI = {"role": "user", "content": "Hi"}
VENDORS: dict[str, Any] = {"vendor_settings": ["grammar", "guided"]}


@pytest.mark.parametrize(
    ("stated", "stays"),
    [
        ({"foreign_settings": "accepts"}, True),
        ({"foreign_settings": "refuses"}, False),
        ({"foreign_settings": "accepts", "unknown_settings": "refuses"}, False),
        ({"foreign_settings": "refuses", "known_settings": ["grammar"]}, True),
    ],
)
def test_a_field_of_somebodys_list(stated: dict[str, Any], stays: bool) -> None:
    done = run(foreign_field, {"messages": [HI], "grammar": "x"}, facts(**VENDORS, **stated))
    assert done.untouched is stays
    assert stays or done.changes == [("/grammar", "metadata", False)]
    assert stays or done.did == ["left out grammar, another vendor's field"]


def test_what_is_on_nobodys_list_goes_through() -> None:
    body = {"messages": [HI], "grammar": "x", "newest": 1, "guided": [1]}
    done = run(foreign_field, body, facts(**VENDORS, foreign_settings="refuses"))
    assert done.json["newest"] == 1
    assert done.json.keys().isdisjoint({"grammar", "guided"})
    assert run(foreign_field, {"messages": [HI], "newest": 1}, facts(**VENDORS, foreign_settings="refuses")).untouched


def test_a_null_field_loses_nothing() -> None:
    done = run(foreign_field, {"messages": [HI], "grammar": None}, facts(**VENDORS, foreign_settings="refuses"))
    assert "grammar" not in done.json
    assert done.changes == [("/grammar", "nothing", False)]


@pytest.mark.parametrize(
    ("field", "value"),
    [("venice_parameters", {}), ("search_context_size", "low"), ("grammar", "x"), ("repetition_penalty", None)],
)
def test_adapt_and_another_vendors_field(field: str, value: Any) -> None:
    done = sent({"messages": [HI], field: value}, "openai/gpt-4o")
    assert field not in done.json
    assert [change[:2] for change in done.changes] == [("foreign-field", f"/{field}")]
    assert sent({"messages": [HI], field: value}, "together/some-model").json[field] == value


def test_a_field_deep_inside_that_only_vertex_has() -> None:
    calling = {"mode": "AUTO", "streamFunctionCallArguments": True}
    asked = {
        "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
        "toolConfig": {"functionCallingConfig": calling},
    }
    asked["tools"] = [{"functionDeclarations": [{"name": "f"}]}]
    assert sent(asked, "vertex/gemini-2.5-flash", source="gemini").json == asked
    done = sent(asked, "gemini/gemini-2.5-flash", source="gemini")
    assert "streamFunctionCallArguments" not in str(done.json)
    assert [rule for rule, *_ in done.changes] == ["foreign-field"]


def test_mistral_refuses_what_it_does_not_know() -> None:
    asked = {"messages": [HI], "max_completion_tokens": 9, "user": "u", "usage": {"include": True}, "provider": {}}
    stream = {**asked, "stream": True, "stream_options": {"include_usage": True}, "service_tier": "auto"}
    done = sent(stream, "mistral/mistral-small-latest")
    assert done.json.keys() == {"model", "messages", "max_tokens", "stream"}
    assert {change[1] for change in done.changes} == {
        *("/max_completion_tokens", "/user", "/usage", "/provider", "/stream_options", "/service_tier")
    }


KNOWN = {
    "mistral/mistral-small-latest": {
        *("model", "messages", "temperature", "top_p", "max_tokens", "stream", "stop", "random_seed", "metadata"),
        *("response_format", "tools", "tool_choice", "presence_penalty", "frequency_penalty", "n", "prediction"),
        *("parallel_tool_calls", "prompt_mode", "safe_prompt", "reasoning_effort", "prompt_cache_key", "guardrails"),
        "logprobs",
    },
    "openai/gpt-4o": {
        *("messages", "model", "audio", "frequency_penalty", "function_call", "functions", "logit_bias", "logprobs"),
        *("max_completion_tokens", "max_tokens", "metadata", "modalities", "n", "parallel_tool_calls", "prediction"),
        *("presence_penalty", "prompt_cache_key", "prompt_cache_retention", "prompt_cache_options", "response_format"),
        *("reasoning_effort", "safety_identifier", "seed", "service_tier", "stop", "store", "stream", "verbosity"),
        *("stream_options", "temperature", "tool_choice", "tools", "top_logprobs", "top_p", "user", "moderation"),
        "web_search_options",
    },
    "xai/grok-4": {
        *("messages", "model", "deferred", "frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens"),
        *("max_tokens", "n", "parallel_tool_calls", "presence_penalty", "reasoning_effort", "response_format", "seed"),
        *("search_parameters", "stop", "stream", "stream_options", "temperature", "tool_choice", "tools", "user"),
        *("top_logprobs", "top_p", "web_search_options", "service_tier", "prompt_cache_key", "store", "metadata"),
    },
}
"""The fields of each vendor's own request, by its SDK or reference."""


@pytest.mark.parametrize("target", KNOWN)
def test_recorded_requests_of_any_vendor_have_no_foreign_fields(target: str) -> None:
    strange = set()
    for exchange in exchanges("*.openai-chat.jsonl"):
        asked = exchange["request"]
        if not asked or not isinstance(asked["body"], dict) or not sampled(exchange["id"], 4):
            continue
        try:
            adapted = adapt(asked["body"], source="openai-chat", target=target)
        except DragomanError:
            continue
        if "messages" not in adapted.json:
            continue  # it wants a tool that only the vendor's other API has
        strange |= adapted.json.keys() - KNOWN[target]
    assert strange == set()


OWN: dict[str, dict[str, Any]] = {
    "moonshot/kimi-k2-thinking": {"thinking": {"type": "enabled"}, "safety_identifier": "s"},
    "qwen/qwen-plus": {"enable_search": True, "top_k": 3, "vl_high_resolution_images": True},
    "perplexity/sonar": {"search_domain_filter": ["a.org"], "search_recency_filter": "day", "top_k": 3},
    "minimax/MiniMax-M2": {"reasoning_split": True},
    "cohere-openai/command-a-03-2025": {"seed": 4},
}
"""What each vendor documents as its own request."""


@pytest.mark.parametrize("target", OWN)
def test_a_vendors_own_fields_stay_and_others_go(target: str) -> None:
    done = sent({"messages": [HI], **OWN[target]}, target)
    assert done.changes == []
    careful = sent({"messages": [HI], **OWN[target]}, target, doubt="careful")
    assert careful.json == done.json
    foreign = {"provider": {"order": ["a"]}, "safe_prompt": True, "chat_template_kwargs": {}}
    mixed = sent({"messages": [HI], **OWN[target], **foreign, "newest": 1}, target)
    assert mixed.json == {**done.json, "newest": 1}
    assert {change[1] for change in mixed.changes} == {f"/{name}" for name in foreign}


@pytest.mark.parametrize("target", ["moonshot/kimi-k2.5", "xai/grok-4", "cohere-openai/m", "cerebras/m"])
def test_top_k_goes_only_if_it_is_known(target: str) -> None:
    done = sent({"messages": [HI], "top_k": 40}, target)
    assert "top_k" not in done.json
    assert [change[:3] for change in done.changes] == [("refused-setting", "/top_k", "metadata")]
    assert sent({"messages": [HI], "top_k": 40}, "together/m").json["top_k"] == 40


def test_a_null_field_of_another_dialect_is_no_change() -> None:
    asked = {"model": "m", "messages": [HI], "keep_alive": None}
    assert sent(asked, "openai/gpt-4o", source="ollama").changes == []


@pytest.mark.parametrize("field", ["betas", "context_management", "mcp_servers"])
def test_fields_of_betas_stay_home_for_a_strict_server(field: str) -> None:
    asked = {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}], field: []}
    done = sent(asked, "anthropic-compatible-strict/claude-sonnet-4-5", source="anthropic")
    assert field not in done.json
    assert [change[1] for change in done.changes] == [f"/{field}"]
