"""LiteLLM's `config.yaml`: `model_list`, `router_settings`, `litellm_settings`, `general_settings`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from dragoman.config.importers import ollama_server
from dragoman.config.importers.foreign_config import (
    ForeignSection,
    Imported,
    ImportNote,
    hash_client_key,
    variable_reference,
    whole_number,
    without_empty,
)
from dragoman.config.importers.vendor_hosts import profile_at

# LiteLLM's prefix → the profile, if they differ.
PROFILES = {
    "azure": "azure-openai",
    "azure_ai": "openai-compatible",
    "cohere_chat": "cohere",
    "custom_openai": "openai-compatible",
    "dashscope": "qwen",
    "fireworks_ai": "fireworks",
    "hosted_vllm": "vllm",
    "litellm_proxy": "openai-compatible",
    "llamafile": "llamacpp",
    "lm_studio": "lmstudio",
    "ollama_chat": ollama_server.NATIVE,
    "openai_like": "openai-compatible",
    "together_ai": "together",
    "vertex_ai": "vertex",
}
# A model without a prefix: LiteLLM guesses from its name.
GUESSES = (
    (re.compile(r"gpt-|o\d|chatgpt-"), "openai"),
    (re.compile(r"claude-"), "anthropic"),
    (re.compile(r"gemini-"), "vertex_ai"),
    (re.compile(r"command-"), "cohere"),
)
# A vendor's prefix with an address of its own: the dialect, and the profile where no vendor owns the address.
ELSEWHERE = {
    "openai": ("openai-chat", "openai-compatible"),
    "anthropic": ("anthropic", "anthropic-compatible"),
    "gemini": ("gemini", "gemini-native-compatible"),
}
FALLBACKS = {
    "fallbacks": None,
    "context_window_fallbacks": "context_length",
    "content_policy_fallbacks": "content_filter",
}
OLLAMA_OPTIONS = (
    *("num_ctx", "num_predict", "num_keep", "num_gpu", "num_thread", "repeat_penalty", "repeat_last_n", "min_p"),
    *("typical_p", "mirostat", "mirostat_eta", "mirostat_tau", "tfs_z", "keep_alive", "think", "format"),
)
OPTIONS = [
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "max_completion_tokens",
    "seed",
    "stop",
    "frequency_penalty",
    "presence_penalty",
    "n",
    "reasoning_effort",
    "thinking",
    "response_format",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "user",
    "logprobs",
    "top_logprobs",
    "logit_bias",
    "service_tier",
    "metadata",
]


def import_litellm(document: object, process: Mapping[str, str]) -> Imported:
    """Translate one file. `process` is the environment, which may hold the master key."""
    notes: list[ImportNote] = []
    source = ForeignSection(document, "", notes)
    models = _Models()
    for entry in source.items("model_list"):
        models.add(entry)
    settings = [source.section("litellm_settings"), source.section("router_settings")]
    config: dict[str, Any] = {"providers": models.providers, "models": models.models}
    for section in settings:
        _fallbacks(section, models)
        _retries(section, models)
        _settings(section, config)
        section.note_rest()
    _general(source.section("general_settings"), config, process)
    variables = source.section("environment_variables")
    variables.note_rest("is a variable; put it into .env next to the file")
    source.note_rest()
    return Imported(without_empty(config), tuple(notes))


class _Models:
    """Collects the models and their providers: one provider per prefix, address and key."""

    def __init__(self) -> None:
        self.providers: dict[str, dict[str, Any]] = {}
        self.models: dict[str, dict[str, Any]] = {}
        self._names: dict[str, str] = {}

    def add(self, entry: ForeignSection) -> None:
        public = str(entry.take("model_name", default=""))
        params = entry.section("litellm_params")
        model = str(params.take("model", default=""))
        prefix, name = _split(model, params.take("custom_llm_provider"))
        provider = self._provider(prefix, params)
        profile = str(self.providers[provider]["profile"])
        if "*" in public or "*" in name:
            entry.note("", f'"{public}" is a pattern; use {provider}/MODEL instead')
        else:
            self._model(entry, public or model, f"{provider}/{name}", _model_fields(params, entry, profile))
        params.note_rest()
        entry.note_rest()

    def _provider(self, prefix: str, params: ForeignSection) -> str:
        fields = _provider_fields(prefix, params)
        identity = json.dumps(fields, sort_keys=True)
        if identity not in self._names:
            number = sum(1 for name in self.providers if re.fullmatch(rf"{re.escape(prefix)}(-\d+)?", name))
            self._names[identity] = prefix if not number else f"{prefix}-{number + 1}"
            self.providers[self._names[identity]] = fields
        return self._names[identity]

    def _model(self, entry: ForeignSection, public: str, target: str, fields: dict[str, Any]) -> None:
        if public not in self.models:
            self.models[public] = {"target": target, **fields}
            return
        others = self.models[public].setdefault("fallbacks", [])
        other = target
        if fields:  # as a model of its own the deployment keeps its options
            other = f"{public}-{len(others) + 2}"
            self.models[other] = {"target": target, "hidden": True, **fields}
        others.append(other)
        entry.note("", f'another deployment of "{public}": imported as a fallback ({other}), without load balancing')


def _split(model: str, named: Any) -> tuple[str, str]:
    if named:
        return str(named), model.removeprefix(f"{named}/")
    prefix, slash, name = model.partition("/")
    if slash:
        return prefix, name
    guess = next((prefix for pattern, prefix in GUESSES if pattern.match(model)), "openai")
    return guess, model


def _provider_fields(prefix: str, params: ForeignSection) -> dict[str, Any]:
    base = _value(params.take("api_base", "base_url"))
    key = params.take("api_key")
    if isinstance(key, str) and key and not key.startswith("os.environ/"):
        params.note("api_key", "is in the file in plain text; an environment variable is safer")
    timeouts = without_empty({"total": params.take("timeout"), "first_byte": params.take("stream_timeout")})
    attempts = whole_number(params, "max_retries", params.take("max_retries", "num_retries"), plus=1)
    return without_empty(
        {
            "profile": _profile(prefix, base),
            "base_url": _sdk_base(prefix, base),
            "api_key": _value(key),
            "organization": _value(params.take("organization")),
            "headers": _headers(params.take("extra_headers", "headers")),
            "timeouts": timeouts,
            "retries": without_empty({"attempts": attempts}),
        }
    )


def _profile(prefix: str, base: str | None) -> str:
    named = PROFILES.get(prefix, prefix)
    if named in ollama_server.PROFILES:
        return ollama_server.api_at(base)
    dialect, elsewhere = ELSEWHERE.get("openai" if named == "openai-compatible" else prefix, ("", ""))
    if not base or not dialect:
        return named
    return profile_at(base, dialect) or elsewhere


def _sdk_base(prefix: str, base: str | None) -> str | None:
    """The base URL as the vendor's SDK takes it. LiteLLM also takes the whole path of an endpoint."""
    if base is None:
        return None
    if PROFILES.get(prefix, prefix) in ollama_server.PROFILES:
        return ollama_server.server_root(base)
    endings = ("/v1/messages", "/v1") if prefix == "anthropic" else ("/chat/completions",)
    for ending in endings:
        base = base.rstrip("/").removesuffix(ending)
    return base


def _model_fields(params: ForeignSection, entry: ForeignSection, profile: str) -> dict[str, Any]:
    is_ollama = profile in ollama_server.PROFILES
    taken = (*OPTIONS, *OLLAMA_OPTIONS) if is_ollama else OPTIONS
    options = {name: value for name in taken if (value := params.take(name)) is not None}
    options |= params.take("extra_body", default={}) or {}
    options = ollama_server.options_for(profile, options) if is_ollama else options
    about = entry.section("model_info")
    window = about.take("max_input_tokens")
    about.note_rest()
    if params.take("drop_params") is not None:
        params.note("drop_params", "is not needed: settings that a target refuses are removed and reported")
    omit = params.take("additional_drop_params")
    return without_empty({"options": options, "omit": omit, "context_window": window})


def _headers(headers: Any) -> dict[str, str] | None:
    return {str(k): str(_value(v)) for k, v in headers.items()} if isinstance(headers, Mapping) else None


def _value(value: Any) -> str | None:
    """`os.environ/X` becomes `${X}`. A literal `${` is escaped."""
    if not isinstance(value, str):
        return None
    if value.startswith("os.environ/"):
        return variable_reference(value.removeprefix("os.environ/"))
    return value.replace("${", "$${")


def _fallbacks(section: ForeignSection, models: _Models) -> None:
    for key, reason in FALLBACKS.items():
        for pair in section.take(key) or []:
            if not isinstance(pair, Mapping):
                section.note(key, f"{pair} is not a mapping of a model to its fallbacks; not imported")
                continue
            for public, others in pair.items():
                _add_fallbacks(section, models, key, str(public), _names(others), reason)
    others = _names(section.take("default_fallbacks"))
    for public in models.models if others else ():
        _add_fallbacks(section, models, "default_fallbacks", public, [o for o in others if o != public], None)


def _names(value: Any) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else [str(value)] if value else []


def _add_fallbacks(
    section: ForeignSection, models: _Models, key: str, public: str, others: list[str], reason: str | None
) -> None:
    if public not in models.models:
        section.note(key, f'"{public}" is not in model_list; not imported')
        return
    unknown = [other for other in others if other not in models.models and "/" not in other]
    if unknown:
        section.note(key, f"{', '.join(unknown)}: not in model_list; not imported")
    good = [other for other in others if other not in unknown]
    entry = models.models[public]
    place = entry if reason is None else entry.setdefault("fallbacks_on", {})
    name = reason or "fallbacks"
    place[name] = list(dict.fromkeys([*place.get(name, []), *good]))


def _retries(section: ForeignSection, models: _Models) -> None:
    attempts = whole_number(section, "num_retries", section.take("num_retries"), plus=1)
    timeout = section.take("timeout", "request_timeout")
    # LiteLLM allows this many failures and pauses at the next one.
    failures = whole_number(section, "allowed_fails", section.take("allowed_fails"), plus=1)
    cooldown = without_empty({"failures": failures, "seconds": section.take("cooldown_time")})
    for provider in models.providers.values():
        if attempts is not None:
            provider.setdefault("retries", {"attempts": attempts})
        if timeout is not None:
            provider["timeouts"] = {"total": timeout} | provider.get("timeouts", {})
        if cooldown:
            provider["cooldown"] = provider.get("cooldown", {}) | cooldown


def _settings(section: ForeignSection, config: dict[str, Any]) -> None:
    if section.take("drop_params") is not None:
        section.note("drop_params", "is not needed: settings that a target refuses are removed and reported")
    if section.take("set_verbose"):
        config["log"] = {"level": "debug"}
    for alias, target in (section.take("model_group_alias") or {}).items():
        name = target.get("model") if isinstance(target, Mapping) else target
        if name in config["models"]:
            hidden = {"hidden": True} if isinstance(target, Mapping) and target.get("hidden") else {}
            config["models"][alias] = {**config["models"][name], **hidden}
        else:
            section.note("model_group_alias", f'"{alias}" names "{name}", which is not a model; not imported')


def _general(section: ForeignSection, config: dict[str, Any], process: Mapping[str, str]) -> None:
    digest = hash_client_key(section, "master_key", section.take("master_key"), process)
    if digest:
        config["keys"] = {"master": {"sha256": digest, "admin": True}}
    server = without_empty({"max_concurrent": section.take("global_max_parallel_requests")})
    if server:
        config["server"] = server
    if default := section.take("completion_model"):
        config["default_model"] = default
    section.note_rest()
