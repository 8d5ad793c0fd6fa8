"""A gateway with several workers that is stopped ends with 0, at whatever moment the signal comes."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.child_processes import dies_with_us
from tests.gateway.serving import CLIENT, DRAGOMAN, TIMEOUT, clean_environment

STOPS = int(os.environ.get("DRAGOMAN_STOPS", "6"))
"""100 take three minutes."""
LONGEST = 2.5
"""Seconds: the first process looks at its file every second, and workers start within the first."""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("number", range(STOPS))
def test_a_stop_at_any_moment_is_a_proper_one(tmp_path: Path, number: int) -> None:
    (tmp_path / "dragoman.yaml").write_text("providers: {p: {profile: openai, api_key: k}}\n")
    moment = random.Random(number).random() * LONGEST * (number % 3 > 0)  # a third of them at once
    process = subprocess.Popen(
        [*DRAGOMAN, "serve", "--port", "0", "--workers", "2"],
        cwd=tmp_path,
        env=clean_environment(),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=dies_with_us(signal.SIGTERM),
    )
    try:
        assert process.stderr is not None
        assert '"listening"' in process.stderr.readline()
        time.sleep(moment)
        process.send_signal(signal.SIGTERM if number % 2 else signal.SIGINT)
        _, said = process.communicate(timeout=TIMEOUT)
    finally:
        process.kill()
    assert process.returncode == 0, said
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_hang_up_and_a_dying_worker_do_not_end_the_first_process(tmp_path: Path) -> None:
    from tests.gateway.serving import serving
    from tests.gateway.test_serve import workers_of

    (tmp_path / "dragoman.yaml").write_text("providers: {p: {profile: openai, api_key: k}}\n")
    with serving(tmp_path, "--workers", "2") as served:
        for _ in range(5):
            served.signal(signal.SIGHUP)
            served.signal(signal.SIGCHLD)
            for worker in list(workers_of(served.process.pid))[:1]:
                os.kill(worker, signal.SIGHUP)
            time.sleep(0.05)
        assert CLIENT.get(f"{served.url}/health").status_code == 200
        assert served.stop() == 0
