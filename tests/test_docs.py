"""The reference says what the code says."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from dragoman.profiles.facts import Facts
from dragoman.rules import BY_NAME

DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(generate: ModuleType) -> dict[str, str]:
    """As they are kept. `test_the_reference_is_not_stale` holds them to the code."""
    return {
        path.name: path.read_text("utf-8")
        for path in (DOCS / "reference").glob("*.md")
        if path.name not in generate.ELSEWHERE
    }


@pytest.mark.slow
def test_the_reference_is_not_stale() -> None:
    """In a process of its own, as `make docs` runs it: click's help depends on what else a process has loaded."""
    script = Path(__file__).parent.parent / "docs" / "generate.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_stale_page_is_named(generate: ModuleType, pages: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.check({**pages, "rules.md": "old"}) == 1
    assert "docs/reference/rules.md is stale" in capsys.readouterr().err


def test_every_rule_has_its_page(pages: dict[str, str]) -> None:
    assert [name for name in BY_NAME if f"### {name}\n" not in pages["rules.md"]] == [], "run: make docs"


def test_every_fact_is_in_the_catalogue(pages: dict[str, str]) -> None:
    for name in Facts.__struct_fields__:
        assert f"| `{name}` |" in pages["facts.md"], f"{name} is missing; run: make docs"


def test_rules_name_the_facts_that_they_read(pages: dict[str, str]) -> None:
    page = pages["rules.md"].split("### call-id-form\n")[1].split("###")[0]
    assert "[`call_id_pattern`]" in page
    assert "[`call_id_length`]" in page


def test_every_module_that_a_page_names_exists() -> None:
    """Pages are read long after a module has moved. A name in capitals stands for others."""
    root = DOCS.parent
    there = {path.as_posix() for folder in ("src", "tests", "bench", "docs") for path in (root / folder).rglob("*.py")}
    pages = [*root.glob("*.md"), *(page for page in DOCS.rglob("*.md") if page.parent.name != "reference")]
    pages.remove(root / "CHANGELOG.md")  # which speaks of what was
    named = [(page.name, name) for page in pages for name in _MODULE.findall(page.read_text("utf-8"))]
    assert len(named) > 100
    assert [one for one in named if not any(path.endswith(f"/{one[1]}") for path in there)] == []


_MODULE = re.compile(r"`((?:[a-z_0-9]+/)*[a-z_0-9]+\.py)`")
