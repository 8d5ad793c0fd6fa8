"""Every acceptance id of the compiler has a test that has it in its name."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).parent

IDS = [
    *(f"A{number}" for number in range(1, 22)),
    *(f"B{number}" for number in range(1, 11)),
    *(f"C{number}" for number in (*range(4, 15), 16, 17, 18, 21, 38, 45)),
    *(f"D{number}" for number in range(1, 5)),
    *("E1", "E2", "E6", "E7", "E8", "E10"),
    *(f"X{number}" for number in (*range(1, 11), 12, 13, 15, 16, 17)),
]
ELSEWHERE = {"C15": "../engine", "X11": "..", "X14": "../config"}
"""Proven where attempts and streams are: the folder whose tests name them."""

NAMED = {
    found for path in HERE.glob("test_*.py") for found in re.findall(r"def test_([A-Z]+\d+)_", path.read_text("utf-8"))
}


def test_every_id_has_a_test() -> None:
    assert sorted(set(IDS) - NAMED) == []


def test_the_others_are_proven_elsewhere() -> None:
    assert [identity for identity, folder in ELSEWHERE.items() if not is_named(identity, folder)] == []


def is_named(identity: str, folder: str) -> bool:
    named = re.compile(rf"def test_(?:[A-Z]+\d+_)*{identity}_")
    return any(named.search(path.read_text("utf-8")) for path in (HERE / folder).resolve().rglob("test_*.py"))
