"""A foreign configuration of which every key is either taken or noted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from dragoman.config.client_keys import sha256_of
from dragoman.config.errors import ConfigError, Problem
from dragoman.config.secret import is_secret_name, masked

NO_COUNTERPART = "has no counterpart"


class Note(Struct, frozen=True):
    """Something of the foreign file that its owner should know about."""

    path: str
    says: str

    def __str__(self) -> str:
        return f"{self.path}: {self.says}"


class Imported(Struct, frozen=True):
    """Our configuration, as plain data, and what was left behind."""

    config: dict[str, Any]
    notes: tuple[Note, ...]


class Source:
    """A mapping that is used up: what is not taken in the end is noted."""

    def __init__(self, value: object, path: str, notes: list[Note]) -> None:
        if value is not None and not isinstance(value, Mapping):
            raise ConfigError([Problem(f"{path or 'the file'} must be a mapping")])
        self.path = path
        self.notes = notes
        self._left: dict[str, Any] = {str(key): item for key, item in (value or {}).items()}

    def take(self, *names: str, default: Any = None) -> Any:
        """The value of the first of these names that is there; the others stay."""
        for name in names:
            if name in self._left:
                return self._left.pop(name)
        return default

    def section(self, name: str) -> Source:
        """A mapping inside, empty where there is none."""
        return Source(self.take(name), self._at(name), self.notes)

    def entries(self, name: str) -> Iterator[tuple[str, Source]]:
        """The named mappings of a section; a list of mappings with a `name` is read as one too."""
        value = self.take(name)
        if isinstance(value, list):
            for item in self._listed(name, value):
                yield str(item.take("name", "id", default="")), item
            return
        section = Source(value, self._at(name), self.notes)
        for key, item in section._left.items():
            yield key, Source(item, section._at(key), self.notes)

    def items(self, name: str) -> Iterator[Source]:
        """The mappings of a list."""
        value = self.take(name, default=[])
        if not isinstance(value, list):
            raise ConfigError([Problem(f"{self._at(name)} must be a list")])
        yield from self._listed(name, value)

    def note(self, name: str, says: str) -> None:
        self.notes.append(Note(self._at(name) if name else self.path, says))

    def leave(self, says: str = NO_COUNTERPART) -> None:
        """Note all that is left."""
        for name, value in self._left.items():
            self.note(name, f"{_seen(name, value)} {says}; not imported")
        self._left = {}

    def _listed(self, name: str, value: list[Any]) -> Iterator[Source]:
        for number, item in enumerate(value):
            yield Source(item, f"{self._at(name)}[{number}]", self.notes)

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


def _seen(name: str, value: Any) -> str:
    """A short scalar as it stands; secrets and long things only by what they are."""
    if isinstance(value, Mapping | list):
        return "(a section)" if isinstance(value, Mapping) else "(a list)"
    text = str(value)
    if is_secret_name(name) or re.search(r"key|token|secret|password|credential|_url$", name):
        return masked(text)
    return text if len(text) <= 60 else text[:57] + "…"


def variable(name: str) -> str:
    return "${" + name + "}"


def filled(values: Mapping[str, Any]) -> dict[str, Any]:
    """The members that say something."""
    return {key: value for key, value in values.items() if value is not False and value not in (None, "", (), [], {})}


def whole(source: Source, name: str, value: Any, plus: int = 0) -> int | None:
    """A whole number, or a note that it is none."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value + plus
    if value is not None:
        source.note(name, f"{_seen(name, value)} is no whole number; not imported")
    return None


def hashed_key(source: Source, name: str, key: Any, process: Mapping[str, str]) -> str | None:
    """The hash of a client key that stands in the file or, as `${VAR}`, in the environment; else a note."""
    if not isinstance(key, str) or not key:
        return None
    reference = re.fullmatch(r"\$\{([A-Za-z_]\w*)\}|os\.environ/(\w+)", key)
    if reference is None:
        return sha256_of(key)
    wanted = reference[1] or reference[2]
    if process.get(wanted):
        return sha256_of(process[wanted])
    source.note(name, f"is in the variable {wanted}, which is not set here, so its hash cannot be made; not imported")
    return None


def many_systems(consolidate: bool | str) -> str | dict[str, str]:
    """The `many-systems` choice for sigrid's `consolidateSystemMessages`: off, on, or a separator."""
    if isinstance(consolidate, str):
        return {"join": consolidate}
    return {"join": "\n\n---\n\n"} if consolidate else "separate"
