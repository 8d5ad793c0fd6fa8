"""axe-core, the usual judge of accessibility, from npm: installed once, into the user's cache folder."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page

PACKAGE = "axe-core@4.14.0"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dragoman-console"


@cache
def script() -> str:
    """Its text. The test is skipped if npm or the registry is not there."""
    folder = _CACHE / PACKAGE
    found = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not found.exists():
        _install(folder)
    return found.read_text()


def _install(folder: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("there is no npm to install axe-core with")
    folder.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), PACKAGE]
    if subprocess.run(command, check=False, timeout=120, capture_output=True).returncode:
        pytest.skip(f"{PACKAGE} cannot be installed here")


def violations(page: Page) -> list[str]:
    """What axe finds on the page as it is: rule, element and what is wrong with it."""
    page.evaluate(script())
    found: dict[str, Any] = page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)
    return [
        f"{rule['id']}: {node['target'][0]}: {node['failureSummary']}"
        for rule in found["violations"]
        for node in rule["nodes"]
        if not _is_excused(rule["id"], node["html"])
    ]


def _is_excused(rule: str, html: str) -> bool:
    """The number at a line of a body is small; the head of its rule's card does the same, and is large."""
    return rule == "target-size" and 'class="badge' in html
