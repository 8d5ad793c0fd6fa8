"""Add or remove a client key in the user's file.

Comments, order and quotes stay: an edit adds or removes one line. The result is parsed and compared, so an unusual
layout leads to a message and never to a broken file.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import yaml

from dragoman.config.errors import InvalidConfig, Problem
from dragoman.config.yaml_tree import parse_tree
from dragoman.errors import near_match

SECTION = "keys"
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class UneditableLayout(InvalidConfig):
    """The file is valid, and has to be edited by hand."""


def add_key(text: str, name: str, entry: dict[str, Any], file: str) -> str:
    """The text with one more key. Raises `InvalidConfig` if the name exists, and `UneditableLayout`."""
    before = _mapping(text, file)
    if name in (before.get(SECTION) or {}):
        raise InvalidConfig([Problem(f'{SECTION} already has "{name}"; choose another name or revoke it', file)])
    line = f"{_word(name)}: {_flow(entry)}"
    after = _add(text, line)
    expected = {**before, SECTION: {**(before.get(SECTION) or {}), name: entry}}
    return _verify(after, expected, file, f"add this under {SECTION}: by hand:\n  {line}")


def remove_key(text: str, name: str, file: str) -> str:
    """The text without a key. Raises `InvalidConfig` if the name does not exist."""
    before = _mapping(text, file)
    keys = before.get(SECTION) or {}
    if name not in keys:
        raise InvalidConfig([Problem(f'{SECTION} has no "{name}". {near_match(name, keys)}', file)])
    left = {other: entry for other, entry in keys.items() if other != name}
    after = _remove(text, name)
    return _verify(after, {**before, SECTION: left or None}, file, f"remove {SECTION}.{name} by hand")


def _mapping(text: str, file: str) -> dict[str, Any]:
    """The content of the file. Raises `InvalidConfig` if it or its keys are no mapping."""
    content = parse_tree(text, file).plain()
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise InvalidConfig([Problem("must be a mapping", file)])
    if not isinstance(content.get(SECTION) or {}, dict):
        raise InvalidConfig([Problem(f"{SECTION} must be a mapping", file)])
    return content


def write_file(path: Path, text: str) -> None:
    """Replace a file in one step and keep its mode. A reader sees the old or the new text. Raises `InvalidConfig`."""
    try:
        _replace(path.resolve(), text)
    except OSError as error:
        raise InvalidConfig([Problem(f"cannot be written: {error.strerror or error}", str(path))]) from None


def _replace(path: Path, text: str) -> None:
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _verify(text: str, expected: dict[str, Any], file: str, by_hand: str) -> str:
    try:
        found = parse_tree(text, file).plain()
    except InvalidConfig:
        found = None
    if found == expected or (found == {**expected, SECTION: {}} and expected[SECTION] is None):
        return text
    raise UneditableLayout([Problem(f"has a layout that cannot be edited safely; {by_hand}", file)])


def _word(name: str) -> str:
    """A name as YAML text: `on` and `12` need quotes, `ci-2` does not."""
    bare = WORD.fullmatch(name) and yaml.safe_load(name) == name
    return name if bare else json.dumps(name, ensure_ascii=False)


def _flow(entry: dict[str, Any]) -> str:
    """`{sha256: "…", allowed_models: ["cheap"]}`: JSON values are YAML values."""
    return "{" + ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()) + "}"


def _section(text: str) -> tuple[yaml.Node, yaml.Node] | None:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(root, yaml.MappingNode):
        return None
    return next(((key, value) for key, value in root.value if key.value == SECTION), None)


def _add(text: str, line: str) -> str:
    found = _section(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    if found is None:
        gap = "" if not text or text.endswith("\n") else newline
        return f"{text}{gap}{newline if text.strip() else ''}{SECTION}:{newline}  {line}{newline}"
    key, value = found
    if isinstance(value, yaml.MappingNode) and value.flow_style:
        inner = f"{{{line}}}" if not value.value else f"{{{line}, {_slice(text, value)[1:].lstrip()}"
        return text[: value.start_mark.index] + inner + text[value.end_mark.index :]
    if not isinstance(value, yaml.MappingNode):  # `keys:` without a value
        end = key.end_mark.index + 1
        return f"{text[:end]}{newline}  {line}{text[max(end, value.end_mark.index) :]}"
    indent = " " * value.value[0][0].start_mark.column
    end = _line_end(text, _last(value))
    gap = "" if text[:end].endswith("\n") else newline
    return f"{text[:end]}{gap}{indent}{line}{newline}{text[end:]}"


def _slice(text: str, node: yaml.Node) -> str:
    return text[node.start_mark.index : node.end_mark.index]


def _last(node: yaml.Node) -> yaml.Node:
    """The deepest last node. The end mark of a block mapping lies after the comments that follow it."""
    while isinstance(node, yaml.MappingNode | yaml.SequenceNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node


def _line_end(text: str, node: yaml.Node) -> int:
    """The index after the line on which a node ends."""
    index = node.end_mark.index
    if index and text[index - 1] == "\n" and index > node.start_mark.index:
        return index  # a block scalar ends at the start of the next line
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _remove(text: str, name: str) -> str:
    found = _section(text)
    assert found is not None
    value = found[1]
    assert isinstance(value, yaml.MappingNode)
    index = next(i for i, (key, _) in enumerate(value.value) if key.value == name)
    key, entry = value.value[index]
    if value.flow_style:
        return _cut_from_flow(text, value, index)
    start = text.rfind("\n", 0, key.start_mark.index) + 1
    return text[:start] + text[_line_end(text, _last(entry)) :]


def _cut_from_flow(text: str, mapping: yaml.MappingNode, index: int) -> str:
    members = mapping.value
    if index + 1 < len(members):
        return text[: members[index][0].start_mark.index] + text[members[index + 1][0].start_mark.index :]
    start = members[index - 1][1].end_mark.index if index else members[index][0].start_mark.index
    return text[:start] + text[members[index][1].end_mark.index :]
