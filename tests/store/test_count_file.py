"""The file in which several workers count a minute: it counts like the windows of one process, and never twice."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.child_processes import dies_with_us

from dragoman.store.contracts.rate_limits import Allowed, KeyLimits, Limited
from dragoman.store.rate_windows import RateWindows, slice_of
from dragoman.store.sqlite import count_file
from dragoman.store.sqlite.count_file import CountFile

ONE = KeyLimits(requests_per_minute=1)
BOTH = KeyLimits(requests_per_minute=6, tokens_per_minute=100)


class Steps:
    """A clock that goes on when it is told."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Steps:
    return Steps()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.sqlite3-limits"


@pytest.fixture
def two(path: Path, clock: Steps) -> Iterator[tuple[CountFile, CountFile]]:
    with closing(CountFile(path, clock)) as one, closing(CountFile(path, clock)) as other:
        yield one, other


STEPS = st.tuples(
    st.sampled_from(["a", "b", "a key with ü"]),
    st.sampled_from([0.0, 0.1, 0.25, 7.3, 30.0, 59.75, 60.0, 61.0, 400.0]),
    st.integers(-20, 60),
    st.integers(0, 3),
)


@given(st.lists(STEPS, max_size=60))
def test_two_handles_decide_like_the_windows_of_one_process(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, float, int, int]]
) -> None:
    clock = Steps()
    path, windows = tmp_path_factory.mktemp("counts") / "limits", RateWindows(clock)
    with closing(CountFile(path, clock)) as one, closing(CountFile(path, clock)) as other:
        for number, (key, pause, tokens, count) in enumerate(steps):
            clock.now += pause
            file = (one, other)[number % 2]
            if count == 0:
                file.add(key, tokens)
                windows.settle(key, tokens)
                continue
            wanted = windows.reserve(key, BOTH, tokens, count)
            with pytest.raises(StopIteration) as decided:
                wanted.send(None)
            assert file.reserve(key, BOTH, tokens, count) == decided.value.value


def test_processes_side_by_side_allow_exactly_the_limit(path: Path) -> None:
    program = f"""
import time
from pathlib import Path
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits
from dragoman.store.sqlite.count_file import CountFile
file = CountFile(Path({str(path)!r}), lambda: 1000.0, wait=60.0)
limits = KeyLimits(requests_per_minute=1000)
print(sum(isinstance(file.reserve("k", limits, 1, 1), Allowed) for _ in range(500)))
"""
    command = [sys.executable, "-c", program]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, preexec_fn=dies_with_us) for _ in range(4)]
    assert sum(int(worker.communicate()[0]) for worker in workers) == 1000


def test_more_keys_than_the_file_has_pages_for_make_it_grow(two: tuple[CountFile, CountFile]) -> None:
    one, other = two
    keys = [f"key {number}" for number in range(200)]
    assert {type(one.reserve(key, ONE, 0, 1)) for key in keys} == {Allowed}
    assert {type(other.reserve(key, ONE, 0, 1)) for key in keys} == {Limited}
    assert other.reserve("another", ONE, 0, 1) == Allowed(0)
    assert isinstance(one.reserve("another", ONE, 0, 1), Limited)


def test_a_full_file_is_an_error(path: Path, clock: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(count_file, "MOST_PAGES", 64)
    with closing(CountFile(path, clock)) as file:
        for number in range(63):
            file.reserve(str(number), ONE, 0, 1)
        with pytest.raises(OSError, match="64 keys"):
            file.reserve("one more", ONE, 0, 1)
        assert isinstance(file.reserve("5", ONE, 0, 1), Limited)


def test_pages_are_freed_if_nothing_in_them_counts(two: tuple[CountFile, CountFile], path: Path, clock: Steps) -> None:
    one, other = two
    for number in range(200):
        one.reserve(str(number), ONE, 0, 1)
    size = path.stat().st_size
    clock.now += 30
    other.begin(())
    assert isinstance(one.reserve("0", ONE, 0, 1), Limited), "it still counts"
    clock.now += 60
    other.begin(())
    for number in range(300, 500):
        assert other.reserve(str(number), ONE, 0, 1) == Allowed(0)
    assert path.stat().st_size == size, "the pages of before were used again"
    assert isinstance(one.reserve("300", ONE, 0, 1), Limited), "the other one notices"
    assert one.reserve("0", ONE, 0, 1) == Allowed(0)
    assert isinstance(other.reserve("0", ONE, 0, 1), Limited)


def test_counts_of_before_go_into_the_file_and_no_others_are_lost(
    two: tuple[CountFile, CountFile], clock: Steps
) -> None:
    one, other = two
    limits = KeyLimits(requests_per_minute=9, tokens_per_minute=1000)
    one.reserve("k", limits, 10, 1)
    now = slice_of(clock.now)
    other.begin([("k", (now - 100, 2, 20)), ("k", (now - 300, 3, 30))])
    assert one.reserve("k", limits, 0, 1) == Allowed(5, 970)


def test_counts_from_before_the_machine_started_are_forgotten(two: tuple[CountFile, CountFile], clock: Steps) -> None:
    one, other = two
    one.reserve("k", ONE, 0, 1)
    clock.now = 10.0
    assert other.reserve("k", ONE, 0, 1) == Allowed(0)
    clock.now -= 0.5
    assert isinstance(one.reserve("k", ONE, 0, 1), Limited), "another worker may be a little ahead"


@pytest.mark.parametrize("torn", [b"", b"\0", b"x", b"\xff", b"\x7f"])
def test_a_torn_file_is_begun_anew(path: Path, clock: Steps, torn: bytes) -> None:
    """As one that was not flushed when the machine stopped: its pages may hold zeros, or anything."""
    path.write_bytes(torn * 5 * 4096)
    with closing(CountFile(path, clock)) as one, closing(CountFile(path, clock)) as other:
        one.begin(())
        for key in ("k", "l"):
            assert one.reserve(key, ONE, 0, 1) == Allowed(0)
            assert isinstance(other.reserve(key, ONE, 0, 1), Limited)


def test_a_full_disk_is_an_error(path: Path, clock: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pwrite", lambda handle, data, at: len(data) // 2)
    with closing(CountFile(path, clock)) as file, pytest.raises(OSError, match="disk is full"):
        file.reserve("k", ONE, 0, 1)
