"""One replica of the cluster of `cluster.py` and `cluster_streams.py`: a gateway in a process of its own, which is this
script. Its clock is off by up to two seconds.
"""

from __future__ import annotations

import asyncio
import hashlib
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import yaml

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.free_ports import free_port

SKEWS = (0.0, 2.0, -2.0, 1.0)
REPLICAS = len(SKEWS)
"""How many share the limits, by their configuration."""
LIMIT = 600
"""Requests per minute of the key `limited`, which asks for twice as many."""
PRICE = 1000.0
"""Of a million tokens: an answer costs about a cent."""
GEMINI = "gemini-3-pro-preview"
DEADLINE_MS = 25


class Replica:
    """A gateway in a process of its own."""

    def __init__(self, number: int, folder: Path, config: dict[str, Any]) -> None:
        self.number = number
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.file = folder / f"replica-{number}" / "dragoman.yaml"
        self.file.parent.mkdir()
        self.file.write_text(yaml.safe_dump(config))
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, __file__, str(self.file), str(self.port), str(SKEWS[self.number])]
        log = (self.file.parent / "log").open("ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)

    def end(self, how: signal.Signals) -> None:
        if self.process is not None:
            self.process.send_signal(how)

    async def ended(self) -> None:
        while self.process is not None and self.process.poll() is None:  # noqa: ASYNC110 - another process's end
            await asyncio.sleep(0.05)

    async def ready(self, http: httpx.AsyncClient) -> dict[str, Any]:
        while True:
            with suppress(httpx.HTTPError):
                shown: dict[str, Any] = (await http.get(self.url + "/ready")).json()
                if shown["ready"]:
                    return shown
            await asyncio.sleep(0.05)


def config_of(urls: dict[str, str], port: int, ledger: str | None = None) -> dict[str, Any]:
    def sha(name: str) -> str:
        return hashlib.sha256(name.encode()).hexdigest()

    return {
        "providers": {
            "openai": {"base_url": urls["openai"], "api_key": "sk-none-0123456789"},
            "gemini": {"base_url": urls["gemini"], "api_key": "none-0123456789"},
            "responses": {
                "profile": "openai-responses",
                "base_url": urls["responses"],
                "api_key": "sk-none-0123456789",
                "websocket": True,
            },
        },
        "models": {
            "plain": {"target": "openai/gpt-4o", "price": {"input": PRICE, "output": PRICE}},
            "thinking": {"target": f"gemini/{GEMINI}"},
            "lined": {"target": "responses/gpt-5.6", "price": {"input": PRICE, "output": PRICE}},
        },
        "keys": {
            "boss": {"sha256": sha("boss"), "admin": True},
            "limited": {"sha256": sha("limited"), "requests_per_minute": LIMIT},
            "paid": {"sha256": sha("paid"), "budget": {"total": 1e9}},
            "loop": {"sha256": sha("loop")},
        },
        "store": {
            "hot": f"redis://127.0.0.1:{port}/0",
            "redis": {"deadline_ms": DEADLINE_MS, "replicas": REPLICAS},
            **({} if ledger is None else {"ledger": ledger}),
        },
        "server": {"shutdown_grace": 5},
    }


def serve(file: str, port: str, skew: str) -> None:
    """One replica. Its clocks are off; nothing in the gateway knows that."""
    from dragoman.gateway.app import Gateway
    from dragoman.gateway.http.server import Server, bind
    from dragoman.gateway.services import open_services
    from dragoman.store.clock import Clocks

    off = float(skew)
    clocks = Clocks(wall=lambda: time.time() + off, steady=lambda: time.monotonic() + off)
    services = open_services(Path(file), clocks=clocks)
    Server(services, Gateway(services, watch=False)).run(sockets=[bind("127.0.0.1", int(port))])


if __name__ == "__main__":
    serve(*sys.argv[1:])
