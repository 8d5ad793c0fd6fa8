"""The gateways that are measured, each with its own way of being started, told where its providers are, and asked."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import ClassVar, NamedTuple

import machine
import mock
import questions
from load import ask, http_post

KEY = "bench-key-not-a-secret"
ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / ".venv-bench"
UPSTREAM_MODELS = {
    "openai-chat": "openai/gpt-4o",
    "anthropic": "anthropic/claude-sonnet-4-5",
    "gemini": "gemini/gemini-2.5-flash",
}


class Cell(NamedTuple):
    """One thing to measure: who asks whom, how much, and how the answer comes."""

    client: str
    upstream: str
    size: str = "tools"
    manner: str = "whole"
    connections: int = 32

    @property
    def model(self) -> str:
        return f"{self.upstream}-{self.manner}"

    @property
    def streamed(self) -> bool:
        return self.manner != "whole"

    @property
    def events(self) -> int:
        return {"whole": 1, "burst": mock.EVENTS, "paced": mock.PACED, "hold": 1}[self.manner]

    @property
    def weight(self) -> int:
        """How many times the work of a short question it is, about: so many fewer are asked."""
        return {"agent": 8, "50 repairs": 16, "500 repairs": 64}.get(self.size, 1)

    @property
    def name(self) -> str:
        short = {"openai-chat": "Chat", "openai-responses": "Responses", "anthropic": "Anthropic", "gemini": "Gemini"}
        return f"{short[self.client]} → {short[self.upstream]}, {self.manner}, {self.size}, {self.connections}"


class Ports(NamedTuple):
    """Where the mock providers are."""

    whole: int
    streams: int

    def url(self, upstream: str, manner: str) -> str:
        port = self.whole if manner == "whole" else self.streams
        return f"http://127.0.0.1:{port}/{manner}" + ("/v1" if upstream == "openai-chat" else "")


def _environment() -> dict[str, str]:
    """That of this process. A gateway may keep its bytecode, as every installed one does: else it compiles its source
    on each start, and the start and the memory at rest are those of the compiler."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class Contestant:
    """A gateway that runs. Subclasses say how, and what they cannot do."""

    name = ""
    patience = 60.0

    def __init__(self, folder: Path, ports: Ports) -> None:
        self.folder = folder / self.name.replace(" ", "-")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.ports = ports
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    def command(self) -> Sequence[str | Path]:
        raise NotImplementedError

    def environment(self) -> dict[str, str]:
        return {}

    def installed(self) -> bool:
        return True

    def version(self) -> str:
        return ""

    def has(self, cell: Cell) -> bool:
        return True

    def budget(self, cell: Cell) -> int:
        """Requests for about half a second of CPU."""
        raise NotImplementedError

    def headers(self, cell: Cell) -> dict[str, str]:
        return {"authorization": f"Bearer {KEY}"}

    def path(self, cell: Cell) -> str:
        return questions.path(cell.client, cell.model, cell.streamed)

    def model(self, cell: Cell) -> str:
        """What it calls the model that answers."""
        return cell.model

    def request(self, cell: Cell) -> bytes:
        return self.post(cell, questions.question(cell.client, cell.size, self.model(cell), cell.streamed))

    def post(self, cell: Cell, body: bytes) -> bytes:
        """A request with this body."""
        return http_post(self.path(cell), body, self.headers(cell))

    def start(self, *cores: int) -> float:
        """Seconds until it answered its first question."""
        log = (self.folder / "log").open("wb")
        cores = cores or (machine.GATEWAY_CORE,)
        self.process = subprocess.Popen(
            self.command(),
            stdout=log,
            stderr=log,
            cwd=self.folder,
            env={**_environment(), **self.environment()},
            start_new_session=True,
        )
        machine.pin(*cores, pid=self.process.pid)
        began = time.perf_counter()
        request = self.request(Cell("openai-chat", "openai-chat", "short"))
        while True:
            try:
                ask(self.port, request, 1, 1)
                return time.perf_counter() - began
            except (OSError, RuntimeError) as fault:
                self._still_hoped_for(began, fault)
                time.sleep(0.005)

    def _still_hoped_for(self, began: float, fault: Exception) -> None:
        assert self.process is not None
        if self.process.poll() is None and time.perf_counter() - began < self.patience:
            return
        told = (self.folder / "log").read_text(errors="replace")[-3000:]
        raise RuntimeError(f"{self.name} did not start: {fault}\n{told}")

    def stop(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid


class Dragoman(Contestant):
    """Ours: a key with limits, ledger, report, metrics, log and all rules on."""

    name = "Dragoman"
    workers = 1

    def version(self) -> str:
        return version("dragoman")

    def command(self) -> Sequence[str | Path]:
        file = self.folder / "dragoman.yaml"
        file.write_text(self.config())
        program = Path(sys.executable).parent / "dragoman"
        return [program, "serve", "--config", file, "--port", str(self.port), "--workers", str(self.workers)]

    def config(self) -> str:
        providers, models = {}, {}
        for upstream, target in UPSTREAM_MODELS.items():
            profile, model = target.split("/")
            for manner in ("whole", "burst", "paced", "hold"):
                name = f"{profile}-{manner}"
                url = self.ports.url(upstream, manner)
                providers[name] = {
                    "profile": profile,
                    "base_url": url,
                    "api_key": "upstream-key",
                    "max_connections": 2000,
                }
                models[f"{upstream}-{manner}"] = {"target": f"{name}/{model}"}
        limits = {"requests_per_minute": 100_000_000, "tokens_per_minute": 1_000_000_000_000, "concurrent": 100_000}
        keys = {"bench": {"sha256": hashlib.sha256(KEY.encode()).hexdigest(), **limits}}
        store = {"kind": "sqlite" if self.workers > 1 else "memory", "path": str(self.folder / "store.sqlite3")}
        return json.dumps({"providers": providers, "models": models, "keys": keys, "store": store})

    def budget(self, cell: Cell) -> int:
        return {"whole": 2000, "burst": 320}.get(cell.manner, 64)


class TwoWorkers(Dragoman):
    """Ours with two processes, which share their ledger and limits in SQLite."""

    name = "Dragoman 2 workers"
    workers = 2

    def has(self, cell: Cell) -> bool:
        return cell.manner == "whole" and cell.connections > 1


class Nginx(Contestant):
    """The limit: bytes passed on, nothing understood."""

    name = "nginx"

    def version(self) -> str:
        return machine.first_line(["nginx", "-v"]).rpartition("/")[2]

    def command(self) -> Sequence[str | Path]:
        return mock.nginx(
            self.folder,
            f"""
            upstream whole {{ server 127.0.0.1:{self.ports.whole}; keepalive 512; keepalive_requests 100000000; }}
            upstream streams {{ server 127.0.0.1:{self.ports.streams}; keepalive 512; keepalive_requests 100000000; }}
            server {{
              listen 127.0.0.1:{self.port} backlog=2048;
              proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off;
              location /whole/ {{ proxy_pass http://whole; }}
              location / {{ proxy_pass http://streams; }}
            }}
            """,
        )

    def has(self, cell: Cell) -> bool:
        return cell.client == cell.upstream

    def path(self, cell: Cell) -> str:
        return f"/{cell.manner}{questions.path(cell.client, cell.model, cell.streamed)}"

    def budget(self, cell: Cell) -> int:
        return {"whole": 6000, "burst": 320}.get(cell.manner, 64)


class LiteLLM(Contestant):
    """Its proxy with a master key; without a database it has no ledger and no keys with limits."""

    name = "LiteLLM"
    patience = 120.0

    def installed(self) -> bool:
        return (HOME / "litellm/bin/litellm").exists()

    def version(self) -> str:
        asked = "from importlib.metadata import version; print(version('litellm'))"
        return machine.first_line([str(HOME / "litellm/bin/python"), "-c", asked])

    def command(self) -> Sequence[str | Path]:
        file = self.folder / "config.yaml"
        file.write_text(json.dumps(self.config()))
        program = HOME / "litellm/bin/litellm"
        return [program, "--config", file, "--host", "127.0.0.1", "--port", str(self.port), "--num_workers", "1"]

    def config(self) -> dict[str, object]:
        models = []
        for upstream, target in UPSTREAM_MODELS.items():
            for manner in ("whole", "burst", "paced", "hold"):
                url = self.ports.url(upstream, manner)
                params = {"model": target, "api_base": url, "api_key": "upstream-key"}
                models.append({"model_name": f"{upstream}-{manner}", "litellm_params": params})
                if upstream == "openai-chat":
                    # a provider that LiteLLM knows to have no Responses endpoint: it must translate
                    params = params | {"model": "deepseek/deepseek-chat"}
                    models.append({"model_name": f"translated-{manner}", "litellm_params": params})
        return {"model_list": models, "general_settings": {"master_key": KEY}}

    def environment(self) -> dict[str, str]:
        return {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}

    def has(self, cell: Cell) -> bool:
        return cell.client != "gemini"

    def model(self, cell: Cell) -> str:
        translated = cell.upstream == "openai-chat" and cell.client != cell.upstream
        return f"translated-{cell.manner}" if translated else cell.model

    def budget(self, cell: Cell) -> int:
        return {"whole": 64, "burst": 8}.get(cell.manner, 16)


class Portkey(Contestant):
    """Its open gateway on Node; it is told where to go by the headers of each request."""

    name = "Portkey"
    _HOSTS: ClassVar = {"openai-chat": "openai", "anthropic": "anthropic", "gemini": "google"}

    def installed(self) -> bool:
        return self.program().exists()

    def program(self) -> Path:
        return HOME / "portkey/node_modules/@portkey-ai/gateway/build/start-server.js"

    def version(self) -> str:
        return str(json.loads((self.program().parent.parent / "package.json").read_text())["version"])

    def command(self) -> Sequence[str | Path]:
        return ["node", self.program(), f"--port={self.port}", "--headless"]

    def environment(self) -> dict[str, str]:
        return {"NODE_ENV": "production", "TRUSTED_CUSTOM_HOSTS": "127.0.0.1"}

    def has(self, cell: Cell) -> bool:
        return cell.client == "openai-chat"

    def headers(self, cell: Cell) -> dict[str, str]:
        host = self.ports.url(cell.upstream, cell.manner).removesuffix("/v1") + (
            "/v1beta" if cell.upstream == "gemini" else "/v1"
        )
        return {
            "authorization": f"Bearer {KEY}",
            "x-portkey-provider": self._HOSTS[cell.upstream],
            "x-portkey-custom-host": host,
        }

    def budget(self, cell: Cell) -> int:
        return {"whole": 400, "burst": 64}.get(cell.manner, 64)


class Direct(Contestant):
    """No gateway at all: what the mock provider and the load cost in time by themselves."""

    name = "direct"

    def start(self, *cores: int) -> float:
        return 0.0

    def stop(self) -> None:
        return

    def has(self, cell: Cell) -> bool:
        return cell.connections == 1 and cell.client == cell.upstream

    def request(self, cell: Cell) -> bytes:
        self.port = self.ports.streams if cell.streamed else self.ports.whole
        body = questions.question(cell.client, cell.size, cell.model, cell.streamed)
        return http_post(
            f"/{cell.manner}{questions.path(cell.client, cell.model, cell.streamed)}", body, self.headers(cell)
        )

    def budget(self, cell: Cell) -> int:
        return {"whole": 2000, "burst": 320}.get(cell.manner, 64)

    @property
    def pid(self) -> int:
        return os.getpid()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
