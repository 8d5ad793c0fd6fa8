"""The lines of the keys of a TOML file, for messages about them. The standard parser does not tell."""

from __future__ import annotations

import re
from collections.abc import Mapping

KeyPath = tuple[str | int, ...]

_HEADER = re.compile(r"\s*(\[\[?)([^\[\]]{1,300})\]")
_KEY = re.compile(r"""\s*([A-Za-z0-9_-]+|"[^"]{0,300}"|'[^']{0,300}')((?:\.[A-Za-z0-9_-]+){0,20})\s*=""")


def key_lines(text: str) -> dict[KeyPath, int]:
    """The line of every table and key, by its path. Items of arrays of tables are numbered from 0."""
    lines: dict[KeyPath, int] = {}
    counts: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _open_table(_steps(header[2]), header[1] == "[[", counts)
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            lines.setdefault((*table, *_steps(key[1] + key[2])), number)
    return lines


def _open_table(steps: KeyPath, repeated: bool, counts: dict[KeyPath, int]) -> KeyPath:
    """The path of a table, with the numbers of the items that it stands in."""
    path: KeyPath = ()
    for at, step in enumerate(steps):
        path = (*path, step)
        last = at == len(steps) - 1
        if last and repeated:
            counts[path] = counts.get(path, -1) + 1
        if path in counts and (repeated or not last):
            path = (*path, counts[path])
    return path


def _steps(dotted: str) -> KeyPath:
    return tuple(step.strip().strip("\"'") for step in dotted.split("."))


def line_at(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """The line of a path, or of the nearest table or key that contains it; 0 if there is none."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return 0
