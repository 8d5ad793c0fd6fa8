"""The stage of a measurement: mock providers on one core, the load beside them, and everything gone afterwards."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import machine
import mock
from contestants import Contestant, Ports, free_port
from load import ask, http_post


@contextmanager
def folder() -> Iterator[Path]:
    """A place for configurations and logs; from now on this process and what it starts stay on the load's core."""
    machine.pin(machine.LOAD_CORE)
    with tempfile.TemporaryDirectory(prefix="dragoman-bench-") as name:
        yield Path(name)


@contextmanager
def providers() -> Iterator[tuple[Path, Ports]]:
    """The mock providers, and a folder for what the contestants leave behind."""
    with folder() as kept:
        ports = Ports(free_port(), free_port())
        commands = [
            mock.nginx(kept / "mock", mock.answering(ports.whole)),
            [sys.executable, str(Path(mock.__file__)), str(ports.streams)],
        ]
        running = [subprocess.Popen(command, cwd=kept) for command in commands]
        try:
            _wait(ports)
            yield kept, ports
        finally:
            for process in running:
                process.terminate()
                process.wait(10)


def _wait(ports: Ports) -> None:
    """Until both have answered."""
    until = time.monotonic() + 20
    for port, manner in ((ports.whole, "whole"), (ports.streams, "burst")):
        while True:
            try:
                ask(port, http_post(f"/{manner}/v1/chat/completions", b"{}", {}), 1, 1)
                break
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)


@contextmanager
def running(contestants: list[Contestant]) -> Iterator[dict[str, float]]:
    """All of them started; the seconds that each took to its first answer."""
    starts: dict[str, float] = {}
    try:
        for one in contestants:
            starts[one.name] = one.start()
        yield starts
    finally:
        for one in contestants:
            one.stop()
