"""K4: a judge for every profile; and the judges stand alone."""

from __future__ import annotations

import ast
from pathlib import Path
from urllib.parse import parse_qsl

import orjson
import pytest
from tests.judges import JUDGES, judge

import dragoman.emulators
from dragoman.emulators.catalogue import names, provider

_SOURCE = Path(dragoman.emulators.__file__).parent


@pytest.mark.parametrize("profile", JUDGES)
def test_every_profile_has_a_judge_that_accepts_and_refuses(profile: str) -> None:
    """K4."""
    name, options = JUDGES[profile]
    path, body = provider(name, **options).example
    assert judge(profile, "m", path, {"Content-Type": "application/json"}, orjson.dumps(body)) is None
    refused = judge(profile, "m", path, {}, b"{}")
    assert refused is not None
    assert 400 <= refused.status < 500


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/chat/completions"])
def test_a_path_may_be_relative_to_the_base_url(path: str) -> None:
    """K4."""
    body = orjson.dumps({"model": "m", "messages": [{"role": "user", "content": "Hi"}], "zzz": 1})
    assert judge("groq", "m", path, {}, body) is not None
    assert judge("openai-compatible-strict", "m", path, {}, body) is not None


def test_a_path_nobody_knows_is_an_error_of_the_test() -> None:
    """K4."""
    with pytest.raises(ValueError, match="knows no path /nowhere"):
        judge("openai", "m", "/nowhere", {}, b"{}")


@pytest.mark.parametrize("name", names())
def test_every_emulator_answers_its_own_example(name: str) -> None:
    one = provider(name)
    asked, body = one.example
    path, _, query = asked.partition("?")
    assert one.operation_of("POST", path) is not None
    call = one.parse_request("POST", path, dict(parse_qsl(query)), {}, orjson.dumps(body))
    assert one.judge(call) is None  # type: ignore[arg-type]


def test_the_emulators_import_nothing_else_of_ours() -> None:
    strays = []
    for path in _SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            strays += [(path.name, m) for m in modules if m.startswith("dragoman") and "dragoman.emulators" not in m]
    assert strays == []
