"""docs/acceptance.md tells the truth: every id is there, and every test that it names exists and carries the id."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAST = {"A": 24, "B": 18, "C": 49, "D": 7, "E": 18}
ROW = re.compile(r"^\| (?P<id>[A-E]\d+) \| (?P<here>.+) \| (?P<state>\w+) \| (?P<tests>.*) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def acceptance() -> ModuleType:
    spec = importlib.util.spec_from_file_location("acceptance", ROOT / "docs" / "acceptance.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rows() -> dict[str, re.Match[str]]:
    page = (ROOT / "docs" / "acceptance.md").read_text("utf-8")
    return {row["id"]: row for row in ROW.finditer(page)}


def named_in(row: re.Match[str]) -> list[str]:
    return re.findall(r"`([^`]+)`", row["tests"])


def test_every_id_is_on_the_page_with_its_meaning_and_state(acceptance: ModuleType) -> None:
    found = {identity: (row["state"], row["here"]) for identity, row in rows().items()}
    assert found == {identity: (state, meaning) for identity, state, meaning in acceptance.items()}
    assert list(found) == [f"{letter}{number}" for letter, last in LAST.items() for number in range(1, last + 1)]
    assert {state for state, _ in found.values()} <= {"whole", "part", "later"}


def test_the_page_names_the_tests_of_today(acceptance: ModuleType) -> None:
    assert (ROOT / "docs" / "acceptance.md").read_text("utf-8") == acceptance.written(), (
        "run: python docs/acceptance.py"
    )


def test_every_test_that_the_page_names_exists_and_carries_the_id() -> None:
    for identity, row in rows().items():
        for test in named_in(row):
            file, _, name = test.partition("::")
            assert f"def {name}(" in (ROOT / "tests" / file).read_text("utf-8"), test
            assert identity in name.split("_"), test


def test_what_works_has_a_test() -> None:
    assert [identity for identity, row in rows().items() if row["state"] != "later" and not named_in(row)] == []


def test_what_is_missing_is_said() -> None:
    assert [identity for identity, row in rows().items() if row["state"] == "part" and ";" not in row["here"]] == []


def test_names_of_tests_carry_no_other_ids() -> None:
    """The page defines A to E. Numbers of earlier lists stand in docstrings."""
    named = re.compile(r"def (test_[F-Z]\d+_\w+)")
    files = (ROOT / "tests").rglob("test_*.py")
    assert [name for path in files for name in named.findall(path.read_text("utf-8"))] == []
