"""A gateway with a hostile provider behind it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.gateway.running import Running
from tests.hostile.provider import HostileProvider


@pytest.fixture(scope="module")
def provider() -> Iterator[HostileProvider]:
    with HostileProvider() as running:
        yield running


@pytest.fixture(scope="module")
def gateway(provider: HostileProvider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(provider.config(), tmp_path_factory.mktemp("hostile")).start()
    yield running
    running.stop()
