"""Every built-in target of the laws: each profile, with models that cover its globs, and who signs for its judge."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from _pytest.mark import ParameterSet
from tests.corpus import FULL
from tests.shapes.words import Signer

from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.emulators.anthropic.thinking import issuer
from dragoman.engine.library.adapt import BUILTIN

MODELS: dict[str, tuple[str, ...]] = {
    "anthropic": (
        "claude-opus-4-8",
        "claude-sonnet-4-5",
        "claude-opus-4-6",
        "claude-sonnet-5",
        "claude-opus-4-7",
        "claude-3-5-haiku-20241022",
    ),
    "anthropic-compatible": ("claude-sonnet-4-5",),
    "anthropic-compatible-strict": ("claude-sonnet-4-5",),
    "gemini": ("gemini-2.5-flash", "gemini-3-pro-preview", "gemini-2.0-flash"),
    "vertex": ("gemini-2.5-flash", "gemini-3-pro-preview"),
    "gemini-compatible": ("gemini-2.5-flash",),
    "gemini-native-compatible": ("gemini-2.5-flash",),
    "gemini-native-compatible-strict": ("gemini-2.5-flash", "gemini-3-pro-preview"),
    "gemini-openai": ("gemini-2.5-flash", "gemini-3-pro-preview"),
    "openai": ("gpt-4o", "gpt-5", "o3", "gpt-5.1", "gpt-4.1-mini", "gpt-5.6"),
    "azure-openai": ("gpt-4o", "gpt-5", "o3"),
    "azure-openai-responses": ("gpt-4o", "gpt-5", "prod"),
    "azure-anthropic": ("claude-sonnet-4-5", "claude-opus-4-8"),
    "azure-foundry": ("grok-3-mini", "some-model"),
    "vertex-anthropic": ("claude-sonnet-4-5@20250929", "claude-sonnet-4-6"),
    "openai-responses": ("gpt-5", "gpt-4o", "o3", "gpt-5.1"),
    "openrouter": (
        "google/gemini-2.5-flash",
        "google/gemini-3-pro-preview",
        "anthropic/claude-sonnet-4.5",
        "mistralai/mistral-large",
        "deepseek/deepseek-chat",
        "openai/gpt-4o",
        "qwen/qwen3-32b",
    ),
    "mistral": ("mistral-large-latest", "magistral-medium-latest"),
    "deepseek": ("deepseek-chat", "deepseek-reasoner", "deepseek-v4"),
    "groq": ("llama-3.3-70b-versatile", "openai/gpt-oss-120b", "qwen/qwen3-32b"),
    "xai": ("grok-4", "grok-3-mini"),
    "xai-responses": ("grok-4.3", "grok-build-1"),
    "zai": ("glm-4.6", "glm-5.3"),
    "cohere": ("command-a-plus-05-2026", "command-a-03-2025", "command-a-reasoning-08-2025"),
    "ollama": ("qwen3:8b", "llama3.1", "gemma3:4b", "gpt-oss:20b"),
    "bedrock-anthropic": ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "us.anthropic.claude-opus-4-8"),
    "bedrock": (
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "us.amazon.nova-lite-v1:0",
        "meta.llama3-3-70b-instruct-v1:0",
        "mistral.mistral-large-2407-v1:0",
        "openai.gpt-oss-120b-1:0",
        "some-model",
    ),
    "moonshot": ("kimi-k2-thinking", "kimi-k2-0905-preview"),
}

SOME = ("some-model",)
TARGETS = [f"{name}/{model}" for name in BUILTIN.names() for model in MODELS.get(name, SOME)]
_PROFILES = {name: "openai" if name == "openai-chat" else name for name in DIALECT_NAMES}
OWN = {name: f"{profile}/{MODELS.get(profile, SOME)[0]}" for name, profile in _PROFILES.items()}
"""For each dialect a target that speaks it: the first model of the profile that is called after it."""
ONE_OF_EACH = (*OWN.values(), "gemini/gemini-3-pro-preview")
"""The targets that the quick run looks at most: one of each dialect, and the one that asks most."""

# So many that `make laws` ends within half an hour on two cores. Each seed is four requests for every target and law:
# whoever searches for more raises it.
SEEDS = 80 if FULL else 6
EXAMPLES = 400 if FULL else 60


def _sweeps() -> Iterator[ParameterSet]:
    for target in TARGETS:
        soon = SEEDS if FULL or target in ONE_OF_EACH else 1
        yield pytest.param(target, range(soon), id=target)
        if soon < SEEDS:
            yield pytest.param(target, range(soon, SEEDS), id=f"{target}-more", marks=pytest.mark.slow)


SWEEPS = [*_sweeps()]
"""Each target with the seeds of its requests. But for one target of each dialect all seeds after the first are slow."""

_CLAUDE = "anthropic/{model}"
_SIGNERS = {
    "anthropic": _CLAUDE,
    "anthropic-compatible": _CLAUDE,
    "anthropic-compatible-strict": _CLAUDE,
    "vertex-anthropic": _CLAUDE,
    "azure-anthropic": _CLAUDE,
    "azure-openai": "openai-responses",  # a request with a tool that only this API has goes there
    "azure-openai-responses": "openai-responses",
    "bedrock": _CLAUDE,
    "bedrock-anthropic": _CLAUDE,
    "gemini": "gemini/{model}",
    "gemini-openai": "gemini/{model}",
    "gemini-native-compatible": "gemini/{model}",
    "gemini-native-compatible-strict": "gemini/{model}",
    "vertex": "vertex/{model}",
    "openai": "openai-responses",
    "openai-responses": "openai-responses",
    "openrouter": "openrouter",
    "xai": "xai",  # as with azure-openai
    "xai-responses": "xai",
}


def split(target: str) -> tuple[str, str]:
    name, _, model = target.partition("/")
    return name, model


def signer(target: str) -> Signer:
    """The emulator that will judge the target signs what the client holds of it."""
    name, model = split(target)
    signs = _SIGNERS.get(name, "nobody")
    by = issuer(model) if signs == _CLAUDE else signs.format(model=model)
    return Signer(by, name, model)
