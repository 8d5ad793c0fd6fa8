"""Imports point one way, and nothing pure reaches for a network, a clock or the environment."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "src" / "dragoman"

LAYERS = {
    "errors": 0,
    "conversation": 1,
    "wire": 2,
    "dialects": 3,
    "profiles": 3,
    "rules": 4,
    "engine": 5,
    "config": 6,
    "store": 7,
    "upstream": 7,
    "gateway": 8,
    "integrations": 8,
    "cli": 9,
}
PURE = ("conversation", "wire", "dialects", "profiles", "rules", "engine")
EDGES = {"asyncio", "http", "httpx", "os", "random", "requests", "secrets", "socket", "ssl", "time", "urllib3", "uuid"}
PROVIDERS = {path.stem for path in (ROOT / "profiles" / "data").glob("*.toml")} - {
    "gemini",
    "anthropic",
    "openai-responses",
}
"""A dialect is named after its wire format; those three names are dialects too."""

FILES = sorted(ROOT.rglob("*.py"))


def package(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    """Every module that is imported, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_one_way(path: Path) -> None:
    mine = package(path)
    for module in imports(path):
        if not module.startswith("dragoman."):
            continue
        theirs = module.split(".")[1]
        if mine == "emulators":
            assert theirs == "emulators", module
        elif mine in LAYERS and theirs in LAYERS and mine != theirs:
            assert LAYERS[theirs] < LAYERS[mine], f"{mine} imports {module}"
        if mine in PURE:
            assert theirs not in ("emulators", "testing"), module


@pytest.mark.parametrize("path", [path for path in FILES if package(path) in PURE], ids=lambda path: path.stem)
def test_what_is_pure_reaches_for_nothing(path: Path) -> None:
    assert not {module.split(".")[0] for module in imports(path)} & EDGES


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if package(path) in ("rules", "engine", "gateway", "upstream")],
    ids=lambda path: path.stem,
)
def test_no_providers_name_stands_in_a_condition(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Compare):
            named = {inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant)}
            assert not named & PROVIDERS, f"line {node.lineno}"
