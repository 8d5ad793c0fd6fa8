"""What `make test` leaves to `make test-slow`: tests marked `slow`, and most cases of those marked `sampled`.

And what holds for every run: it is not hurried by a busy machine, and servers that tests started end with it.
"""

from __future__ import annotations

import gc
from collections import Counter

import httpx
import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from tests.child_processes import end_all

PATIENT = httpx.Timeout(120)


def pytest_configure() -> None:
    """Clients wait longer than the five seconds of httpx. No garbage is looked for while modules are imported."""
    for phase, seconds in PATIENT.as_dict().items():
        setattr(DEFAULT_TIMEOUT_CONFIG, phase, seconds)
    gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test that is `sampled(8)` every eighth case is quick; the others are slow."""
    seen: Counter[tuple[object, str]] = Counter()
    for item in items:
        mark = item.get_closest_marker("sampled")
        if mark is None:
            continue
        test = (item.path, getattr(item, "originalname", item.name))
        if seen[test] % mark.args[0]:
            item.add_marker(pytest.mark.slow)
        seen[test] += 1


def pytest_collection_finish() -> None:
    """What was imported stays: the collector need not look at it again and again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_unconfigure() -> None:
    end_all()
