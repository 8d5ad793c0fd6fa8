"""Build the documentation site: stage the pages, build them strictly, and check that nothing is loaded from elsewhere.

python docs/build_site.py        writes build/site; a warning or a broken link is an error

Pages keep their places in the project, so that their links are the same here and there. What they link to besides pages
(files of deploy, tests) is copied beside them. Pages that mkdocs.yml does not name join the navigation of their folder.
"""

from __future__ import annotations

import logging
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
STAGED = ROOT / "build" / "site-pages"
SITE = ROOT / "build" / "site"
PAGES = ("*.md", "docs/**/*.md", "bench/results/*.md")
FIRST = (
    "concepts",
    "operating",
    "security",
    "tuning",
    "gateway",
    "console",
    "terminal",
    "clients",
    "models",
    "routing",
    "library",
    "sdk",
)
"""The guides that come first; the others follow by name."""
FOLDERS = {"Guide": ("docs/guide",), "Reference": ("docs/reference",), "Project": ("", "docs/theory", "docs/decisions")}
"""The entries of the navigation that are filled from folders."""
_LINK = re.compile(r"\]\(([^)\s#]+)|(?:src|href)=\"([^\"#]+)\"")
_LOADED = re.compile(
    r"<(?:script|img|link|iframe|source)\b[^>]*?(?:src|href)=\"?(?:https?:)?//[^\s\">]+", re.IGNORECASE
)
_IMPORTED = re.compile(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^\s\"')]+", re.IGNORECASE)


def main() -> int:
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.exceptions import Abort

    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    stage()
    config = load_config(str(ROOT / "mkdocs.yml"), nav=navigation(named_nav()))
    try:
        build(config)
    except Abort as error:
        print(error, file=sys.stderr)
        return 1
    loaded = sorted(set(loads(SITE)))
    for file, address in loaded:
        print(f"{file} loads {address}", file=sys.stderr)
    return 1 if loaded else 0


def pages() -> list[str]:
    """Every page of the site, by its path in the project."""
    return sorted({str(path.relative_to(ROOT)) for pattern in PAGES for path in ROOT.glob(pattern)})


def stage() -> None:
    shutil.rmtree(STAGED, ignore_errors=True)
    for name in {*pages(), *linked_files(), "docs/images/favicon.svg"}:
        (STAGED / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, STAGED / name)


def linked_files() -> set[str]:
    """Files of the project that a page links to and that are no pages."""
    every = set(pages())
    return {found for page in every for found in _links(page)} - every


def _links(page: str) -> Iterator[str]:
    for plain, quoted in _LINK.findall((ROOT / page).read_text("utf-8")):
        target = plain or quoted
        file = (ROOT / page).parent / target
        if not re.match(r"[a-z]+:", target) and file.is_file():
            yield str(file.resolve().relative_to(ROOT))


def named_nav() -> list[Any]:
    """The navigation as mkdocs.yml has it."""
    from mkdocs.utils.yaml import yaml_load

    nav: list[Any] = yaml_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    return nav


def navigation(named: list[Any]) -> list[Any]:
    """The same, with every page: those that are not named are in the entries of their folders."""
    taken = set(_leaves(named))
    return [{title: inner or _of_folders(title, taken)} for entry in named for title, inner in entry.items()]


def _of_folders(title: str, taken: set[str]) -> list[str]:
    return [name for folder in FOLDERS[title] for name in _sorted(folder) if name not in taken]


def _sorted(folder: str) -> list[str]:
    inside = [name for name in pages() if str(Path(name).parent) == (folder or ".")]
    return sorted(inside, key=_rank)


def _rank(name: str) -> tuple[int, str]:
    stem = Path(name).stem
    return (-1 if stem == "README" else FIRST.index(stem) if stem in FIRST else len(FIRST), name)


def _leaves(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    for inner in nav.values() if isinstance(nav, dict) else nav if isinstance(nav, list) else ():
        yield from _leaves(inner)


def loads(site: Path) -> Iterator[tuple[str, str]]:
    """What the pages and style sheets of a built site load from other servers."""
    for path in site.rglob("*"):
        if path.suffix in (".html", ".css", ".svg"):
            found = (_LOADED if path.suffix == ".html" else _IMPORTED).findall(path.read_text("utf-8"))
            yield from ((str(path.relative_to(site)), one) for one in found)


if __name__ == "__main__":
    sys.exit(main())
