"""A YAML file as a tree of nodes with line numbers.

A `Node` is a scalar, list or mapping with its line. Duplicate keys are refused, because the second would silently win.
The number of expanded aliases is limited, because a few nested anchors can stand for a billion values. Tags that create
objects are refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from dragoman.config.errors import InvalidConfig, Problem

MAX_BYTES = 2_000_000
MAX_NODES = 100_000
MAX_DEPTH = 64

BARE_VARIABLE = re.compile(r"[:,\[]\s*\$\{")
SCALE = re.compile(r"[-+]?[0-9]{1,16}[eE][-+][0-9]{1,2}")
"""A number such as `1e-6`, which YAML 1.1 takes for a text."""
MERGE = "tag:yaml.org,2002:merge"
PLAIN_TAGS = {
    f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "timestamp", "map", "seq", "merge")
}


@dataclass(frozen=True, slots=True)
class Node:
    """One value of the file."""

    value: Any
    line: int
    text: str | None = None
    """A scalar as written."""
    quoted: bool = False
    """Distinguishes `"8080"` from `8080`."""
    variables: tuple[str, ...] = field(default=())

    def plain(self) -> Any:
        """The value without lines."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value


def parse_tree(text: str, file: str) -> Node:
    """Parse YAML. Raises `InvalidConfig` with the line for anything but plain data."""
    if len(text) > MAX_BYTES:
        raise InvalidConfig([Problem(f"is larger than {MAX_BYTES} bytes", file)])
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        return _NodeParser(file).node(root, 0) if root is not None else Node({}, 1)
    except yaml.MarkedYAMLError as error:
        raise InvalidConfig([_yaml_problem(error, text, file)]) from None
    except yaml.YAMLError as error:
        raise InvalidConfig([Problem(f"is not YAML: {' '.join(str(error).split())}", file)]) from None
    except (RecursionError, ValueError) as error:
        # ValueError: a scalar that looks like a date and is none, such as 2026-13-45.
        message = "is nested too deeply" if isinstance(error, RecursionError) else f"contains an invalid value: {error}"
        raise InvalidConfig([Problem(message, file)]) from None


def _yaml_problem(error: yaml.MarkedYAMLError, text: str, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 0
    message = " ".join(filter(None, (error.context, error.problem)))
    lines = text.splitlines()
    bare = 0 < line <= len(lines) and BARE_VARIABLE.search(lines[line - 1])
    hint = '. Inside { } a variable needs quotes: "${VAR}"' if bare else ""
    hint = ". YAML is indented with spaces, not with tabs" if "'\\t'" in message else hint
    return Problem(f"is not YAML: {message}{hint}", file, line)


class _NodeParser:
    """Converts YAML nodes to `Node`s, and limits their number."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.count = 0
        self.scalars = yaml.constructor.SafeConstructor()

    def node(self, node: yaml.Node, depth: int, line: int = 0) -> Node:
        line = line or node.start_mark.line + 1
        self.count += 1
        if self.count > MAX_NODES or depth > MAX_DEPTH:
            raise self.refusal("its aliases or nesting make more values than a configuration may have", line)
        if node.tag not in PLAIN_TAGS:
            raise self.refusal(f"{node.tag} is a tag that creates objects; only plain data is allowed", line)
        if isinstance(node, yaml.MappingNode):
            return Node(self.members(node, depth), line)
        if isinstance(node, yaml.SequenceNode):
            return Node([self.node(item, depth + 1) for item in node.value], line)
        return self.scalar(node, line)

    def scalar(self, node: yaml.Node, line: int) -> Node:
        assert isinstance(node, yaml.ScalarNode)
        # A date stays text: the schema knows which fields are times.
        dated = node.tag.endswith(":timestamp")
        value = node.value if dated else self.scalars.construct_object(node)
        quoted = node.style in ("'", '"', "|", ">")
        if not quoted and isinstance(value, str) and SCALE.fullmatch(value):
            value = float(value)
        return Node(value, line, node.value, quoted)

    def members(self, node: yaml.MappingNode, depth: int) -> dict[str, Node]:
        merged: dict[str, Node] = {}
        own: dict[str, Node] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if key.tag == MERGE:
                merged |= self.merge(value, depth, line)
                continue
            name = self.name(key, line)
            if name in own:
                raise self.refusal(f'"{name}" is there twice (first on line {own[name].line}); keep one', line)
            own[name] = self.node(value, depth + 1, line)
        return merged | own

    def merge(self, value: yaml.Node, depth: int, line: int) -> dict[str, Node]:
        """`<<: *other` or `<<: [*first, *second]`. The first wins."""
        sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
        merged: dict[str, Node] = {}
        for source in reversed(sources):
            node = self.node(source, depth + 1)
            if not isinstance(node.value, dict):
                raise self.refusal("<< takes a mapping or a list of mappings", line)
            merged |= node.value
        return merged

    def name(self, key: yaml.Node, line: int) -> str:
        if not isinstance(key, yaml.ScalarNode):
            raise self.refusal("a key must be a plain word", line)
        return str(key.value)

    def refusal(self, message: str, line: int) -> InvalidConfig:
        return InvalidConfig([Problem(message, self.file, line)])
