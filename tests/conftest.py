"""What `make test` leaves to `make test-slow`: tests marked `slow`, and most cases of those marked `sampled`.

And the end of the run, which ends the servers that tests started.
"""

from __future__ import annotations

from collections import Counter

import pytest
from tests.child_processes import end_all


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


def pytest_unconfigure() -> None:
    end_all()
