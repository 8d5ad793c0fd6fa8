"""The configuration file in the console: checked as the gateway does, saved in one step, and taken back."""

from __future__ import annotations

import asyncio
import difflib
import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec

from dragoman.config.effective_view import render_yaml
from dragoman.config.errors import InvalidConfig, Problem
from dragoman.config.example import example
from dragoman.config.key_editing import write_file
from dragoman.config.load import DEFAULT_FILE, Loaded, parse, read_environment, read_text
from dragoman.config.reference import json_schema
from dragoman.config.yaml_tree import MAX_BYTES, parse_tree
from dragoman.gateway.config_names import collect_names
from dragoman.gateway.console.kept_secrets import with_secrets, without_secrets
from dragoman.gateway.live_config import LiveConfig

BACKUP = ".before"
"""Ends the name of the file that holds the text before the last save."""


class ShownProblem(msgspec.Struct, frozen=True):
    line: int
    message: str


class ConfigView(msgspec.Struct, frozen=True, kw_only=True):
    """The configuration as the console shows it."""

    file: str
    exists: bool
    editable: bool
    """Whether the caller may read and write the file."""
    why_not: str
    text: str
    """The file with marks in place of its secrets; if it is not editable, what is in effect, without secrets."""
    digest: str
    can_undo: bool
    problems: tuple[ShownProblem, ...]
    warnings: tuple[str, ...]
    schema: dict[str, Any]
    names: dict[str, tuple[str, ...]]


class CheckedConfig(msgspec.Struct, frozen=True):
    """What the gateway says to a text, and how it differs from the file."""

    valid: bool
    problems: tuple[ShownProblem, ...]
    warnings: tuple[str, ...]
    diff: tuple[str, ...]


def config_file(live: LiveConfig) -> Path:
    """The file of the gateway; if it has none, the one that the console makes."""
    file = live.file
    return file.path if file is not None and file.path is not None else Path(DEFAULT_FILE)


def config_view(live: LiveConfig, editable: bool, why_not: str) -> ConfigView:
    path = config_file(live)
    exists = path.is_file()
    saved = _saved(path)
    if editable and (broken := _find_fault(saved, path)):
        editable, why_not = False, broken
    running = Loaded(config=live.config, origins=live.origins)
    text = without_secrets(saved) if editable else render_yaml(running)
    checked = check_config(live, text) if editable else CheckedConfig(True, (), (), ())
    return ConfigView(
        file=str(path),
        exists=exists,
        editable=editable,
        why_not=why_not,
        text=text,
        digest=digest_of(path),
        can_undo=editable and backup_of(path).is_file(),
        problems=checked.problems,
        warnings=checked.warnings,
        schema=json_schema(),
        names=_names(live),
    )


def _find_fault(text: str, path: Path) -> str:
    """Why a file cannot be edited here; empty if it can."""
    try:
        parse_tree(text, path.name)
    except InvalidConfig as fault:
        return f"{fault} Correct the file itself: as it is, nobody knows what in it is a secret, so it is not shown."
    return ""


def _names(live: LiveConfig) -> dict[str, tuple[str, ...]]:
    """What may stand in places of the file that the schema calls any text."""
    known = collect_names(live.profiles)
    return {
        "profile": tuple(sorted(known.profiles or ())),
        "rules": tuple(sorted(known.rules or ())),
        "facts": tuple(sorted(known.facts or ())),
        "target": tuple(f"{name}/" for name in live.config.providers),
    }


def check_config(live: LiveConfig, text: str) -> CheckedConfig:
    """What the gateway says to an edited text, whose marks stand for the secrets of the file."""
    path = config_file(live)
    before = without_secrets(read_text(path)) if path.is_file() else ""
    diff = tuple(
        difflib.unified_diff(before.splitlines(), text.splitlines(), "saved", "edited", lineterm="", n=2)
        if len(text) <= MAX_BYTES
        else ()
    )
    try:
        loaded = parse_config(live, text)
    except InvalidConfig as fault:
        return CheckedConfig(False, tuple(ShownProblem(one.line, one.message) for one in fault.problems), (), diff)
    return CheckedConfig(True, (), loaded.warnings, diff)


def parse_config(live: LiveConfig, text: str) -> Loaded:
    """The edited text as the gateway would load it. Raises InvalidConfig."""
    path = config_file(live)
    text = _unmarked(path, text)
    beside = path.parent / ".env"
    variables, _ = read_environment(os.environ, [beside] if beside.is_file() else [])
    known = collect_names(live.profiles)
    loaded = parse(text, file=path.name, known=known, variables=variables, folder=path.parent)
    running = live.config
    if running.keys and not loaded.config.keys:
        raise InvalidConfig([Problem("has no keys any more: everybody could use the gateway", path.name)])
    if loaded.blank:
        raise InvalidConfig([Problem("is empty; write at least one setting", path.name)])
    return loaded


def _unmarked(path: Path, text: str) -> str:
    return with_secrets(text, _saved(path), path.name)


def _saved(path: Path) -> str:
    return read_text(path) if path.is_file() else example()


async def save_config(live: LiveConfig, path: Path, text: str) -> None:
    """Check, keep the old text beside it, replace the file in one step, and load it. Raises InvalidConfig."""
    await asyncio.to_thread(_save, live, path, text)
    await _load(live, path)


def _save(live: LiveConfig, path: Path, text: str) -> None:
    parse_config(live, text)
    text = _unmarked(path, text)
    if path.is_file():
        write_file(backup_of(path), read_text(path))
    write_file(path, text)


async def undo_save(live: LiveConfig, path: Path) -> None:
    """The text before the last save; once more undoes that. Raises InvalidConfig."""
    backup = backup_of(path)
    if not backup.is_file():
        raise InvalidConfig([Problem("there is no earlier version to go back to", path.name)])
    await save_config(live, path, read_text(backup))


async def _load(live: LiveConfig, path: Path) -> None:
    if live.file is not None:
        live.file.path = path
        await live.reload_now()


def backup_of(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def digest_of(path: Path) -> str:
    """Tells whether somebody else changed the file meanwhile."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16] if path.is_file() else ""
