"""The page about suites of others: one section for each suite, which a run of that suite writes anew."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "judges.md"
HEAD = (
    "# What the suites of others say\n\n"
    "`make judges` runs suites that others wrote against a gateway without keys, on the models of several emulated"
    " providers,\nand writes this page. Nothing is uploaded.\n"
)


def write_section(title: str, lines: Iterable[str]) -> None:
    """Put a section into its place, or at the end."""
    text = PAGE.read_text() if PAGE.exists() else HEAD
    sections = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    sections[title] = "\n" + "\n".join(lines) + "\n\n"
    PAGE.write_text((HEAD + "\n" + "".join(f"## {name}\n{body}" for name, body in sections.items())).rstrip() + "\n")


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]
