"""The syntax trees of our modules, each parsed once for all tests that look at them."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def syntax_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def syntax_nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of its tree. Most tests look for nodes of one kind: to walk a tree takes as long as to parse it."""
    return tuple(ast.walk(syntax_tree(path)))
