"""`${VAR}`, `${VAR:-default}` and `.env` files.

Variables are replaced inside values after the YAML is parsed, so the environment cannot change the structure of the
file. `$${` writes a literal `${`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import yaml
from msgspec import Struct

from dragoman.config.yaml_tree import Node

VARIABLE = re.compile(r"\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-((?:[^{}]|\{[^{}]*\})*))?\}")
NO_VARIABLE = re.compile(r"\$\{|^\$[A-Z_][A-Z0-9_]*$")
"""What people mean as a variable, and what is sent as it stands. It is no secret."""
ASSIGNMENT = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=(.*)$")

_resolver = yaml.SafeLoader("")
_scalars = yaml.constructor.SafeConstructor()


class Environment(Struct, frozen=True):
    """Variables and their origins. The process wins over `--env-file`, which wins over `.env` next to the file."""

    values: Mapping[str, str]
    files: Mapping[str, str] = {}

    def origin(self, name: str) -> str:
        """`env NAME`, or `env NAME (.env)` for a variable from a file."""
        return f"env {name} ({self.files[name]})" if name in self.files else f"env {name}"


def load_environment(process: Mapping[str, str], env_files: Sequence[Path]) -> tuple[Environment, list[str]]:
    """All variables that say something, and a warning for each line of a file that is no assignment. Later files win.

    A blank variable is not set: compose files and CI hand on what they do not have as blank.
    """
    values: dict[str, str] = {}
    files: dict[str, str] = {}
    warnings: list[str] = []
    for path in env_files:
        found, unread = parse_env(path.read_text("utf-8"))
        values |= found
        files |= dict.fromkeys(found, path.name)
        warnings += [f"{path.name}:{line}: is not NAME=value; skipped" for line in unread]
    filled = {name: value for name, value in (values | dict(process)).items() if value.strip()}
    return Environment(filled, {k: v for k, v in files.items() if k not in process}), warnings


def parse_env(text: str) -> tuple[dict[str, str], list[int]]:
    """The assignments of a `.env` text, and the numbers of other lines."""
    found: dict[str, str] = {}
    unread: list[int] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = ASSIGNMENT.match(line)
        if match is None:
            unread.append(number)
            continue
        found[match[1]] = _unquote(match[2].strip())
    return found, unread


def _unquote(text: str) -> str:
    if text[:1] == "'" and (end := text.find("'", 1)) > 0:
        return text[1:end]
    if quoted := re.match(r'"((?:[^"\\]|\\.)*)"', text):
        return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), quoted[1])
    return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].rstrip()


class Substituted(Struct, frozen=True):
    """A tree with its variables replaced, and a warning for each unset one."""

    node: Node
    warnings: list[str]


def substitute(root: Node, variables: Environment, file: str) -> Substituted:
    """The tree with variables replaced. A value that is only an unset variable becomes `null`."""
    substitution = _Substitution(variables, file)
    return Substituted(substitution.node(root, ""), substitution.warnings)


class _Substitution:
    """Replaces the variables of one file, and collects warnings."""

    def __init__(self, variables: Environment, file: str) -> None:
        self.warnings: list[str] = []
        self._variables = variables
        self._file = file

    def node(self, node: Node, path: str) -> Node:
        if isinstance(node.value, dict):
            members = {key: self.node(value, f"{path}.{key}" if path else key) for key, value in node.value.items()}
            return replace(node, value=members)
        if isinstance(node.value, list):
            return replace(node, value=[self.node(item, f"{path}[{i}]") for i, item in enumerate(node.value)])
        if not isinstance(node.value, str) or "$" not in node.value:
            return node
        if NO_VARIABLE.search(VARIABLE.sub("", node.value)):
            self.warnings.append(f"{self._file}:{node.line}: {path} has a $ that names no variable; write ${{NAME}}")
        return self._scalar(node, node.value, path)

    def _scalar(self, node: Node, value: str, path: str) -> Node:
        used: list[str] = []
        unset: list[str] = []
        text = VARIABLE.sub(lambda match: self._value(match, used, unset), value)
        for name in unset:
            self.warnings.append(f"{self._file}:{node.line}: {path} uses ${{{name}}}, which is not set")
        if unset and not text:
            return Node(None, node.line, variables=tuple(unset))
        return Node(text if node.quoted else resolve_scalar(text), node.line, text, node.quoted, tuple(used))

    def _value(self, match: re.Match[str], used: list[str], unset: list[str]) -> str:
        name, default = match[1], match[2]
        if name is None:
            return "${"
        value = self._variables.values.get(name, "")
        if value:
            used.append(name)
            return value
        if default is None:
            unset.append(name)
        return default or ""


def resolve_scalar(text: str) -> object:
    """The YAML value of an unquoted text: `8080` is a number."""
    tag = _resolver.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    if not tag.endswith((":int", ":float", ":bool")):
        return text
    try:
        return _scalars.construct_object(yaml.ScalarNode(tag, text))
    except ValueError:
        return text
