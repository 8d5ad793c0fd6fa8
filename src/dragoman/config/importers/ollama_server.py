"""An Ollama server in another program's file: which of its two APIs is meant, its address, and options in its form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NATIVE, COMPATIBLE = "ollama", "ollama-openai"
PROFILES = frozenset({NATIVE, COMPATIBLE})
_PATHS = ("/api/chat", "/api/generate", "/api")
_NAMES = {"max_tokens": "num_predict", "max_completion_tokens": "num_predict"}
_TOP_LEVEL = frozenset({"think", "format", "keep_alive", "truncate", "shift", "logprobs", "top_logprobs", "tools"})


def api_at(base: str | None) -> str:
    """The profile for an address: the compatible endpoint ends with `/v1`."""
    return COMPATIBLE if (base or "").rstrip("/").endswith("/v1") else NATIVE


def server_root(base: str | None) -> str | None:
    """The address without the path of an endpoint."""
    if base is None:
        return None
    root = base.rstrip("/")
    return next((root.removesuffix(path) for path in _PATHS if root.endswith(path)), root)


def own_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as the body of the native API has them: most stand in a member of their own."""
    named = {_NAMES.get(name, name): value for name, value in options.items()}
    if "reasoning_effort" in named:
        effort = named.pop("reasoning_effort")
        named["think"] = False if effort == "none" else effort
    inner = {name: value for name, value in named.items() if name not in _TOP_LEVEL}
    outer = {name: value for name, value in named.items() if name in _TOP_LEVEL}
    return {**outer, "options": inner} if inner else outer


def compatible_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the native API as its compatible endpoint calls them."""
    return {"max_tokens" if name == "num_predict" else name: value for name, value in options.items()}


def options_for(profile: str, options: Mapping[str, Any]) -> dict[str, Any]:
    return own_options(options) if profile == NATIVE else compatible_options(options)
