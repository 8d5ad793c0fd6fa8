"""The gateway that suites of others judge: without keys, in a process of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from tests.e2e.installed import environment


@contextmanager
def running_gateway(folder: Path) -> Iterator[str]:
    """A gateway without keys, in a process of its own. Yields its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "dragoman", "serve", "--port", str(port)]
    with (folder / "gateway.log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment(folder), stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url, process)
            yield url
        finally:
            process.terminate()
            process.wait(timeout=60)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    with httpx.Client(transport=httpx.HTTPTransport(retries=20), timeout=60) as client:
        while process.poll() is None:
            try:
                client.get(f"{url}/health").raise_for_status()
            except httpx.TransportError:
                continue
            return
    raise SystemExit("the gateway has ended; see gateway.log")
