"""`requirements.lock` holds every dependency at its tested version, with hashes and without addresses."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PINS = {canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==([\w.]+)", LOCK, re.MULTILINE)}


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()[1:]
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def test_everything_that_the_project_needs_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    for requirement in (one for one in map(Requirement, wanted) if one.name != project["name"]):
        version = PINS.get(canonicalize_name(requirement.name))
        assert version is not None, f"{requirement.name} is not locked; run: make lock"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement}; run: make lock"


def test_all_means_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    [everything] = extras["all"]
    assert Requirement(everything).extras == extras.keys() - {"all"}


def test_every_extra_is_in_the_guide() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    section = (ROOT / "docs" / "guide" / "operating.md").read_text().split("## Install")[1].split("\n## ")[0]
    named = {
        name for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert named == set(extras)


def test_what_is_locked_is_what_was_tested() -> None:
    differing = {
        name: (version, PINS[name]) for name, version in pinned().items() if PINS.get(name, version) != version
    }
    assert differing == {}


def test_every_version_has_its_hashes() -> None:
    entries = [entry for entry in re.split(r"\n(?=\S)", LOCK.strip()) if not entry.startswith("#")]
    assert len(entries) == len(PINS) > 20
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", entry) for entry in entries)


def test_the_lock_names_no_server() -> None:
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links| @ ", LOCK)
