"""The guard of the hot paths: it covers every path, each path runs, and its baseline only goes down."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(scope="module")
def guard() -> ModuleType:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        spec = spec_from_file_location("bench_guard", BENCH / "guard.py")
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def test_every_path_has_a_baseline_on_some_machine(guard: ModuleType) -> None:
    machines = json.loads(guard.BASELINE.read_text())["machines"].values()
    assert set(guard.PATHS) == {path for machine in machines for path in machine["instructions"]}
    for machine in machines:
        assert set(machine["ceiling"]["instructions"]) <= set(guard.PATHS)


def test_each_kind_of_machine_has_a_baseline_of_its_own(guard: ModuleType) -> None:
    machines = json.loads(guard.BASELINE.read_text())["machines"]
    for kind, machine in machines.items():
        made_on = machine["for"]
        assert kind == f"{made_on['machine']}, Python {made_on['python'].rpartition('.')[0]}"
        assert guard.find_baseline(machines, kind, write=False) is machine
    assert guard.find_baseline(machines, "another", write=True)["instructions"] == {}
    assert guard.find_baseline(machines, "another", write=False) is next(iter(machines.values()))
    assert guard.name_machine().startswith(guard.surroundings()["machine"])


@pytest.mark.slow
def test_every_path_runs() -> None:
    """The gateway's paths stand in for its transport: they break when the transport's methods change."""
    run = "import paths\nfor path in paths.PATHS.values(): path()(1)"
    ran = subprocess.run([sys.executable, "-c", run], cwd=BENCH, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.slow
def test_the_walk_of_a_request_is_short_enough() -> None:
    ran = subprocess.run([sys.executable, "walk.py"], cwd=BENCH, capture_output=True, text=True, check=False)
    kinds = [line.split()[0] for line in ran.stdout.splitlines()]
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert kinds == ["whole", "stream"]


def test_the_baseline_is_never_raised(guard: ModuleType) -> None:
    assert guard.lower({"a": 100, "b": 100, "c": 7}, {"a": 90, "b": 110, "d": 5}) == {"a": 90, "b": 100, "c": 7, "d": 5}


@pytest.mark.parametrize(
    ("path", "count", "fault"),
    [
        ("gateway chat to chat", 104, None),
        ("gateway chat to chat", 106, "DEARER"),
        ("stream relayed", 106, "DEARER"),
        ("adapt anthropic", 109, None),
        ("adapt anthropic", 111, "DEARER"),
        ("a new path", 1, "NO BASELINE"),
    ],
)
def test_a_path_fails_above_its_tolerance_and_without_a_baseline(
    guard: ModuleType, path: str, count: int, fault: str | None
) -> None:
    known = {"gateway chat to chat": 100, "stream relayed": 100, "adapt anthropic": 100}
    assert guard.find_faults({path: count}, known, {}, elsewhere=False).get(path) == fault


def test_a_path_that_was_counted_on_another_machine_does_not_fail(guard: ModuleType) -> None:
    assert guard.find_faults({"a": 1}, {}, {}, elsewhere=False, counted={"a"}) == {}
    assert guard.find_faults({"a": 1}, {}, {}, elsewhere=False, counted={"b"}) == {"a": "NO BASELINE"}


def test_a_path_fails_above_the_ceiling(guard: ModuleType) -> None:
    counts = {"stream relayed": 100}
    assert guard.find_faults(counts, counts, {"stream relayed": 99}, elsewhere=False) == {
        "stream relayed": "ABOVE THE CEILING"
    }
    assert guard.find_faults(counts, counts, {"stream relayed": 100}, elsewhere=False) == {}
