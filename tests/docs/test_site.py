"""The site has every page, and would notice what it loads from elsewhere. `make docs-site` builds it strictly."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from tests.docs.markdown_pages import ROOT, all_pages


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_builder", ROOT / "docs" / "build_site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class _NavOnly(yaml.SafeLoader):
    """Reads mkdocs.yml without the tool's own tags."""


_NavOnly.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)


@pytest.fixture(scope="module")
def nav(site: ModuleType) -> list[Any]:
    named = yaml.load((ROOT / "mkdocs.yml").read_text(), _NavOnly)["nav"]
    found: list[Any] = site.navigation(named)
    return found


def test_every_page_is_in_the_navigation_once(site: ModuleType, nav: list[Any]) -> None:
    shown = list(site._leaves(nav))
    assert sorted(shown) == site.pages()
    assert set(shown) == {str(path.relative_to(ROOT)) for path in all_pages()}


def test_files_that_pages_link_to_are_staged(site: ModuleType) -> None:
    files = site.linked_files()
    assert {"Dockerfile", "deploy/nginx.conf", "docs/images/walk-of-a-request.svg", "tests/laws/test_valid.py"} <= files


@pytest.mark.parametrize(
    ("name", "text", "count"),
    [
        ("a.html", '<script src="https://cdn.example/x.js"></script><a href="https://fine.example">x</a>', 1),
        ("a.html", '<link rel="stylesheet" href="//fonts.example/f.css"><img src="here.png">', 1),
        ("a.css", "@import 'https://fonts.example/f.css'; a { background: url(here.png) }", 1),
        ("a.svg", "<svg><style>a { src: url(https://fonts.example/f) }</style></svg>", 1),
        ("a.html", '<script src="assets/x.js"></script>', 0),
    ],
)
def test_what_is_loaded_from_elsewhere_is_seen(
    site: ModuleType, tmp_path: Path, name: str, text: str, count: int
) -> None:
    (tmp_path / name).write_text(text)
    assert len(list(site.loads(tmp_path))) == count


@pytest.mark.parametrize("diagram", sorted((ROOT / "docs" / "images").glob("*.svg")), ids=lambda path: path.name)
def test_diagrams_are_for_light_and_dark_and_for_readers_aloud(diagram: Path) -> None:
    text = diagram.read_text()
    if diagram.name == "favicon.svg":
        return
    assert "prefers-color-scheme: dark" in text
    assert "<title" in text
    assert "<desc" in text
