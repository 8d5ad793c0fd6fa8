"""What stands behind the gateway in many tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.gateway.stage import Stage, stage
from tests.gateway.upstream import Upstream, upstream


@pytest.fixture(scope="module")
def behind() -> Iterator[Upstream]:
    """A small server that takes every request."""
    with upstream() as running:
        yield running


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A gateway with an emulated provider of every dialect, which check signatures."""
    with stage(tmp_path_factory.mktemp("stage"), signatures="strict") as raised:
        yield raised
