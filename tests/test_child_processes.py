"""Servers of tests end with the process that started them, however that ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

STARTS_A_SERVER = """
import subprocess, sys, time
from tests.child_processes import dies_with_us
subprocess.Popen(["sleep", "1000"], pass_fds=[int(sys.argv[1])], preexec_fn=dies_with_us())
print("started", flush=True)
time.sleep(1000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no signal for the death of a parent")
def test_a_server_ends_with_a_process_that_is_killed() -> None:
    held_by_the_server, written = os.pipe()
    root = Path(__file__).parents[1]
    command = [sys.executable, "-c", STARTS_A_SERVER, str(written)]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, pass_fds=[written]) as starter:
        os.close(written)
        assert starter.stdout is not None
        assert starter.stdout.readline() == b"started\n"
        starter.send_signal(signal.SIGKILL)
    assert os.read(held_by_the_server, 1) == b"", "nobody has the other end any more"
    os.close(held_by_the_server)
