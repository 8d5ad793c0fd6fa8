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


def _skip_other_ledgers(request: pytest.FixtureRequest) -> None:
    if "ledger" in request.module.__name__ and not BACKENDS[request.param].has_ledger:
        pytest.skip("its ledger is that of another backend, which is tested itself")


@pytest.fixture(params=BACKENDS)
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    _skip_other_ledgers(request)
    async for one in _opened(request.param, tmp_path):
        yield one


@pytest.fixture(params=SHARED)
async def shared(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    _skip_other_ledgers(request)
    async for one in _opened(request.param, tmp_path):
        yield one


@pytest.fixture(params=LASTING)
async def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    _skip_other_ledgers(request)
    async for one in _opened(request.param, tmp_path):
        yield one
