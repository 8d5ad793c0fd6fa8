"""Names in the file that stand for many, and providers for bare names."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from dragoman.config import Environment, InvalidConfig, parse
from dragoman.config.name_patterns import PatternMatch, match_pattern
from dragoman.gateway.known_names import known_names
from dragoman.profiles.families import all_families, families_of
from dragoman.profiles.profile import Profiles, builtin, builtin_names
from dragoman.upstream.destinations import Routes

KNOWN = known_names()


def routes(config: dict[str, Any], **variables: str) -> Routes:
    loaded = parse(yaml.safe_dump(config), known=KNOWN, variables=Environment(variables))
    return Routes(loaded.config, Profiles())


@pytest.mark.parametrize(
    ("names", "asked", "found"),
    [
        (("*",), "x", PatternMatch("*", "x")),
        (("*", "a/*"), "a/b/c", PatternMatch("a/*", "b/c")),
        (("a/*", "a/b-*"), "a/b-c", PatternMatch("a/b-*", "c")),
        (("*-mini",), "gpt-mini", PatternMatch("*-mini", "gpt")),
        (("team-*-x",), "team-a-x", PatternMatch("team-*-x", "a")),
        (("team-*-x",), "team-x", None),
        (("a/*",), "a/", None),
        (("*",), "", None),
        (("*",), "a*", None),
        (("plain",), "plain", None),
    ],
)
def test_the_longest_pattern_is_taken(names: tuple[str, ...], asked: str, found: PatternMatch | None) -> None:
    assert match_pattern(names, asked) == found


KEYS = {
    "ANTHROPIC_API_KEY": ("claude-sonnet-4-5", "anthropic"),
    "GEMINI_API_KEY": ("gemini-2.5-pro", "gemini"),
    "MISTRAL_API_KEY": ("mistral-large-latest", "mistral"),
    "DEEPSEEK_API_KEY": ("deepseek-chat", "deepseek"),
    "GROQ_API_KEY": ("openai/gpt-oss-120b", "groq"),
    "OPENROUTER_API_KEY": ("anthropic/claude-sonnet-4.5", "openrouter"),
    "XAI_API_KEY": ("grok-4", "xai"),
    "MOONSHOT_API_KEY": ("kimi-k2-thinking", "moonshot"),
    "DASHSCOPE_API_KEY": ("qwen3-max", "qwen"),
    "ZAI_API_KEY": ("glm-4.6", "zai"),
    "MINIMAX_API_KEY": ("MiniMax-M2", "minimax"),
    "PERPLEXITY_API_KEY": ("sonar-pro", "perplexity"),
    "CEREBRAS_API_KEY": ("gpt-oss-120b", "cerebras"),
    "TOGETHER_API_KEY": ("meta-llama/Llama-3.3-70B-Instruct-Turbo", "together"),
    "FIREWORKS_API_KEY": ("accounts/fireworks/models/glm-4p6", "fireworks"),
    "OPENAI_API_KEY": ("gpt-5.6", "openai-responses"),
}


@pytest.mark.parametrize("variable", KEYS)
def test_K25_with_a_key_in_the_environment_bare_names_lead_to_its_provider(variable: str) -> None:
    name, provider = KEYS[variable]
    found = routes({}, **{variable: "sk-0123456789abcdef"}).find(name, "anthropic")
    assert found is not None
    assert found.first.name == f"{provider}/{name}"


def test_K25_with_all_keys_in_the_environment_every_family_still_leads_to_its_maker() -> None:
    all_keys = routes({}, **dict.fromkeys(KEYS, "sk-0123456789abcdef"))
    for name, provider in KEYS.values():
        found = all_keys.find(name, "gemini")
        if name.partition("/")[0] in ("openai", "anthropic"):  # PROVIDER/MODEL says it all
            assert found is not None
            assert found.first.name == name
        else:
            provider = "openrouter" if name.startswith("meta-llama/") else provider
            assert found is not None, name
            assert found.first.name == f"{provider}/{name}"


def test_K25_the_openai_client_gets_the_chat_endpoint_of_a_maker_with_two() -> None:
    both = routes({}, OPENAI_API_KEY="sk-0123456789abcdef")
    for client, profile in (("openai-chat", "openai"), ("openai-responses", "openai-responses")):
        found = both.find("gpt-5.6", client)
        assert found is not None
        assert found.first.name == f"{profile}/gpt-5.6"


def test_two_accounts_of_one_maker_need_a_word() -> None:
    providers = {"a": {"profile": "anthropic"}, "b": {"profile": "anthropic"}}
    assert routes({"providers": providers}).find("claude-opus-5", "anthropic") is None
    found = routes({"providers": providers, "families": {"claude": "b"}}).find("claude-opus-5", "anthropic")
    assert found is not None
    assert found.first.provider == "b"


def test_a_family_may_name_a_profile_whose_key_is_in_the_environment() -> None:
    config = {
        "providers": {"corp": {"profile": "openai-compatible", "base_url": "http://x/v1"}},
        "families": {"claude": "anthropic"},
    }
    found = routes(config, ANTHROPIC_API_KEY="sk-ant-0123456789").find("claude-opus-5")
    assert found is not None
    assert found.first.keys == ("sk-ant-0123456789",)


def test_the_catch_all_wins_over_families() -> None:
    """What the file says wins over what we infer: one line sends every name of a client to one model."""
    config = {"providers": {"anthropic": {}, "groq": {}}, "models": {"*": {"target": "groq/llama-3.3-70b-versatile"}}}
    found = routes(config).find("claude-opus-5", "anthropic")
    assert found is not None
    assert found.first.name == "groq/llama-3.3-70b-versatile"


def test_names_that_clients_make_up_are_not_kept_for_ever() -> None:
    made = routes(
        {"providers": {"anthropic": {}}, "models": {"m": {"target": "anthropic/x"}, "*": {"target": "anthropic/*"}}}
    )
    kept = made.find("m")
    for number in range(4300):
        assert made.find(f"claude-{number}", "anthropic") is not None
    assert len(made._known) + len(made._bare) <= 4200
    assert len(made._destinations) <= 4200
    again = made.find("m")
    assert kept is not None
    assert again is not None
    assert again.first is kept.first


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"models": {"a*b*": {"target": "openai/*"}}}, "more than one *"),
        ({"models": {"a": {"target": "openai/*"}}}, "only where the name has one"),
        ({"models": {"a*": {"target": "openai/**"}}}, "one * at most"),
        ({"models": {"a*": {"target": "*/x"}}}, "may not stand for the provider"),
        ({"models": {"a": {"target": "openai/x", "fallbacks": ["openai/*"]}}}, "only where the name has one"),
        ({"models": {"a*": {"target": "openai/*"}}, "routes": {"r": {"models": ["a*"]}}}, "no model of this file"),
        ({"families": {"gtp": "openai"}}, 'Did you mean "gpt"?'),
        ({"families": {"gpt": "opnai"}}, 'Did you mean "openai"?'),
    ],
)
def test_what_a_file_may_not_say_about_names(config: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        routes(config)
    assert told in str(refused.value)


def test_every_family_has_a_profile_and_every_default_serves_its_family() -> None:
    serving = {family for name in builtin_names() for family in builtin(name).families}
    for family in all_families():
        assert family.name in serving
        assert not family.default or family.name in builtin(family.default).families


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("gpt-oss-120b", "gpt-oss"),
        ("GPT-4o", "gpt"),
        ("o3", "gpt"),
        ("o4-mini", "gpt"),
        ("openai/gpt-4o:free", "hosted"),
        ("llama3.2:3b", "tagged"),
        ("qwen3:8b", "tagged"),
        ("accounts/fireworks/models/x", "fireworks"),
        ("ft:gpt-4o-mini:acme::1", "gpt"),
    ],
)
def test_which_family_comes_first(name: str, first: str) -> None:
    assert families_of(name)[0].name == first


@pytest.mark.parametrize("name", ["orca", "o", "opus", "my-model", ""])
def test_names_of_no_family(name: str) -> None:
    assert families_of(name) == ()
