"""Every test of the contract runs on every backend that makes the promise."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.store.contract.backends import BACKENDS, LEDGERS, Backend


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A module whose `PLACES` are other backends is tested on those."""
    places: dict[str, type[Backend]] = getattr(metafunc.module, "PLACES", BACKENDS)
    fixtures = {
        "backend": list(places),
        "shared": [name for name, one in places.items() if one.shared],
        "lasting": [name for name, one in places.items() if one.lasting],
    }
    for fixture, names in fixtures.items():
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, names, indirect=True)


async def _opened(name: str, folder: Path) -> AsyncIterator[Backend]:
    backend = {**BACKENDS, **LEDGERS}[name](folder)
    yield backend
    await backend.close()


@pytest.fixture
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async for one in _opened(request.param, tmp_path):
        yield one


@pytest.fixture
async def shared(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async for one in _opened(request.param, tmp_path):
        yield one


@pytest.fixture
async def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async for one in _opened(request.param, tmp_path):
        yield one
