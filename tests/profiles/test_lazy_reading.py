"""A start reads what it uses: reading every profile and compiling every pattern took a fifth of it."""

from __future__ import annotations

import pytest

from dragoman.config.load import parse
from dragoman.config.variables import Environment
from dragoman.gateway.config_names import collect_names
from dragoman.profiles import profile
from dragoman.profiles.model_patterns import ModelPatterns, model_expression

FILE = "providers: {up: {profile: groq, api_key: x}}\nmodels: {m: {target: anthropic/claude-sonnet-4-5}}\n"


def test_a_configuration_reads_the_profiles_that_it_names(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    read_profile = profile.builtin.__wrapped__
    monkeypatch.setattr(profile, "builtin", lambda name: read.append(name) or read_profile(name))
    variables = Environment({"ANTHROPIC_API_KEY": "key"})
    loaded = parse(FILE, file="dragoman.yaml", known=collect_names(), variables=variables)
    assert set(read) == {"groq", "anthropic"}
    assert [key.reveal() for key in loaded.config.providers["anthropic"].key_pool()] == ["key"]


def test_a_name_compiles_the_patterns_whose_words_it_holds() -> None:
    patterns = ModelPatterns([("llama-[34]*", "llama"), ("gpt-9*", "gpt"), ("gpt-9-*-small", "small"), ("*", "any")])
    before = model_expression.cache_info().currsize
    assert patterns.find("host/GPT-9-mini") == "gpt"
    assert model_expression.cache_info().currsize == before + 1
    assert patterns.find("team-gpt-9-old-small") == "small"
    assert patterns.find("egpt-9") == "any"
    assert patterns.find("llama-3-8b") == "llama"
    assert patterns.find("llama-2-8b") == "any"
