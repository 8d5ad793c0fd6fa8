"""Every relative link of every Markdown file leads to a file, and to a heading of it."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from tests.docs.markdown_pages import ROOT, all_pages, prose

_LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")
_HEADING = re.compile(r"^#+ +(.+?)\s*$", re.MULTILINE)
_ANCHOR = re.compile(r"(?:id|name)=\"([^\"]+)\"")


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    assert [target for target in links(page) if not leads_somewhere(page, target)] == []


def test_a_broken_link_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# One thing\n\n[a](page.md) [b](#one-thing) [c](gone.md) [d](page.md#no) `[e](x.md)`\n")
    assert [target for target in links(page) if not leads_somewhere(page, target)] == ["gone.md", "page.md#no"]


def links(page: Path) -> list[str]:
    found = [one or other for one, other in _LINK.findall(prose(page))]
    return [target for target in found if not re.match(r"[a-z]+:", target)]


def leads_somewhere(page: Path, target: str) -> bool:
    name, _, anchor = target.partition("#")
    file = (page.parent / name).resolve() if name else page
    if not file.exists():
        return False
    return not anchor or file.suffix != ".md" or anchor in anchors(file)


@cache
def anchors(page: Path) -> frozenset[str]:
    """The headings as GitHub names them, and what is named by hand."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in _HEADING.findall(text)]
    plain = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
    repeated = {f"{title}-{number}" for number in range(1, 9) for title in plain if plain.count(title) > number}
    return frozenset({*plain, *repeated, *_ANCHOR.findall(text)})
