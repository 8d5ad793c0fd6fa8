"""NNP AI Router's three files: providers, models and user keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.config.errors import InvalidConfig, Problem
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

SECTIONS = {"providers": "providers", "models": "models", "user_keys": "user_keys", "keys": "user_keys"}
# A file may also begin with the entries themselves. Each kind of entry has keys that no other kind has.
ENTRY_KEYS = {
    "providers": {"type", "base_url", "api_key_env", "stream_format"},
    "models": {"provider", "provider_name", "provider_model_name"},
    "user_keys": {"api_key", "key", "allowed_models", "allowed_endpoints"},
}
# type → the profile, if they differ. These types mean any server that speaks the dialect.
TYPES = {"z.ai": "zai", "zhipu": "zai", "google": "gemini"}
COMPATIBLE = {
    "openai": ("openai-chat", "openai-compatible"),
    "openai_compatible": ("openai-chat", "openai-compatible"),
    "openai-compatible": ("openai-chat", "openai-compatible"),
    "anthropic": ("anthropic", "anthropic-compatible"),
}


_STRICT = {
    "openai-compatible": "openai-compatible-strict",
    "anthropic-compatible": "anthropic-compatible-strict",
}
"""For a server that nobody knows, and which checks what it gets."""
_LISTENERS = ("stt/", "transcription", "whisper")
"""How names of models begin that transcribe. The first one hears recordings for which no model is named."""
_STRICTNESS = {True: "refuses", False: "accepts"}


def import_nnp(documents: Mapping[str, object], process: Mapping[str, str]) -> Imported:
    """Translate the files, recognised by their content. Models and user keys may be missing."""
    notes: list[ImportNote] = []
    parts = _parts(documents, notes)
    providers = {name: _provider(name, entry) for name, entry in parts["providers"].entries("providers")}
    config: dict[str, Any] = {"providers": providers, "models": {}, "keys": {}}
    if "models" in parts:
        config["models"] = {name: _model(entry, providers) for name, entry in parts["models"].entries("models")}
    else:
        notes.append(ImportNote("models", "no such file was given; clients ask for PROVIDER/MODEL"))
    listener = next((name for name in config["models"] if name.startswith(_LISTENERS)), None)
    if listener is not None:
        config["default_audio_model"] = listener
    if "user_keys" in parts:
        config["keys"] = _keys(parts["user_keys"], process)
    else:
        notes.append(
            ImportNote("user_keys", "no such file was given; without keys the gateway listens on loopback only")
        )
    for part in {id(part): part for part in parts.values()}.values():
        part.note_rest()
    return Imported(without_empty(config), tuple(notes))


def _parts(documents: Mapping[str, object], notes: list[ImportNote]) -> dict[str, ForeignSection]:
    parts: dict[str, ForeignSection] = {}
    for file, document in documents.items():
        rooted = _add_root(document)
        source = ForeignSection(rooted, "", notes)
        sections = [name for name in SECTIONS if isinstance(rooted, Mapping) and name in rooted]
        if not sections:
            raise InvalidConfig([Problem(f"contains none of {', '.join(SECTIONS)}", file)])
        for name in sections:
            if SECTIONS[name] in parts:
                raise InvalidConfig([Problem(f"contains {name}, which another file also contains", file)])
            parts[SECTIONS[name]] = source
    if "providers" not in parts:
        raise InvalidConfig([Problem("no file contains providers; give all files of the configuration")])
    return parts


def _add_root(document: object) -> object:
    """The document, with its root if it begins with the entries themselves."""
    if not isinstance(document, Mapping) or any(name in document for name in SECTIONS):
        return document
    entries = list(document.values())
    if not entries or not all(isinstance(entry, Mapping) for entry in entries):
        return document
    for section, keys in ENTRY_KEYS.items():
        if all(keys & {str(key) for key in entry} for entry in entries):
            return {section: document}
    return document


def _provider(name: str, entry: ForeignSection) -> dict[str, Any]:
    kind = str(entry.take("type", default=name)).lower()
    base = entry.take("base_url")
    key = entry.take("api_key_env")
    strict = entry.take("strict_validation")
    facts = {"unknown_fields": _STRICTNESS[strict]} if isinstance(strict, bool) else {}
    if entry.take("stream_format", default="sse") != "sse":
        entry.note("stream_format", "only sse is known; not imported")
    for sanitise in ("sanitize_messages", "sanitize", "sanitize_fields"):
        if entry.take(sanitise) is not None:
            entry.note(sanitise, "is not needed: stream leftovers are removed for every target, and reported")
    profile = _profile(kind, base)
    timeout, retries = entry.take("timeout"), entry.take("max_retries", "retries")
    fields = without_empty(
        {
            "profile": _STRICT.get(profile, profile) if strict is True else profile,
            "base_url": base,
            "api_key": variable_reference(str(key)) if key else entry.take("api_key"),
            "headers": entry.take("headers"),
            "facts": facts,
            "timeouts": {"total": timeout} if isinstance(timeout, int | float) else None,
            "retries": {"attempts": retries + 1} if isinstance(retries, int) else None,
            "max_connections": whole_number(entry, "max_concurrent", entry.take("max_concurrent")),
        }
    )
    entry.note_rest(hints={"proxy": "is a variable of the environment here: HTTPS_PROXY, for all hosts but NO_PROXY"})
    return fields


def _profile(kind: str, base: Any) -> str:
    """The profile of the vendor at this address; else the one that the type names."""
    if kind in ollama_server.PROFILES:
        return ollama_server.api_at(base)
    dialect, elsewhere = COMPATIBLE.get(kind, ("", ""))
    found = profile_at(str(base), dialect) if base and dialect else None
    return found or (elsewhere if base else "") or TYPES.get(kind, kind)


def _model(entry: ForeignSection, providers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    provider = entry.take("provider", "provider_name")
    model = entry.take("provider_model_name", "model", "model_name")
    options = entry.take("options")
    if isinstance(options, Mapping) and "stream" in options:
        entry.note("options.stream", "is not needed: the client says whether its answer is streamed")
        options = {name: value for name, value in options.items() if name != "stream"}
    profile = str(providers.get(str(provider), {}).get("profile", ""))
    if isinstance(options, Mapping) and profile in ollama_server.PROFILES:
        options = ollama_server.options_for(profile, options)
    fields = without_empty(
        {
            "target": f"{provider}/{model}",
            "options": options,
            "hidden": bool(entry.take("is_hidden", default=False)),
            "description": entry.take("description"),
            "context_window": entry.take("context_window", "context_length"),
        }
    )
    entry.note_rest()
    return fields


def _keys(source: ForeignSection, process: Mapping[str, str]) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for section in ("user_keys", "keys"):
        for name, entry in _name_unnamed(source.entries(section)):
            digest = hash_client_key(entry, "api_key", entry.take("api_key", "key"), process)
            if digest is None:
                entry.note("", "has no usable key; not imported")
                continue
            fields = ("allowed_models", "allowed_endpoints")
            keys[name] = {"sha256": digest} | without_empty({field: entry.take(field) for field in fields})
            entry.note_rest()
    return keys


def _name_unnamed(entries: Iterable[tuple[str, ForeignSection]]) -> Iterable[tuple[str, ForeignSection]]:
    for number, (name, entry) in enumerate(entries, start=1):
        yield name or f"user-{number}", entry
