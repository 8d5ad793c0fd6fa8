"""The commented file that `dragoman init` writes. It is generated from the schema, so it is always complete."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from msgspec import inspect

from dragoman.config.build import CONFIG
from dragoman.config.reference import ITEM, ReferenceRow, reference, strip_bounds

HEAD = """\
# Dragoman: any conversation works on any model, and nothing is changed behind your back.
#
# Check this file:      dragoman config check
# See effective values: dragoman config show
# ${VAR} and ${VAR:-default} are replaced from the environment and from .env in the same folder.
# A commented key shows its default or an example.

providers:
  claude: {profile: anthropic, api_key: "${ANTHROPIC_API_KEY}"}
  router: {profile: openrouter, api_key: "${OPENROUTER_API_KEY}"}

models:
  smart: {target: claude/claude-sonnet-4-6, fallbacks: [router/google/gemini-2.5-pro]}
  cheap: {target: router/google/gemini-2.5-flash, options: {temperature: 0.2}}

# All other keys, with their meaning. Uncomment what you need.
"""
NAMES = {"providers": "example", "models": "example", "keys": "ci"}


def example() -> str:
    """The whole file."""
    return HEAD + "".join(f"\n{section}" for section in _sections())


def _sections() -> Iterator[str]:
    rows = reference()
    assert isinstance(CONFIG, inspect.StructType)
    for field in CONFIG.fields:
        name = field.encode_name
        about = next(row for row in rows if row.path == name)
        members = [row for row in rows if row.path.startswith((f"{name}.", f"{name}{ITEM}."))]
        named = isinstance(strip_bounds(field.type), inspect.DictType) and bool(members)
        yield _section(about, members, named)


def _section(about: ReferenceRow, members: list[ReferenceRow], named: bool) -> str:
    if not members:
        return f"# {about.meaning}\n{_line(about, 0)}\n"
    entry = NAMES.get(about.path, "example")
    lines = [f"# {about.meaning}", f"# {about.path}:", *([f"#   {entry}:"] if named else [])]
    listed = ""
    for row in members:
        item = row.path.rpartition(f"{ITEM}.")[0]
        lines += _member(row, "" if not item else "- " if item != listed else "  ")
        listed = item
    return "\n".join(lines) + "\n"


def _member(row: ReferenceRow, mark: str) -> list[str]:
    """`mark` stands before the members of an item: a dash before the first."""
    depth = row.path.count(".")
    meaning = [f"# {'  ' * depth}# {line}" for line in textwrap.wrap(row.meaning, 100 - 2 * depth)]
    return [*meaning, _line(row, depth, mark)]


def _line(row: ReferenceRow, depth: int, mark: str = "") -> str:
    key = mark + row.path.rpartition(".")[2]
    if row.type == "section":
        return f"# {'  ' * depth}{key}:"
    value = row.example or (row.default if row.default != "required" else "") or _empty_value(row.type)
    return f"# {'  ' * depth}{key}: {value}"


def _empty_value(type_name: str) -> str:
    if type_name.startswith("list"):
        return "[]"
    return "{}" if type_name.startswith("name") else "null"
