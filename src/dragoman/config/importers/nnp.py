"""NNP AI Router's three files: providers, models and user keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.config.errors import ConfigError, Problem
from dragoman.config.importers.foreign_config import Imported, Note, Source, filled, hashed_key, variable

SECTIONS = {"providers": "providers", "models": "models", "user_keys": "user_keys", "keys": "user_keys"}
TYPES = {
    "openai": "openai-compatible",
    "openai_compatible": "openai-compatible",
    "openai-compatible": "openai-compatible",
    "z.ai": "zai",
    "zhipu": "zai",
    "google": "gemini",
}


def import_nnp(documents: Mapping[str, object], process: Mapping[str, str]) -> Imported:
    """Translate the files, told apart by what they hold. A part that is missing is refused, as NNP does."""
    notes: list[Note] = []
    parts = _parts(documents, notes)
    config: dict[str, Any] = {
        "providers": {name: _provider(name, entry) for name, entry in parts["providers"].entries("providers")},
        "models": {name: _model(entry) for name, entry in parts["models"].entries("models")},
        "keys": {},
    }
    if "user_keys" in parts:
        config["keys"] = _keys(parts["user_keys"], process)
    else:
        notes.append(Note("user_keys", "no such file was given; without keys the gateway binds to loopback only"))
    for part in {id(part): part for part in parts.values()}.values():
        part.leave()
    return Imported(filled(config), tuple(notes))


def _parts(documents: Mapping[str, object], notes: list[Note]) -> dict[str, Source]:
    parts: dict[str, Source] = {}
    for file, document in documents.items():
        source = Source(document, "", notes)
        sections = [name for name in SECTIONS if isinstance(document, Mapping) and name in document]
        if not sections:
            raise ConfigError([Problem(f"holds none of {', '.join(SECTIONS)}", file)])
        for name in sections:
            if SECTIONS[name] in parts:
                raise ConfigError([Problem(f"holds {name}, which another file holds too", file)])
            parts[SECTIONS[name]] = source
    missing = [name for name in ("providers", "models") if name not in parts]
    if missing:
        raise ConfigError([Problem(f"no file holds {' and '.join(missing)}; give all files of the configuration")])
    return parts


def _provider(name: str, entry: Source) -> dict[str, Any]:
    kind = str(entry.take("type", default=name)).lower()
    key = entry.take("api_key_env")
    facts = {"unknown_fields": "refuses"} if entry.take("strict_validation") else {}
    if entry.take("stream_format", default="sse") != "sse":
        entry.note("stream_format", "only sse is known; not imported")
    for sanitise in ("sanitize_messages", "sanitize", "sanitize_fields"):
        if entry.take(sanitise) is not None:
            entry.note(sanitise, "is not needed: stream leftovers are removed for every target, and reported")
    timeout, retries = entry.take("timeout"), entry.take("max_retries", "retries")
    fields = filled(
        {
            "profile": TYPES.get(kind, kind),
            "base_url": entry.take("base_url"),
            "api_key": variable(str(key)) if key else entry.take("api_key"),
            "headers": entry.take("headers"),
            "facts": facts,
            "timeouts": {"total": timeout} if isinstance(timeout, int | float) else None,
            "retries": {"attempts": retries + 1} if isinstance(retries, int) else None,
        }
    )
    entry.leave()
    return fields


def _model(entry: Source) -> dict[str, Any]:
    provider = entry.take("provider", "provider_name")
    model = entry.take("provider_model_name", "model", "model_name")
    fields = filled(
        {
            "target": f"{provider}/{model}",
            "options": entry.take("options"),
            "hidden": bool(entry.take("is_hidden", default=False)),
            "description": entry.take("description"),
            "context_window": entry.take("context_window", "context_length"),
        }
    )
    entry.leave()
    return fields


def _keys(source: Source, process: Mapping[str, str]) -> dict[str, Any]:
    keys: dict[str, Any] = {}
    for section in ("user_keys", "keys"):
        for name, entry in _numbered(source.entries(section)):
            digest = hashed_key(entry, "api_key", entry.take("api_key", "key"), process)
            if digest is None:
                entry.note("", "has no key that could be hashed; not imported")
                continue
            fields = ("allowed_models", "allowed_endpoints")
            keys[name] = {"sha256": digest} | filled({field: entry.take(field) for field in fields})
            entry.leave()
    return keys


def _numbered(entries: Iterable[tuple[str, Source]]) -> Iterable[tuple[str, Source]]:
    for number, (name, entry) in enumerate(entries, start=1):
        yield name or f"user-{number}", entry
