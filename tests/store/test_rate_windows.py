"""The counts of one process: keys that are no longer in use are forgotten, what still counts never is."""

from __future__ import annotations

from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.rate_windows import MANY_KEYS, RateWindows

ONCE = KeyLimits(1)


async def test_keys_that_are_no_longer_in_use_do_not_pile_up() -> None:
    now = 0.0
    windows = RateWindows(lambda: now)
    for number in range(3 * MANY_KEYS):
        now += 0.1
        assert isinstance(await windows.reserve(f"key {number}", ONCE), Allowed)
    assert len(windows._keys) <= MANY_KEYS + 1


async def test_what_still_counts_is_not_forgotten_however_much_it_is() -> None:
    windows = RateWindows(lambda: 5.0)
    keys = [f"key {number}" for number in range(2 * MANY_KEYS)]
    for verdict in (Allowed, Limited):
        assert all([isinstance(await windows.reserve(key, ONCE), verdict) for key in keys])
