"""The clients that are not part of the development environment: installed once, into the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import venv
from pathlib import Path

import pytest

HERE = Path(__file__).parent
_CACHES = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
CACHE = Path(os.environ.get("DRAGOMAN_E2E_CACHE") or Path(_CACHES) / "dragoman-e2e")
CLIENTS = HERE / "clients"
asked_for = pytest.mark.skipif(
    not os.environ.get("DRAGOMAN_E2E"), reason="installs real clients: run it with `make e2e` (DRAGOMAN_E2E=1)"
)
"""These tests run only if somebody wants them."""


def npm() -> Path:
    """The folder with `node_modules`."""
    folder = CACHE / "npm"
    if _is_fresh(folder, HERE / "package.json"):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "package.json", folder)
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=folder, check=True, timeout=600)
    _mark(folder, HERE / "package.json")
    return folder


def frameworks() -> Path:
    """The Python that has the client frameworks."""
    folder = CACHE / "frameworks"
    python = folder / "bin" / "python"
    if _is_fresh(folder, HERE / "frameworks.txt"):
        return python
    venv.create(folder, with_pip=True)
    wanted = str(HERE / "frameworks.txt")
    subprocess.run([str(python), "-m", "pip", "install", "--quiet", "-r", wanted], check=True, timeout=600)
    _mark(folder, HERE / "frameworks.txt")
    return python


def _digest(wanted: Path) -> str:
    return hashlib.sha256(wanted.read_bytes() + sys.version.encode()).hexdigest()


def _is_fresh(folder: Path, wanted: Path) -> bool:
    mark = folder / "installed"
    return mark.exists() and mark.read_text() == _digest(wanted)


def _mark(folder: Path, wanted: Path) -> None:
    (folder / "installed").write_text(_digest(wanted))


def environment(home: Path, **more: str) -> dict[str, str]:
    """An environment with a home of its own and nobody's keys or proxies."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    return {**kept, "HOME": str(home), "NO_COLOR": "1", "CI": "1", **more}


def run(command: list[str], home: Path, seconds: float = 120, cwd: Path | None = None, **more: str) -> str:
    """A client's own output; its complaint if it fails. After the time is up, it ends with all that it started."""
    return hear(command, home, seconds, cwd, **more)[0]


def hear(command: list[str], home: Path, seconds: float = 120, cwd: Path | None = None, **more: str) -> tuple[str, str]:
    """A client's own output, and what it wrote to its standard error."""
    process = subprocess.Popen(
        command,
        cwd=cwd or home,
        env=environment(home, **more),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complained = process.communicate(timeout=seconds)
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    assert process.returncode == 0, (
        f"{command[:3]} failed with {process.returncode}: {said[-1500:]}{complained[-1500:]}"
    )
    return said, complained
