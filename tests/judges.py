"""Who judges whom: for every built-in profile the emulator, with its options, that says whether a request is accepted.

No sockets: `judge` reads and judges, with strict signatures, as the laws want it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from dragoman.emulators.catalogue import provider
from dragoman.emulators.provider import EmulatedProvider, ErrorResponse

JUDGES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "openai": ("openai", {}),
    "openai-responses": ("openai-responses", {}),
    "azure-openai": ("azure-openai", {}),
    "azure-openai-responses": ("azure-openai-responses", {}),
    "azure-anthropic": ("azure-anthropic", {}),
    "azure-foundry": ("azure-foundry", {}),
    "vertex-anthropic": ("vertex-anthropic", {}),
    "anthropic": ("anthropic", {}),
    "anthropic-compatible-strict": ("anthropic", {}),
    "gemini": ("gemini", {}),
    "gemini-compatible": ("gemini-openai", {}),
    "gemini-native-compatible-strict": ("gemini", {}),
    "bedrock": ("bedrock", {}),
    "bedrock-anthropic": ("bedrock", {}),
    "vertex": ("vertex", {}),
    "gemini-openai": ("gemini-openai", {}),
    "openrouter": ("openrouter", {}),
    "mistral": ("mistral", {}),
    "deepseek": ("deepseek", {}),
    "groq": ("groq", {}),
    "xai": ("xai", {}),
    "xai-responses": ("xai-responses", {}),
    "zai": ("zai", {}),
    "moonshot": ("moonshot", {}),
    "qwen": ("qwen", {}),
    "minimax": ("minimax", {}),
    "cerebras": ("cerebras", {}),
    "together": ("together", {}),
    "fireworks": ("fireworks", {}),
    "perplexity": ("perplexity", {}),
    "cohere": ("cohere", {}),
    "cohere-openai": ("cohere-openai", {}),
    "ollama": ("ollama", {}),
    "ollama-openai": ("ollama-openai", {}),
    "vllm": ("vllm", {}),
    "llamacpp": ("llamacpp", {}),
    "lmstudio": ("lmstudio", {}),
    "sglang": ("sglang", {}),
    "openai-compatible-strict": ("compatible", {}),
    "openai-compatible-lenient": ("compatible-lenient", {}),
    "strict-template": ("template", {"template": "alternating"}),
    "auto": ("compatible-lenient", {}),
    "openai-compatible": ("compatible-lenient", {}),
    "anthropic-compatible": ("anthropic-compatible", {}),
    "gemini-native-compatible": ("gemini-native-compatible", {}),
}
# a profile's path may be relative to its base URL; the emulator knows the vendor's from the root
_PREFIXES = ("", "/v1", "/v1beta", "/api", "/api/v1", "/openai", "/openai/v1", "/v1beta/openai", "/compatibility/v1")


@cache
def judge_of(profile: str, strict: bool) -> EmulatedProvider:
    name, options = JUDGES[profile]
    return provider(name, **({"signatures": "strict"} if strict else {}), **options)


def judge(
    profile: str, model: str, path: str, headers: Mapping[str, str], body: bytes, strict: bool = True
) -> ErrorResponse | None:
    """The refusal of the emulator that judges this profile, or None. `model` fills a `{model}` in the path.

    `strict`: signatures of unknown make are refused; recorded traffic is judged without that.
    """
    one = judge_of(profile, strict)
    owned, fields = served_path(one, path, model)
    call = one.parse_request("POST", owned, fields, {name.lower(): value for name, value in headers.items()}, body)
    return call if isinstance(call, ErrorResponse) else one.judge(call)


def served_path(one: EmulatedProvider, path: str, model: str) -> tuple[str, dict[str, str]]:
    """A profile's path as its emulator knows it, and the query."""
    route, _, query = path.replace("{model}", model).partition("?")
    owned = next((prefix + route for prefix in _PREFIXES if one.operation_of("POST", prefix + route)), None)
    if owned is None:
        raise ValueError(f"the emulator {one.name} knows no path {route}; its own: {one.example[0]}")
    return owned, dict(parse_qsl(query))
