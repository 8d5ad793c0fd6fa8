"""What is imported of a foreign configuration. Every key of a section is either imported or noted."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

import yaml
from msgspec import Struct

from dragoman.config.client_keys import sha256_of
from dragoman.config.errors import InvalidConfig, Problem
from dragoman.config.secret import is_secret_name, mask

NO_COUNTERPART = "has no counterpart"
_MISSPELT = 0.85
"""How alike two names have to be for one to be a misspelling of the other: two letters that changed places are."""


class ImportNote(Struct, frozen=True):
    """A message to the user about the foreign file."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class Imported(Struct, frozen=True):
    """The translated configuration as plain data, and the notes."""

    config: dict[str, Any]
    notes: tuple[ImportNote, ...]


class ForeignSection:
    """A mapping from which an importer takes keys. `note_rest` notes the keys that are left."""

    def __init__(self, value: object, path: str, notes: list[ImportNote]) -> None:
        if value is not None and not isinstance(value, Mapping):
            raise InvalidConfig([Problem(f"{path or 'the file'} must be a mapping")])
        self.path = path
        self.notes = notes
        self._left: dict[str, Any] = {str(key): item for key, item in (value or {}).items()}
        self._absent: dict[str, None] = {}
        """What was asked for and is not there: another key may be a misspelling of it."""

    def take(self, *names: str, default: Any = None) -> Any:
        """The value of the first of these names that exists. The others stay."""
        for name in names:
            if name in self._left:
                return self._left.pop(name)
            self._absent[name] = None
        return default

    def section(self, name: str) -> ForeignSection:
        """A section inside; empty if there is none."""
        return ForeignSection(self.take(name), self._at(name), self.notes)

    def entries(self, name: str) -> Iterator[tuple[str, ForeignSection]]:
        """The named mappings of a section, or of a list whose items have a `name`."""
        value = self.take(name)
        if isinstance(value, list):
            for item in self._list_sections(name, value):
                yield str(item.take("name", "id", default="")), item
            return
        section = ForeignSection(value, self._at(name), self.notes)
        for key, item in section._left.items():
            yield key, ForeignSection(item, section._at(key), self.notes)

    def items(self, name: str) -> Iterator[ForeignSection]:
        """The mappings of a list."""
        value = self.take(name, default=[])
        if not isinstance(value, list):
            raise InvalidConfig([Problem(f"{self._at(name)} must be a list")])
        yield from self._list_sections(name, value)

    def note(self, name: str, message: str) -> None:
        self.notes.append(ImportNote(self._at(name) if name else self.path, message))

    def add(self, values: Mapping[str, Any]) -> None:
        """Further keys, if the section does not have them itself."""
        self._left = {**values, **self._left}

    def left(self) -> tuple[str, ...]:
        return tuple(self._left)

    def note_rest(self, message: str = NO_COUNTERPART, hints: Mapping[str, str] = {}) -> None:
        """Note all keys that are left. `hints`: what to do about some of them."""
        for name, value in self._left.items():
            self.note(name, hints.get(name) or self._describe(name, value, message))
        self._left = {}

    def _describe(self, name: str, value: Any, message: str) -> str:
        """What becomes of a key that nobody took. A misspelt one may hold a secret, too."""
        near = get_close_matches(name, self._absent, n=1, cutoff=_MISSPELT)
        if near:
            return f'{_show(near[0], value)} is not imported. Did you mean "{near[0]}"?'
        return f"{_show(name, value)} {message}; not imported"

    def _list_sections(self, name: str, value: list[Any]) -> Iterator[ForeignSection]:
        for number, item in enumerate(value):
            yield ForeignSection(item, f"{self._at(name)}[{number}]", self.notes)

    def _at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


def _show(name: str, value: Any) -> str:
    """A short value as it is; secrets masked, sections and lists by their kind."""
    if isinstance(value, Mapping | list):
        return "(a section)" if isinstance(value, Mapping) else "(a list)"
    text = str(value)
    if isinstance(value, bool | int | float) or name.endswith("_name"):
        return text
    if is_secret_name(name) or re.search(r"key|token|secret|password|credential|_url$", name):
        return mask(text)
    return text if len(text) <= 60 else text[:57] + "…"


def variable_reference(name: str) -> str:
    return "${" + name + "}"


def without_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """The members that are not empty."""
    return {key: value for key, value in values.items() if value is not False and value not in (None, "", (), [], {})}


def whole_number(source: ForeignSection, name: str, value: Any, plus: int = 0) -> int | None:
    """A whole number; for anything else a note."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value + plus
    if value is not None:
        source.note(name, f"{_show(name, value)} is not a whole number; not imported")
    return None


def hash_client_key(source: ForeignSection, name: str, key: Any, process: Mapping[str, str]) -> str | None:
    """The hash of a client key in the file or, for `${VAR}`, in the environment; else a note."""
    if not isinstance(key, str) or not key:
        return None
    reference = re.fullmatch(r"\$\{([A-Za-z_]\w*)\}|os\.environ/(\w+)", key)
    if reference is None:
        return sha256_of(key)
    expected = reference[1] or reference[2]
    if key := process.get(expected, "").strip():
        return sha256_of(key)
    left = f"is in the variable {expected}, which is not set, so its hash is unknown; not imported"
    source.note(name, f"{left}: set it and import again, or clients need no key")
    return None


def many_systems(consolidate: bool | str) -> str | dict[str, str]:
    """The option of `many-systems` for sigrid's `consolidateSystemMessages`: off, on, or a separator."""
    if isinstance(consolidate, str):
        return {"join": consolidate}
    return {"join": "\n\n---\n\n"} if consolidate else "separate"


class _Plain(yaml.SafeDumper):
    """Writes repeated values in full instead of YAML aliases, because people read this file."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def render_yaml(imported: Imported, origin: str) -> str:
    """YAML, with all notes in a comment at the top."""
    head = [f"Imported from {' '.join(origin.split())}."]
    if imported.notes:
        head += ["", "Please read. These settings could not be imported as they were:"]
        head += [line for note in imported.notes for line in _item(str(note))]
    comment = "".join(f"# {line}".rstrip() + "\n" for line in head)
    body = yaml.dump(imported.config, Dumper=_Plain, sort_keys=False, allow_unicode=True, width=120)
    return f"{comment}\n{body}"


def _item(text: str) -> list[str]:
    # A note may quote a line break of the foreign file, which would end the comment.
    return textwrap.wrap(" ".join(text.split()), 110, initial_indent="- ", subsequent_indent="  ")
