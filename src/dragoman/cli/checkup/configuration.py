"""The configuration: is the file right, which keys are there, can the store be written, is the port free?

A key is never shown, not even in part.
"""

from __future__ import annotations

import os
import socket
import sqlite3
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from dragoman.cli.checkup.check import Check, Mark
from dragoman.config.environment_providers import find_missing_keys
from dragoman.config.errors import InvalidConfig
from dragoman.config.known_names import KnownNames
from dragoman.config.load import Loaded, load
from dragoman.config.schema.config_file import Config
from dragoman.config.variables import NO_VARIABLE
from dragoman.store.location import store_file

_SECTION = "configuration"
_ASK_SECONDS = 2.0
_QUOTES = ("'", '"')


class ConfigurationFound(msgspec.Struct, frozen=True):
    """What was found out about the configuration."""

    checks: tuple[Check, ...]
    loaded: Loaded | None = None
    """None if it is wrong."""


def look_at_configuration(path: Path | None, env_files: tuple[Path, ...], known: KnownNames) -> ConfigurationFound:
    try:
        loaded = load(path, known=known, env_files=env_files)
    except InvalidConfig as fault:
        problems = [Check(_SECTION, "file", Mark.FAIL, str(one)) for one in fault.problems]
        return ConfigurationFound(tuple(problems))
    checks = [_file(path, loaded), *(Check(_SECTION, "warning", Mark.WARN, one) for one in loaded.warnings)]
    checks += [*_keys(loaded, known), _client_keys(loaded.config), _store(loaded.config, path), _port(loaded.config)]
    return ConfigurationFound(tuple(checks), loaded)


def _file(path: Path | None, loaded: Loaded) -> Check:
    if path is None:
        return Check(_SECTION, "file", Mark.OK, "none; providers come from the environment", "dragoman init writes one")
    if loaded.blank:
        return Check(_SECTION, "file", Mark.FAIL, f"{path} says nothing", "dragoman init writes an example")
    config = loaded.config
    providers, models = _count(len(config.providers), "provider"), _count(len(config.models), "model")
    return Check(_SECTION, "file", Mark.OK, f"{path}: {providers}, {models}")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _keys(loaded: Loaded, known: KnownNames) -> Iterator[Check]:
    config = loaded.config
    if not config.providers:
        hint = "set a vendor's key, such as ANTHROPIC_API_KEY, or write a configuration"
        yield Check("keys", "providers", Mark.WARN, "no provider: `serve` and `chat` use emulators", hint)
    missing = find_missing_keys(config, loaded.origins, known)
    for name, provider in config.providers.items():
        pool = provider.key_pool()
        if provider.asks_as_caller:
            yield Check("keys", name, Mark.OK, "is asked with the credential of each caller")
        elif pool:
            yield _present(name, [key.reveal() for key in pool], loaded.origins.get(f"providers.{name}.api_key", ""))
        elif name not in missing:
            yield Check("keys", name, Mark.OK, "needs none, or takes the credentials of its cloud")
        else:
            yield Check("keys", name, Mark.WARN, "has no key", missing[name])


def _present(name: str, keys: list[str], origin: str) -> Check:
    where = f", from {origin}" if origin else ""
    count = "present" if len(keys) == 1 else f"{len(keys)} present"
    if any(key != key.strip() or key[:1] in _QUOTES or key[-1:] in _QUOTES for key in keys):
        return Check("keys", name, Mark.FAIL, f"{count}{where}, with quotes or blanks around it", "take them away")
    if not all(key.isascii() and key.isprintable() for key in keys):
        return Check("keys", name, Mark.FAIL, f"{count}{where}, with characters that no header can carry")
    if any(NO_VARIABLE.search(key) for key in keys):
        return Check("keys", name, Mark.FAIL, f"{count}{where}, which reads like a variable", "write ${NAME}")
    return Check("keys", name, Mark.OK, f"{count}{where}")


def _client_keys(config: Config) -> Check:
    if config.keys:
        return Check("keys", "clients", Mark.OK, f"{_count(len(config.keys), 'key')}; clients must send one of them")
    return Check("keys", "clients", Mark.OK, "none; any client on this machine is served")


def _store(config: Config, path: Path | None) -> Check:
    file = store_file(config.store, path)
    if config.store.hot is not None and config.store.ledger is not None:
        return Check(_SECTION, "store", Mark.OK, "on the servers of store.hot and store.ledger")
    if file is None:
        return Check(_SECTION, "store", Mark.OK, "in memory; a restart forgets it")
    folder = next(one for one in (file.parent, *file.parents) if one.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        hint = "give another store.path"
        return Check(_SECTION, "store", Mark.FAIL, f"{file}: {folder} is no folder that can be written", hint)
    if not file.exists():
        return Check(_SECTION, "store", Mark.OK, f"{file} is made at the first start")
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=rw", uri=True, timeout=1)) as database:
            database.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error as fault:
        return Check(_SECTION, "store", Mark.FAIL, f"{file}: {fault}", "move it away; a new one is made")
    writable = os.access(file, os.W_OK)
    text = str(file) if writable else f"{file} cannot be written"
    return Check(_SECTION, "store", Mark.OK if writable else Mark.FAIL, text)


def _port(config: Config) -> Check:
    host, port = config.server.host.strip("[]"), config.server.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family):
            return Check(_SECTION, "port", Mark.OK, f"{host}:{port} is free")
    except OSError as fault:
        if _is_gateway(port):
            return Check(_SECTION, "port", Mark.OK, f"a gateway is running on {host}:{port}")
        hint = "choose another with --port or server.port"
        reason = os.strerror(fault.errno) if fault.errno else str(fault)
        return Check(_SECTION, "port", Mark.FAIL, f"{host}:{port} cannot be used: {reason}", hint)


def _is_gateway(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=_ASK_SECONDS) as answer:
            return "x-dragoman-request-id" in answer.headers
    except (OSError, ValueError):
        return False
