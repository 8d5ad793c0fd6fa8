"""This machine: Python, Dragoman, its extras, the SDKs beside it, and the limits of the system."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata

from dragoman import __version__
from dragoman.cli.checkup.check import Check, Mark
from dragoman.config.schema.config_file import Config
from dragoman.gateway.http import open_files

OLDEST_PYTHON = (3, 11)

SDKS = ("openai", "anthropic", "google-genai", "boto3", "cohere", "ollama", "mistralai")
VARIABLES = {
    "proxy": ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"),
    "certificates": ("SSL_CERT_FILE", "SSL_CERT_DIR"),
}
"""What the environment says of the way to providers, by what it is about."""
_SECTION = "machine"
_PACKAGE = re.compile(r"[\w.-]+")


def machine_checks(config: Config | None) -> Iterator[Check]:
    version = platform.python_version()
    old = sys.version_info < OLDEST_PYTHON
    text = f"{version} ({sys.executable})"
    yield Check(_SECTION, "Python", Mark.FAIL if old else Mark.OK, text, "use 3.11 or newer" if old else "")
    yield Check(_SECTION, "Dragoman", Mark.OK, f"{__version__} on {platform.system()} {platform.machine()}")
    yield from _extras()
    sdks = [f"{name} {version}" for name in SDKS if (version := _version(name))]
    yield Check(_SECTION, "SDKs", Mark.OK, ", ".join(sdks) or "none beside Dragoman")
    yield _open_files(config)
    for about, variables in VARIABLES.items():
        if found := [name for name in variables if os.environ.get(name) or os.environ.get(name.lower())]:
            yield Check(_SECTION, about, Mark.OK, f"the environment sets {', '.join(found)}")


def _extras() -> Iterator[Check]:
    """Which extras of this version are there, and what the others lack."""
    required = sorted(_list_by_extra().items())
    lacking = {name: [one for one in packages if not _version(one)] for name, packages in required}
    found = [name for name, missing in lacking.items() if not missing]
    yield Check(_SECTION, "extras", Mark.OK, ", ".join(found) or "none")
    if absent := [f"{name} (needs {', '.join(missing)})" for name, missing in lacking.items() if missing]:
        hint = "pip install 'dragoman[NAME]', if you need one"
        yield Check(_SECTION, "other extras", Mark.SKIP, ", ".join(absent), hint)


def _list_by_extra() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for requirement in _requirements():
        needed, _, marker = requirement.partition(";")
        _, _, extra = marker.partition("extra == ")
        package = _PACKAGE.match(needed)
        if extra and package is not None:
            found.setdefault(extra.strip("\"' "), []).append(package.group())
    found.pop("all", None)  # the others together
    return found


def _requirements() -> list[str]:
    try:
        return metadata.requires("dragoman") or []
    except metadata.PackageNotFoundError:  # run from its source, without an installation
        return []


def _version(package: str) -> str:
    """The version of a package; empty if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _open_files(config: Config | None) -> Check:
    limit = open_files.raise_limit()
    if not limit:
        return Check(_SECTION, "open files", Mark.SKIP, "the limit is not known on this system")
    shortage = open_files.shortage(limit, config.server.max_concurrent) if config is not None else None
    if shortage is not None:
        return Check(_SECTION, "open files", Mark.WARN, shortage)
    return Check(_SECTION, "open files", Mark.OK, f"{limit:,} allowed")
