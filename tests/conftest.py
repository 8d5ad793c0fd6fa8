"""What `make test` leaves to `make test-slow`: tests marked `slow`, and most cases of those marked `sampled`.

And what holds for every run: it is not hurried by a busy machine, and servers that tests started end with it.
"""

from __future__ import annotations

import gc
import logging
import os
import ssl
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import certifi
import httpx
import pytest
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from tests.child_processes import end_all

if TYPE_CHECKING:
    from tests.sdk_readers import Loopback

PATIENT = httpx.Timeout(120)


AUTHORITIES = {certifi.where(), os.environ.get("SSL_CERT_FILE")}
_make_context = ssl.create_default_context
_make_once = cache(_make_context)


def pytest_configure() -> None:
    """Clients wait longer than the five seconds of httpx. No garbage is looked for while modules are imported."""
    for phase, seconds in PATIENT.as_dict().items():
        setattr(DEFAULT_TIMEOUT_CONFIG, phase, seconds)
    ssl.create_default_context = _context_of_a_client
    gc.disable()


def _context_of_a_client(*purpose: ssl.Purpose, **files: str | None) -> ssl.SSLContext:
    """Every client of a vendor reads the certificates of all authorities, which takes longer than most tests."""
    given = _make_once if files.get("cafile") in AUTHORITIES and not purpose else _make_context
    return given(*purpose, **files)


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


@pytest.fixture(scope="module")
def sdks() -> Iterator[Loopback]:
    """The official SDKs, which are served answers over loopback. Some of them warn of what they do not know."""
    from tests.sdk_readers import loopback

    logging.disable(logging.WARNING)
    with loopback() as served:
        yield served
    logging.disable(logging.NOTSET)
