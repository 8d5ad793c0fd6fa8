"""LazyRouter's `config.yaml`: `providers`, `llms`, `router`, `context_compression`, `health_check`, `serve`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from dragoman.config.importers import foreign_config
from dragoman.config.importers.vendor_hosts import profile_at

# api_style → the dialect, the profile without an address, and the one at an address that no vendor owns.
STYLES = {
    "openai": ("openai-chat", "openai", "openai-compatible"),
    "openai-completions": ("openai-chat", "openai", "openai-compatible"),
    "openai-responses": ("openai-responses", "openai-responses", "openai-responses"),
    "anthropic": ("anthropic", "anthropic", "anthropic-compatible"),
    "gemini": ("gemini", "gemini", "gemini-native-compatible"),
}
FLATTENING = "gemini-native-compatible"
FLATTENED = {"flat_tools": True, "thought_in_id": "refuses"}
"""What LazyRouter does for Gemini behind a proxy: calls and results of the history as text, ids without signatures."""
MODELS_PER_REQUEST = 3


def import_lazyrouter(document: object, process: Mapping[str, str]) -> foreign_config.Imported:
    """Translate one file."""
    notes: list[foreign_config.ImportNote] = []
    source = foreign_config.ForeignSection(document, "", notes)
    config: dict[str, Any] = {
        "providers": {name: _provider(entry) for name, entry in source.entries("providers")},
        "models": _models(source),
    }
    _serve(source.section("serve"), config, process)
    _router(source, config)
    _trim(source.section("context_compression"), config)
    for name in ("health_check", "health"):
        _health_checks(source.section(name), config)
    source.note_rest()
    return foreign_config.Imported(foreign_config.without_empty(config) | _pinning_off(config), tuple(notes))


def _pinning_off(config: dict[str, Any]) -> dict[str, Any]:
    """The switch that is on by default, if it is off."""
    return {name: value for name, value in config.items() if name == PINNING and value is False}


PINNING = "pin_tool_results"
NAMESPACED = "lazyrouter/auto"
"""What clients that name their provider ask for; LazyRouter takes it for `auto`."""
TRIM_KEYS = (
    *("max_history_tokens", "keep_recent_exchanges", "keep_recent_user_turns_in_chained_tool_calls"),
    *("old_message_max_tokens", "oldest_message_max_tokens"),
    *("old_tool_result_max_tokens", "oldest_tool_result_max_tokens"),
)


CACHE_KEYS = {
    "cache_buffer_seconds": "buffer_seconds",
    "cache_estimated_minutes_per_message": "minutes_per_message",
    "cache_create_input_multiplier": "create_multiplier",
    "cache_hit_input_multiplier": "hit_multiplier",
}


def _router(source: foreign_config.ForeignSection, config: dict[str, Any]) -> None:
    """The model that chooses, the routes it chooses from, and whether results of tools stay with their model."""
    section = source.section("router")
    first, second = (
        _target_of(section, "provider", "model"),
        _target_of(section, "provider_fallback", "model_fallback"),
    )
    _pin(section, config)
    fields = {name: section.take(name) for name in ("temperature", "context_messages", "prompt")}
    caches = foreign_config.without_empty({ours: section.take(theirs) for theirs, ours in CACHE_KEYS.items()})
    if caches:
        config["caches"] = caches
    if first is not None:
        config["router"] = foreign_config.without_empty({"model": first, "fallback": second, **fields})
    section.note_rest()
    routes, strategy = source.take("routes"), "model" if first is not None else "order"
    given = routes.items() if isinstance(routes, dict) else ()
    named = {str(name): one.get("models") if isinstance(one, dict) else one for name, one in given}
    config["routes"] = {name: {"models": models, "strategy": strategy} for name, models in named.items() if models}
    if config["models"]:
        config["routes"][NAMESPACED] = {"strategy": strategy}


def _pin(section: foreign_config.ForeignSection, config: dict[str, Any]) -> None:
    """Whether results of tools stay with their model: it stands beside the router's keys or those of trimming."""
    if section.take("skip_router_on_tool_results", default=True) is False:
        config[PINNING] = False


def _target_of(section: foreign_config.ForeignSection, provider: str, model: str) -> str | None:
    found = {name: section.take(name) for name in (provider, model)}
    if all(found.values()):
        return f"{found[provider]}/{found[model]}"
    for name, value in found.items():
        if value:
            section.note(name, f"{provider} and {model} must be set together; not imported")
    return None


def _health_checks(section: foreign_config.ForeignSection, config: dict[str, Any]) -> None:
    keys = {name: section.take(name) for name in ("interval", "max_latency_ms", "idle_after_seconds")}
    given = {name: value for name, value in keys.items() if value is not None}
    if given:
        config["health_checks"] = given
    section.note_rest()


def _trim(section: foreign_config.ForeignSection, config: dict[str, Any]) -> None:
    """The trimming of long histories. Its keys have the same names here; `enabled` is an older name of the switch."""
    _pin(section, config)
    older = section.take("enabled", default=False)
    switched_on = section.take("history_trimming", default=older)
    keys = {name: section.take(name) for name in TRIM_KEYS}
    if switched_on:
        config["history"] = {"trim": {name: value for name, value in keys.items() if value is not None}}
    section.note_rest("no longer exists")


def _provider(entry: foreign_config.ForeignSection) -> dict[str, Any]:
    style = str(entry.take("api_style", default="openai"))
    base = entry.take("base_url")
    if style not in STYLES:
        entry.note("api_style", f'"{style}" is not known; imported as openai')
        style = "openai"
    dialect, own, elsewhere = STYLES[style]
    profile = (profile_at(str(base), dialect) or elsewhere) if base else own
    fields = foreign_config.without_empty(
        {
            "profile": profile,
            "base_url": _sdk_base(style, base),
            "api_key": entry.take("api_key"),
            "headers": entry.take("headers"),
            "facts": FLATTENED if base and profile == FLATTENING else None,
        }
    )
    entry.note_rest()
    return fields


def _sdk_base(style: str, base: Any) -> str | None:
    """The base URL as the vendor's SDK takes it. LazyRouter completes shorter ones."""
    if not base:
        return None
    url = str(base).rstrip("/")
    if style == "anthropic":
        return url.removesuffix("/v1")
    if style == "gemini":
        return url  # a version at its end is not repeated when a request is sent
    is_versioned = any(part[:1] == "v" and part[1:2].isdigit() for part in urlsplit(url).path.split("/"))
    return url if is_versioned else f"{url}/v1"


def _models(source: foreign_config.ForeignSection) -> dict[str, Any]:
    models: dict[str, Any] = {}
    scores: dict[str, float] = {}
    for name, entry in source.entries("llms"):
        provider, model = entry.take("provider"), entry.take("model")
        options = entry.take("params", "options")
        price = _price(entry)
        models[name] = foreign_config.without_empty(
            {
                "target": f"{provider}/{model}",
                "options": options,
                "description": entry.take("description"),
                "context_window": entry.take("context_window", "max_context"),
                "cache_ttl": entry.take("cache_ttl"),
                "price": price,
            }
        )
        elos = {kind: float(elo) for kind in ("coding", "writing") if (elo := entry.take(f"{kind}_elo")) is not None}
        if elos:
            models[name]["ratings"] = elos
            scores[name] = sum(elos.values()) / len(elos)
        entry.note_rest()
    _add_fallbacks(source, models, scores)
    return models


def _price(entry: foreign_config.ForeignSection) -> dict[str, float] | None:
    """What a million tokens cost. Half a price is none."""
    given = {kind: entry.take(f"{kind}_price") for kind in ("input", "output")}
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in given.values()):
        return {kind: float(value) for kind, value in given.items()}
    for kind, value in given.items():
        if value is not None:
            entry.note(f"{kind}_price", "input_price and output_price must both be numbers; not imported")
    return None


def _add_fallbacks(source: foreign_config.ForeignSection, models: dict[str, Any], scores: dict[str, float]) -> None:
    """Fallbacks by closeness of Elo scores, which LazyRouter computes at run time."""
    for name in scores:
        others = sorted((other for other in scores if other != name), key=lambda o: abs(scores[o] - scores[name]))
        if others:
            models[name]["fallbacks"] = others[: MODELS_PER_REQUEST - 1]
    if len(scores) > 1:
        source.note("llms", "coding_elo and writing_elo are imported as fallbacks in order of closeness")


def _serve(section: foreign_config.ForeignSection, config: dict[str, Any], process: Mapping[str, str]) -> None:
    server = foreign_config.without_empty({"host": section.take("host"), "port": section.take("port")})
    digest = foreign_config.hash_client_key(section, "api_key", section.take("api_key"), process)
    if section.take("debug"):
        config["log"] = {"level": "debug"}
    if section.take("show_model_prefix"):
        for model in config["models"].values():
            model["show_model_prefix"] = True
    if digest:
        config["keys"] = {"serve": {"sha256": digest, "admin": True}}
    if server.get("host") not in (None, "127.0.0.1", "localhost", "::1") and not digest:
        section.note(
            "host", f"{server.pop('host')} is public and there is no key; the default, loopback, is used instead"
        )
    if server:
        config["server"] = server
    section.note_rest()
