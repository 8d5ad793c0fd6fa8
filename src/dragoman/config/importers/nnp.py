"""NNP AI Router's three files: providers, models and user keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.config.errors import InvalidConfig, Problem
from dragoman.config.importers.foreign_config import (
    ForeignSection,
    Imported,
    ImportNote,
    hash_client_key,
    variable_reference,
    without_empty,
)

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
    """Translate the files, recognised by their content. A missing part is an error, as it is for NNP."""
    notes: list[ImportNote] = []
    parts = _parts(documents, notes)
    config: dict[str, Any] = {
        "providers": {name: _provider(name, entry) for name, entry in parts["providers"].entries("providers")},
        "models": {name: _model(entry) for name, entry in parts["models"].entries("models")},
        "keys": {},
    }
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
        source = ForeignSection(document, "", notes)
        sections = [name for name in SECTIONS if isinstance(document, Mapping) and name in document]
        if not sections:
            raise InvalidConfig([Problem(f"contains none of {', '.join(SECTIONS)}", file)])
        for name in sections:
            if SECTIONS[name] in parts:
                raise InvalidConfig([Problem(f"contains {name}, which another file also contains", file)])
            parts[SECTIONS[name]] = source
    missing = [name for name in ("providers", "models") if name not in parts]
    if missing:
        raise InvalidConfig([Problem(f"no file contains {' and '.join(missing)}; give all files of the configuration")])
    return parts


def _provider(name: str, entry: ForeignSection) -> dict[str, Any]:
    kind = str(entry.take("type", default=name)).lower()
    key = entry.take("api_key_env")
    facts = {"unknown_fields": "refuses"} if entry.take("strict_validation") else {}
    if entry.take("stream_format", default="sse") != "sse":
        entry.note("stream_format", "only sse is known; not imported")
    for sanitise in ("sanitize_messages", "sanitize", "sanitize_fields"):
        if entry.take(sanitise) is not None:
            entry.note(sanitise, "is not needed: stream leftovers are removed for every target, and reported")
    timeout, retries = entry.take("timeout"), entry.take("max_retries", "retries")
    fields = without_empty(
        {
            "profile": TYPES.get(kind, kind),
            "base_url": entry.take("base_url"),
            "api_key": variable_reference(str(key)) if key else entry.take("api_key"),
            "headers": entry.take("headers"),
            "facts": facts,
            "timeouts": {"total": timeout} if isinstance(timeout, int | float) else None,
            "retries": {"attempts": retries + 1} if isinstance(retries, int) else None,
        }
    )
    entry.note_rest()
    return fields


def _model(entry: ForeignSection) -> dict[str, Any]:
    provider = entry.take("provider", "provider_name")
    model = entry.take("provider_model_name", "model", "model_name")
    fields = without_empty(
        {
            "target": f"{provider}/{model}",
            "options": entry.take("options"),
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
        for name, entry in _numbered(source.entries(section)):
            digest = hash_client_key(entry, "api_key", entry.take("api_key", "key"), process)
            if digest is None:
                entry.note("", "has no usable key; not imported")
                continue
            fields = ("allowed_models", "allowed_endpoints")
            keys[name] = {"sha256": digest} | without_empty({field: entry.take(field) for field in fields})
            entry.note_rest()
    return keys


def _numbered(entries: Iterable[tuple[str, ForeignSection]]) -> Iterable[tuple[str, ForeignSection]]:
    for number, (name, entry) in enumerate(entries, start=1):
        yield name or f"user-{number}", entry
