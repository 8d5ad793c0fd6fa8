"""A gateway before emulated providers, and the clients that are pointed at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e import installed
from tests.gateway.stage import Stage, stage


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Emulators that take only signatures of their own making."""
    with stage(tmp_path_factory.mktemp("stage"), signatures="strict") as raised:
        yield raised


@pytest.fixture(scope="session")
def npm() -> Path:
    return installed.npm()


@pytest.fixture(scope="session")
def frameworks() -> Path:
    return installed.frameworks()
