"""The pages that people write, their code blocks, and the notes that say how a block is checked.

A note is a comment on the line before a block:

    <!-- not run: needs Docker -->      why a block is not run
    <!-- run: e2e -->                   run by `make e2e`, with clients that are not in the development environment
    <!-- file: dragoman.yaml -->        written to a file of that name, for the blocks after it
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "docs" / "reference"
"""Written from the code; its examples are those of the rules, which tests/rules runs."""
_LEFT_OUT = {"node_modules", "build", "dist"}
_FENCE = re.compile(r"^( *)(```+)(\w*)[^\n]*\n(.*?)^\1\2$", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"<!-- (not run|run|file): (.+?) -->\n *$")


class Block(msgspec.Struct, frozen=True):
    page: str
    line: int
    kind: str
    text: str
    note: tuple[str, str] | None = None

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def skipped(self) -> bool:
        return self.note is not None and self.note[0] == "not run"

    @property
    def in_e2e(self) -> bool:
        return self.note == ("run", "e2e")

    @property
    def file(self) -> str | None:
        return self.note[1] if self.note is not None and self.note[0] == "file" else None


@cache
def all_pages() -> tuple[Path, ...]:
    """Every Markdown file of the project. What is installed beside it is not looked through."""
    tops = [path for path in ROOT.iterdir() if not _is_left_out(path.name)]
    found = (page for top in tops for page in (top.rglob("*.md") if top.is_dir() else (top,)))
    return tuple(
        sorted(
            page for page in found if page.suffix == ".md" and not any(map(_is_left_out, page.relative_to(ROOT).parts))
        )
    )


def _is_left_out(folder: str) -> bool:
    return folder in _LEFT_OUT or folder.startswith(".")


def written_pages() -> list[Path]:
    """Those that people write."""
    return [path for path in all_pages() if path.parent != GENERATED]


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text("utf-8")
    for found in _FENCE.finditer(text):
        noted = _NOTE.search(text[: found.start()])
        note = (noted[1], noted[2]) if noted else None
        line = text.count("\n", 0, found.start()) + 1
        indent, body = found[1], found[4]
        unindented = re.sub(rf"^{indent}", "", body, flags=re.MULTILINE) if indent else body
        yield Block(str(page.relative_to(ROOT)), line, found[3], unindented, note)


def prose(page: Path) -> str:
    """The page without its code."""
    text = _FENCE.sub("", page.read_text("utf-8"))
    return re.sub(r"`[^`\n]*`", "", text)
