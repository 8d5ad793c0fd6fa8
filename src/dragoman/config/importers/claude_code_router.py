"""claude-code-router's `config.json`: `Providers`, `Router`, and settings of its server."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from dragoman.config.importers.foreign_config import (
    ForeignSection,
    Imported,
    ImportNote,
    hash_client_key,
    variable_reference,
    without_empty,
)
from dragoman.config.importers.vendor_hosts import profile_at

# A transformer that tells the dialect of its endpoint: the dialect, and the profile if no vendor owns the address.
DIALECTS = {
    "anthropic": ("anthropic", "anthropic-compatible"),
    "gemini": ("gemini", "gemini-native-compatible"),
    "vertex-gemini": ("gemini", "vertex"),
}
CHAT = ("openai-chat", "openai-compatible")
# What these do happens by itself here, because of what is known of the target.
NEEDLESS = frozenset(
    {
        *DIALECTS,
        "deepseek",
        "groq",
        "openrouter",
        "cleancache",
        "reasoning",
        "sampling",
        "enhancetool",
        "maxcompletiontokens",
    }
)
LEVELS = {"fatal": "error", "error": "error", "warn": "warning", "info": "info", "debug": "debug", "trace": "debug"}
BACKGROUND = ("claude-haiku-*", "claude-3-5-haiku-*", "claude-3-haiku-*")
"""What Claude Code asks for in the background."""
CONTENT_ROUTES = ("think", "webSearch", "image")
"""Chosen by what is in a request."""
_ENDPOINTS = ("/chat/completions", "/v1/messages", "/messages", "/models", "/v1beta")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")


def import_claude_code_router(document: object, process: Mapping[str, str]) -> Imported:
    """Translate one file."""
    notes: list[ImportNote] = []
    source = ForeignSection(document, "", notes)
    config: dict[str, Any] = {"providers": {}, "models": {}}
    timeout = source.take("API_TIMEOUT_MS")
    for entry in source.items("Providers"):
        _provider(entry, config, timeout)
    _router(source.section("Router"), config)
    _server(source, config, process)
    if source.take("PROXY_URL"):
        source.note("PROXY_URL", "is a variable of the environment here; set HTTPS_PROXY")
    source.take("NON_INTERACTIVE_MODE")
    source.note_rest()
    return Imported(without_empty(config), tuple(notes))


def _provider(entry: ForeignSection, config: dict[str, Any], timeout: Any) -> None:
    name = str(entry.take("name", default="")).replace("/", "-")
    base = str(entry.take("api_base_url", "baseUrl", default=""))
    transformer = entry.section("transformer")
    shared = list(_transformers(transformer.take("use")))
    dialect, elsewhere = next((DIALECTS[kind] for kind, _ in shared if kind in DIALECTS), CHAT)
    fields = {
        "profile": profile_at(base, dialect) or elsewhere,
        "base_url": _sdk_base(base),
        "api_key": _value(entry.take("api_key", "apiKey")),
        "timeouts": {"total": timeout / 1000} if isinstance(timeout, int | float) and timeout > 0 else None,
        "attribution": _attribution(shared),
    }
    config["providers"][name] = without_empty(fields)
    for model in entry.take("models", default=[]) or []:
        own = list(_transformers(transformer.section(str(model)).take("use")))
        options = _options(transformer, [*shared, *own])
        config["models"][f"{name},{model}"] = without_empty({"target": f"{name}/{model}", "options": options})
    transformer.note_rest()
    entry.note_rest()


def _transformers(use: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The names of transformers in small letters, each with its options."""
    for one in use if isinstance(use, list) else []:
        name, options = (one[0], one[1] if len(one) > 1 else {}) if isinstance(one, list) and one else (one, {})
        if isinstance(name, str):
            yield name.lower(), options if isinstance(options, Mapping) else {}


def _options(section: ForeignSection, transformers: list[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """What the transformers put into requests."""
    options: dict[str, Any] = {}
    for name, given in transformers:
        if name == "maxtoken" and given.get("max_tokens"):
            options["max_tokens"] = given["max_tokens"]
        elif name == "openrouter" and (order := given.get("providerOrder")):
            options["provider"] = {"order": order}
        elif name == "openrouter" and isinstance(given.get("provider"), Mapping):
            options["provider"] = dict(given["provider"])
        elif name not in NEEDLESS:
            section.note("use", f'the transformer "{name}" has no counterpart; not imported')
    return options


def _attribution(transformers: list[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    given = next((options for name, options in transformers if name == "openrouter"), {})
    return without_empty({"title": given.get("title"), "url": given.get("referer")})


def _sdk_base(base: str) -> str | None:
    """The base URL as the vendor's SDK takes it; there the whole path of an endpoint is written."""
    url = base.rstrip("/")
    for ending in _ENDPOINTS:
        url = url.removesuffix(ending).rstrip("/")
    return _value(url) or None


def _value(value: Any) -> str | None:
    """`$X` and `${X}` become `${X}`."""
    if not isinstance(value, str) or not value:
        return None
    return _VARIABLE.sub(lambda found: variable_reference(found[1]), value)


def _router(section: ForeignSection, config: dict[str, Any]) -> None:
    """The models for each kind of request: by their names, and by those that Claude Code asks for."""
    models = config["models"]
    routes = {
        kind: _target(section, kind, config) for kind in ("default", "background", "longContext", *CONTENT_ROUTES)
    }
    for kind, target in routes.items():
        if target is not None:
            models[kind] = {"target": target}
    if (target := routes["default"]) is not None:
        config["default_model"] = "default"
        models["claude-*"] = {"target": target}
    for pattern in BACKGROUND if routes["background"] is not None else ():
        models[pattern] = {"target": routes["background"]}
    section.take("longContextThreshold")
    if routes["longContext"] is not None and "default" in models:
        for name in ("default", "claude-*"):
            models[name]["fallbacks_on"] = {"context_length": ["longContext"]}
        section.note(
            "longContext", "is asked if a conversation is too long for the default model, not from a threshold on"
        )
    for kind in CONTENT_ROUTES:
        if routes[kind] is not None:
            section.note(
                kind, f'is not chosen by what a request holds; ask for the model "{kind}", as with /model {kind}'
            )
    section.note_rest()


def _target(section: ForeignSection, kind: str, config: dict[str, Any]) -> str | None:
    given = section.take(kind)
    if not isinstance(given, str) or not given:
        return None
    provider, comma, model = given.partition(",")
    if not comma or provider.replace("/", "-") not in config["providers"]:
        section.note(kind, f'"{given}" is not PROVIDER,MODEL of a provider of this file; not imported')
        return None
    return f"{provider.replace('/', '-')}/{model}"


def _server(source: ForeignSection, config: dict[str, Any], process: Mapping[str, str]) -> None:
    key = source.take("APIKEY")
    digest = hash_client_key(source, "APIKEY", _value(key), process)
    if digest:
        config["keys"] = {"client": {"sha256": digest, "admin": True}}
    host, port = source.take("HOST"), source.take("PORT")
    server = without_empty({"host": host if digest else None, "port": port})
    if server:
        config["server"] = server
    if host not in (None, "127.0.0.1", "localhost") and not digest:
        source.note("HOST", f"{host} is public and there is no key; the default, loopback, is used instead")
    level = source.take("LOG_LEVEL")
    if level in LEVELS:
        config["log"] = {"level": LEVELS[level]}
    if source.take("LOG") is False:
        source.note("LOG", "cannot be switched off; log.level: error logs the least")
