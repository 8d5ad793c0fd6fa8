"""The corpus of recorded traffic, where it lies; never copied."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

_BESIDE = Path(__file__).resolve().parents[3] / "shared" / "corpus"


def corpus() -> Path:
    """The folder of the corpus; skips the test that asks if there is none."""
    found = Path(os.environ.get("DRAGOMAN_CORPUS", _BESIDE))
    if not found.is_dir():
        pytest.skip("no recorded traffic: set DRAGOMAN_CORPUS to its folder")
    return found


def exchanges(pattern: str) -> Iterator[dict[str, Any]]:
    """Every exchange of the files that match."""
    for path in sorted(corpus().glob(pattern)):
        with path.open("rb") as lines:
            yield from map(orjson.loads, lines)


EMULATORS = {
    "openai": "openai",
    "openrouter": "openrouter",
    "mistral": "mistral",
    "deepseek": "deepseek",
    "groq": "groq",
    "llamacpp": "llamacpp",
    "ollama": "ollama-openai",
    "xai": "xai",
    "zai": "zai",
    "azure-openai": "azure-openai",
    "azure-foundry": "azure-openai",
    "perplexity": "perplexity",
    "cerebras": "cerebras",
    "together": "together",
    "gemini-compat": "gemini-openai",
    "moonshotai": "moonshot",
    "alibaba": "qwen",
    "fireworks": "fireworks",
    "minimax": "minimax",
}


def emulator_of(recorded: str) -> str:
    """The emulator for a recorded provider; services without one of their own go to the lenient server."""
    return EMULATORS.get(recorded, "compatible-lenient")
