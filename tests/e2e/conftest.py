"""A gateway before emulated providers, the clients that are pointed at it, and the page that tells how they fared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e import installed, proven_page

_OUTCOMES = pytest.StashKey[proven_page.Outcomes]()


@pytest.fixture(scope="session")
def npm() -> Path:
    return installed.npm()


@pytest.fixture(scope="session")
def frameworks() -> Path:
    return installed.frameworks()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_OUTCOMES] = {}


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Function, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Notes how each loop of the matrix ended."""
    result: Any = yield
    report = result.get_result()
    params = item.callspec.params if hasattr(item, "callspec") else {}
    if {"client", "upstream"} <= params.keys() and (report.when == "call" or report.failed):
        failed = [str(call.excinfo.value).splitlines()[0]] if report.failed and call.excinfo is not None else []
        found = item.config.stash[_OUTCOMES].setdefault((params["client"], params["upstream"].name), [])
        found += failed


def pytest_sessionfinish(session: pytest.Session) -> None:
    """The page is written by a run of the whole matrix alone."""
    proven_page.write(session.config.stash[_OUTCOMES])
