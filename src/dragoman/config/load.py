"""A configuration, from file and environment."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from dragoman.config.build import build_config, child, shown
from dragoman.config.environment_providers import complete
from dragoman.config.errors import ConfigError, Problem
from dragoman.config.known_names import Known
from dragoman.config.schema import Config, Provider
from dragoman.config.validation import verify
from dragoman.config.variables import Environment, environment, substitute
from dragoman.config.yaml_tree import Node, read_tree

DEFAULT_FILE = "dragoman.yaml"
_KEY = re.compile(r"providers\..+\.(api_key|api_keys\[\d+\])")


class Loaded(Struct, frozen=True, kw_only=True):
    """A configuration that may be used, where its values come from, and what its author may want to know."""

    config: Config
    origins: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()
    file: str | None = None


def load(
    path: Path | None,
    *,
    known: Known | None = None,
    process: Mapping[str, str] | None = None,
    env_files: Sequence[Path] = (),
) -> Loaded:
    """Read a file and the `.env` beside it; with no file, what the environment offers. Raises `ConfigError`."""
    known = known or Known()
    beside = (path.parent if path is not None else Path()) / ".env"
    files = [*([beside] if beside.is_file() else []), *env_files]
    variables, warnings = read_environment(os.environ if process is None else process, files)
    text = read_text(path) if path is not None else ""
    name = path.name if path is not None else None
    loaded = parse(text, file=name or "environment", known=known, variables=variables)
    if missing := list(_missing(loaded)):
        raise ConfigError(missing)
    exposed = _exposed(path, files, loaded)
    return msgspec.structs.replace(loaded, file=name, warnings=(*warnings, *loaded.warnings, *exposed))


def parse(text: str, *, file: str = DEFAULT_FILE, known: Known, variables: Environment) -> Loaded:
    """A configuration from its text: the pure heart of `load`."""
    filled = substitute(read_tree(text, file), variables, file)
    config, builder = build_config(filled.node, file)
    if config is None:
        raise ConfigError(builder.problems)
    verdict = verify(config, known, builder.origins, file)
    if verdict.problems:
        raise ConfigError(verdict.problems)
    completed = complete(_tidied(config), known, variables)
    origins = {path: _origin(node, file, variables) for path, node in builder.origins.items()}
    warnings = (*filled.warnings, *verdict.warnings)
    return Loaded(config=completed.config, origins=origins | completed.origins, warnings=warnings, file=file)


def _missing(loaded: Loaded) -> Iterator[Problem]:
    """Files that the configuration names and that cannot be read: found now rather than by the first request."""
    for name, provider in loaded.config.providers.items():
        if provider.ca_file is None or os.access(provider.ca_file, os.R_OK):
            continue
        path = f"{child('providers', name)}.ca_file"
        file, _, line = loaded.origins.get(path, "").rpartition(":")
        says = f"{path} is {shown(provider.ca_file)}, which cannot be read; name a file of PEM certificates"
        yield Problem(says, file, int(line) if line.isdigit() else 0)


def _exposed(path: Path | None, env_files: Sequence[Path], loaded: Loaded) -> Iterator[str]:
    """Files with keys in them that everybody on this machine may read."""
    written = " ".join(where for key, where in loaded.origins.items() if _KEY.fullmatch(key)) + " "
    marks = {file: f"({file.name}) " for file in env_files} | ({path: f"{path.name}:"} if path is not None else {})
    for file, mark in marks.items():
        if mark in written and os.name == "posix" and file.stat().st_mode & stat.S_IROTH:
            yield f"{file.name} holds keys and everybody on this machine may read it: chmod 600 {file.name}"


def _origin(node: Node, file: str, variables: Environment) -> str:
    if not node.variables:
        return f"{file}:{node.line}"
    unset = ", not set" if node.value is None else ""
    return variables.origin(node.variables[0]) + unset


def _tidied(config: Config) -> Config:
    """One spelling where several mean the same: no slash at a base URL's end, hashes in small letters."""
    providers = {name: _tidied_provider(provider) for name, provider in config.providers.items()}
    keys = {name: msgspec.structs.replace(key, sha256=key.sha256.lower()) for name, key in config.keys.items()}
    return msgspec.structs.replace(config, providers=providers, keys=keys)


def _tidied_provider(provider: Provider) -> Provider:
    url = provider.base_url
    return provider if url is None else msgspec.structs.replace(provider, base_url=url.rstrip("/"))


def read_environment(process: Mapping[str, str], files: Sequence[Path]) -> tuple[Environment, list[str]]:
    """All variables, and what is odd in the files. Raises `ConfigError`."""
    try:
        return environment(process, files)
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([_unreadable(Path(getattr(error, "filename", None) or files[-1]), error)]) from None


def read_text(path: Path) -> str:
    """A file's text. Raises `ConfigError` where it has none."""
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([_unreadable(path, error)]) from None


def _unreadable(path: Path, error: Exception) -> Problem:
    why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
    hint = f"; dragoman init {path} writes one to start from" if isinstance(error, FileNotFoundError) else ""
    return Problem(f"cannot be read: {why}{hint}", path.name)
