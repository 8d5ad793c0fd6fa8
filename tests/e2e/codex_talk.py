"""Codex as editors run it: one process for several turns of a conversation, by lines of JSON."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Timer
from typing import Any

from tests.e2e.installed import environment

_SECONDS = 300.0


class CodexTalk:
    """One conversation."""

    def __init__(self, process: subprocess.Popen[str], room: Path) -> None:
        self._process = process
        self._ids = count(1)
        self._ask("initialize", {"clientInfo": {"name": "dragoman-tests", "version": "1"}})
        self._say({"method": "initialized"})
        rights = {"approvalPolicy": "never", "sandbox": "danger-full-access"}
        self._thread = self._ask("thread/start", {"cwd": str(room), **rights})["thread"]["id"]

    def turn(self, prompt: str) -> Any:
        """What Codex says of a turn when it has ended."""
        self._ask("turn/start", {"threadId": self._thread, "input": [{"type": "text", "text": prompt}]})
        return self._hear(lambda line: line.get("method") == "turn/completed")["params"]

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        number = next(self._ids)
        self._say({"id": number, "method": method, "params": params})
        answer = self._hear(lambda line: line.get("id") == number and "method" not in line)
        assert "result" in answer, answer
        return answer["result"]

    def _say(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _hear(self, wanted: Any) -> Any:
        assert self._process.stdout is not None
        for text in self._process.stdout:
            line = json.loads(text)
            if wanted(line):
                return line
        raise AssertionError("Codex has ended")


@contextmanager
def talking(command: list[str], home: Path, **more: str) -> Iterator[CodexTalk]:
    """Codex while the block lasts. It ends with all that it started, after a while by force."""
    process = subprocess.Popen(
        command,
        cwd=home / "room",
        env=environment(home, **more),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    end = Timer(_SECONDS, os.killpg, (process.pid, signal.SIGKILL))
    end.start()
    try:
        yield CodexTalk(process, home / "room")
    finally:
        end.cancel()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
