"""The gateway as users run it: a process of its own, started by the command line."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from tests.child_processes import dies_with_us

TIMEOUT = 180.0
CLIENT = httpx.Client(timeout=TIMEOUT, verify=False, trust_env=False)
"""One for all tests: reading certificates takes longer than most of them."""
_LEFT_OUT = ("LLM_", "DRAGOMAN_", "PYTHONDONTWRITEBYTECODE")
_STATE = tempfile.TemporaryDirectory(prefix="dragoman-tests-state-")
_states = itertools.count()
DRAGOMAN = (sys.executable, "-c", "from dragoman.cli import main; main()")


def clean_environment(**more: str) -> dict[str, str]:
    """This process's environment without anybody's keys and with a state directory of its own.

    Bytecode is kept aside, so that the next start is quick.
    """
    more = {"XDG_STATE_HOME": f"{_STATE.name}/{next(_states)}", **more}
    more = {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "dragoman-tests-bytecode"), **more}
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_TOKEN"))}
    return {name: value for name, value in kept.items() if not name.startswith(_LEFT_OUT)} | more


class Served:
    """A running gateway and everything that it has said."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self.noise: list[str] = []
        self._heard = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.url = self.wait("listening")["url"]

    def _read(self) -> None:
        assert self.process.stderr is not None
        for text in self.process.stderr:
            with self._heard:
                try:
                    self.lines.append(json.loads(text))
                except json.JSONDecodeError:
                    self.noise.append(text)
                self._heard.notify_all()
        self.process.wait()
        with self._heard:
            self._heard.notify_all()

    def wait(self, event: str, after: int = 0) -> dict[str, Any]:
        """The first line with that event, once it is there."""
        with self._heard:
            told = self._heard.wait_for(lambda: self._ended() or self._find(event, after), TIMEOUT)
        found = self._find(event, after)
        assert found is not None, (event, told, self.lines, self.noise)
        return found

    def _find(self, event: str, after: int) -> dict[str, Any] | None:
        return next((line for line in self.lines[after:] if line.get("event") == event), None)

    def _ended(self) -> bool:
        return self.process.poll() is not None

    def chat(self, model: str, **more: Any) -> httpx.Response:
        body = {"model": model, "messages": [{"role": "user", "content": "Hi"}], **more}
        return CLIENT.post(f"{self.url}/v1/chat/completions", json=body)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def stop(self) -> int:
        """End it gracefully; its exit code."""
        if self.process.poll() is None:
            self.signal(signal.SIGTERM)
        try:
            code = self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._reader.join(TIMEOUT)
        return code


@contextmanager
def serving(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None, before: Callable[[], None] | None = None
) -> Iterator[Served]:
    """`dragoman serve` in a folder, on a free port; `before` runs in its process first."""
    process = subprocess.Popen(
        [*DRAGOMAN, "serve", "--port", "0", *arguments],
        cwd=folder,
        env=dict(env if env is not None else clean_environment()),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=dies_with_us(signal.SIGTERM, before),
    )
    try:
        served = Served(process)
    except BaseException:
        process.kill()  # it never said that it listens: nobody else would end it
        process.wait()
        raise
    try:
        yield served
    finally:
        served.stop()


def refused(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A start that is not to succeed."""
    return subprocess.run(
        [*DRAGOMAN, "serve", *arguments],
        cwd=folder,
        env=dict(env if env is not None else clean_environment()),
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
