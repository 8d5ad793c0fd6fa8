"""Load a configuration from a file and the environment."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from dragoman.config.build import Builder, build_config, join_path, quote
from dragoman.config.environment_providers import complete, warn_of_addresses
from dragoman.config.errors import InvalidConfig, Problem
from dragoman.config.known_names import KnownNames
from dragoman.config.schema.config_file import Config
from dragoman.config.schema.providers import Provider
from dragoman.config.validation import line_of, locate_warnings, validate
from dragoman.config.variables import NO_VARIABLE, Environment, load_environment, substitute
from dragoman.config.yaml_tree import Node, parse_tree
from dragoman.errors import ProfileError

DEFAULT_FILE = "dragoman.yaml"


class Loaded(Struct, frozen=True, kw_only=True):
    """A valid configuration."""

    config: Config
    origins: Mapping[str, str] = {}
    """Where each value comes from."""
    warnings: tuple[str, ...] = ()
    file: str | None = None
    blank: bool = False
    """Whether the file itself says nothing."""
    digest: str = ""
    """The beginning of the file's SHA-256, so that replicas can be compared."""


def load(
    path: Path | None,
    *,
    known: KnownNames | None = None,
    process: Mapping[str, str] | None = None,
    env_files: Sequence[Path] = (),
) -> Loaded:
    """Load a file and the `.env` in its folder; without a file, the environment. Raises `InvalidConfig`."""
    known = known or KnownNames()
    env_file = (path.parent if path is not None else Path()) / ".env"
    files = [*([env_file] if env_file.is_file() else []), *env_files]
    variables, warnings = read_environment(os.environ if process is None else process, files)
    text = read_text(path) if path is not None else ""
    name = path.name if path is not None else None
    folder = path.parent if path is not None else Path()
    loaded = parse(text, file=name or "environment", known=known, variables=variables, folder=folder)
    if missing := list(_find_missing(loaded)):
        raise InvalidConfig(missing)
    exposed = _warn_of_exposure(path, files, loaded)
    return replace(loaded, file=name, warnings=(*warnings, *loaded.warnings, *exposed))


def parse(
    text: str, *, file: str = DEFAULT_FILE, known: KnownNames, variables: Environment, folder: Path | None = None
) -> Loaded:
    """A configuration from its text. `folder` is where the profiles are that it names."""
    tree = parse_tree(text, file)
    members = tree.value.values() if isinstance(tree.value, dict) else [tree]
    blank = all(node.value in (None, "", {}, []) for node in members)
    without_empty = substitute(tree, variables, file)
    config, builder = build_config(without_empty.node, file)
    if config is None or builder.incomplete:
        raise InvalidConfig(builder.problems)
    known = _with_own_profiles(config, known, folder or Path(), builder)
    verdict = validate(config, known, builder.origins, file)
    if problems := [*builder.problems, *_own_mistakes(verdict.problems, builder)]:
        raise InvalidConfig(problems)
    completed = complete(_normalise(config), known, variables)
    origins = {path: _origin(node, file, variables) for path, node in builder.origins.items()}
    nowhere = locate_warnings(warn_of_addresses(completed.config, known), builder.origins, file)
    warnings = (*without_empty.warnings, *verdict.warnings, *nowhere)
    origins |= completed.origins
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return Loaded(config=completed.config, origins=origins, warnings=warnings, file=file, blank=blank, digest=digest)


def profile_files(config: Config, folder: Path) -> tuple[Path, ...]:
    """The files with the user's own profiles."""
    return tuple(folder / name for name in config.profiles)


def _with_own_profiles(config: Config, known: KnownNames, folder: Path, builder: Builder) -> KnownNames:
    if not config.profiles or known.with_profiles is None:
        return known
    try:
        return known.with_profiles(profile_files(config, folder))
    except ProfileError as fault:
        line = line_of("profiles", builder.origins)
        found = [Problem(f"profiles: {one}", builder.file, line) for one in fault.problems or (fault,)]
        raise InvalidConfig([*builder.problems, *found]) from None


def _own_mistakes(problems: Sequence[Problem], builder: Builder) -> list[Problem]:
    """Without those that only name an entry that has a mistake itself."""
    names = [f'"{name}"' for name in builder.dropped]
    return [problem for problem in problems if not any(name in problem.message for name in names)]


def _find_missing(loaded: Loaded) -> Iterator[Problem]:
    """Problems for files that the configuration names and that cannot be read."""
    for name, provider in loaded.config.providers.items():
        if provider.ca_file is None or os.access(provider.ca_file, os.R_OK):
            continue
        path = f"{join_path('providers', name)}.ca_file"
        file, _, line = loaded.origins.get(path, "").rpartition(":")
        message = f"{path} is {quote(provider.ca_file)}, which cannot be read; give a file of PEM certificates"
        yield Problem(message, file, int(line) if line.isdigit() else 0)


def _warn_of_exposure(path: Path | None, env_files: Sequence[Path], loaded: Loaded) -> Iterator[str]:
    """Warnings for files that contain keys and are readable by all users of this machine."""
    key_origins = " ".join(_locate_keys(loaded)) + " "
    origin_marks = {file: f"({file.name}) " for file in env_files} | (
        {path: f"{path.name}:"} if path is not None else {}
    )
    for file, mark in origin_marks.items():
        if mark in key_origins and os.name == "posix" and file.stat().st_mode & stat.S_IROTH:
            yield f"{file.name} contains keys and all users of this machine can read it; run: chmod 600 {file.name}"


def _locate_keys(loaded: Loaded) -> Iterator[str]:
    """Where each key of a provider comes from. A mistyped variable, which stands in place of one, is no key."""
    for name, provider in loaded.config.providers.items():
        path = f"{join_path('providers', name)}.api_key"
        for i, key in enumerate(provider.key_pool()):
            if not NO_VARIABLE.search(key.reveal()):
                yield loaded.origins.get(f"{path}s[{i}]" if provider.api_keys else path, "")


def _origin(node: Node, file: str, variables: Environment) -> str:
    if not node.variables:
        return f"{file}:{node.line}"
    unset = ", not set" if node.value is None else ""
    return variables.origin(node.variables[0]) + unset


def _normalise(config: Config) -> Config:
    """The configuration in one spelling: no slash at the end of a base URL, hashes and hosts in lower case."""
    providers = {name: _normalise_provider(provider) for name, provider in config.providers.items()}
    keys = {name: replace(key, sha256=key.sha256.lower()) for name, key in config.keys.items()}
    hosts = tuple([host.strip("[]").lower() for host in config.server.hosts])
    server = replace(config.server, hosts=hosts) if hosts else config.server
    return replace(config, providers=providers, keys=keys, server=server)


def _normalise_provider(provider: Provider) -> Provider:
    url = provider.base_url
    return provider if url is None else replace(provider, base_url=url.rstrip("/"))


def read_environment(process: Mapping[str, str], files: Sequence[Path]) -> tuple[Environment, list[str]]:
    """All variables, and warnings about the files. Raises `InvalidConfig`."""
    try:
        return load_environment(process, files)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfig([_unreadable(Path(getattr(error, "filename", None) or files[-1]), error)]) from None


def read_text(path: Path) -> str:
    """The text of a file. Raises `InvalidConfig` if it cannot be read."""
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidConfig([_unreadable(path, error)]) from None


def _unreadable(path: Path, error: Exception) -> Problem:
    why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
    hint = f"; dragoman init {path} creates one" if isinstance(error, FileNotFoundError) else ""
    return Problem(f"cannot be read: {why}{hint}", path.name)
