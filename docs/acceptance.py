"""Write docs/acceptance.md: every id of the acceptance list, its meaning and state, and the tests that carry its id.

python docs/acceptance.py
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).parent
TESTS = DOCS.parent / "tests"
PAGE = DOCS / "acceptance.md"
SHOWN = 3
"""Tests that are listed for each id: the first ones, those of tests/acceptance before the others."""
TITLES = {
    "A": "Gemini behind a router",
    "B": "System messages in a message port",
    "C": "Gemini proxies, routing, trimming, operations",
    "D": "Consolidating system messages",
    "E": "Streams, errors and strict providers",
}
_TEST = re.compile(r"def (test_((?:[A-Z]+\d+_)+)\w+)\(")
_HEAD = """<!-- Written by docs/acceptance.py from docs/acceptance.toml and the names of tests; do not edit. -->

# Acceptance

Five other systems set out what a mediator between clients and models must do. This page says what each of their items
means here, whether it works whole, and which tests carry its id. `later` items belong to the console. A test checks
that every named test exists.
"""


def main() -> None:
    PAGE.write_text(written(), "utf-8")


def items() -> Iterator[tuple[str, str, str]]:
    """Id, state and meaning of every item."""
    for letter, entries in tomllib.loads((DOCS / "acceptance.toml").read_text("utf-8")).items():
        for number, (state, meaning) in entries.items():
            yield f"{letter}{number}", state, meaning


def named_tests() -> dict[str, list[str]]:
    """Every test by the ids in its name, as FILE::NAME."""
    found: dict[str, list[str]] = {}
    files = sorted(TESTS.rglob("test_*.py"), key=lambda path: ("acceptance" not in path.parts, path))
    for path in files:
        for name, ids in _TEST.findall(path.read_text("utf-8")):
            for identity in ids.strip("_").split("_"):
                found.setdefault(identity, []).append(f"{path.relative_to(TESTS).as_posix()}::{name}")
    return found


def written() -> str:
    """The page."""
    tests = named_tests()
    blocks = [_HEAD]
    letter = ""
    for identity, state, meaning in items():
        if identity[0] != letter:
            letter = identity[0]
            blocks.append(f"\n## {letter}: {TITLES[letter]}\n\n| id | here | state | tests |\n|---|---|---|---|\n")
        shown = "<br>".join(f"`{one}`" for one in tests.get(identity, [])[:SHOWN])
        blocks.append(f"| {identity} | {meaning} | {state} | {shown} |\n")
    return "".join(blocks)


if __name__ == "__main__":
    main()
