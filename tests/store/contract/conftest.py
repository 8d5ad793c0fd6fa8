"""Every test of the contract runs on every backend that makes the promise."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.store.contract.backends import BACKENDS, LASTING, SHARED, Backend


async def _opened(name: str, folder: Path) -> AsyncIterator[Backend]:
    backend = BACKENDS[name](folder)
    yield backend
    await backend.close()


@pytest.fixture(params=BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async for one in _opened(request.param, tmp_path):
        yield one


@pytest.fixture(params=SHARED)
async def shared(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async for one in _opened(request.param, tmp_path):
        yield one


@pytest.fixture(params=LASTING)
async def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    async for one in _opened(request.param, tmp_path):
        yield one
