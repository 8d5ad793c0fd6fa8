"""The package, built once for all tests that need it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.gateway.serving import clean_environment

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str | Path, cwd: Path = ROOT, fails: bool = False) -> str:
    """What a command prints; if it `fails`, its errors."""
    env = clean_environment()
    env.pop("PYTHONPATH", None)  # the checkout must not stand in for what is installed
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode != 0) == fails, (command, done.stdout[-2000:], done.stderr[-2000:])
    return done.stderr if fails else done.stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    return folder
