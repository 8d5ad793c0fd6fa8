"""The replicas of compose, with the files of deploy and real servers: both serve, share a ledger, and one may go."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import yaml
from tests.child_processes import dies_with_us
from tests.gateway.serving import CLIENT, TIMEOUT, Served, clean_environment, serving
from tests.store.postgres_server import running_postgres
from tests.store.redis_server import running_redis

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
CONF = DEPLOY / "nginx.conf"
pytestmark = [
    pytest.mark.skipif(not os.environ.get("DRAGOMAN_PACKAGE"), reason="make package-test starts nginx"),
    pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed"),
]
ASKED = {"model": "anthropic/claude-sonnet-4-5", "messages": [{"role": "user", "content": "Hi"}]}


@contextmanager
def nginx(folder: Path, *gateways: Served) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    text = CONF.read_text().replace("listen 8080", f"listen 127.0.0.1:{port}")
    for number, gateway in enumerate(gateways, 1):
        text = text.replace(f"gateway-{number}:8642", gateway.url.removeprefix("http://"))
    conf = folder / "nginx.conf"
    conf.write_text(f"daemon off; user root; pid {folder}/pid; error_log {folder}/errors;\n{text}")
    with subprocess.Popen(
        ["nginx", "-c", str(conf), "-p", str(folder), "-e", str(folder / "errors")],
        preexec_fn=dies_with_us(signal.SIGTERM),
    ) as process:
        try:
            yield answering(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()


def answering(url: str) -> str:
    deadline = time.monotonic() + TIMEOUT
    while True:
        try:
            assert CLIENT.get(f"{url}/ready").status_code == 200
            return url
        except httpx.ConnectError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def replica(folder: Path, redis: str, postgres: str) -> Path:
    """The file of both replicas, with the addresses of servers on this machine."""
    config = yaml.safe_load((DEPLOY / "compose-replicas.yaml").read_text())
    config["server"]["host"] = "127.0.0.1"
    config["store"] = {"path": str(folder / "dragoman.sqlite3"), "hot": redis, "ledger": postgres}
    config["log"]["provider_errors"]["path"] = None
    folder.mkdir()
    (folder / "dragoman.yaml").write_text(yaml.safe_dump(config))
    return folder


def requests_of(gateway: Served) -> int:
    """How many requests it answered itself."""
    counted = re.findall(
        r"^dragoman_requests_total\{.*\} (\d+)", CLIENT.get(f"{gateway.url}/metrics").text, re.MULTILINE
    )
    return sum(map(int, counted))


def in_the_ledger(gateway: Served, wanted: int) -> int:
    """How many requests it lists; rows are written in batches, so it is asked until they are there."""
    deadline = time.monotonic() + TIMEOUT
    while True:
        found = len(CLIENT.get(f"{gateway.url}/dragoman/requests").json()["requests"])
        if found >= wanted or time.monotonic() > deadline:
            return found
        time.sleep(0.05)


def test_both_serve_and_one_may_go(tmp_path: Path) -> None:
    redis, postgres = running_redis().url, running_postgres().new_schema()
    (tmp_path / "nginx").mkdir()
    with (
        serving(replica(tmp_path / "one", redis, postgres), env=clean_environment()) as one,
        serving(replica(tmp_path / "two", redis, postgres), env=clean_environment()) as two,
        nginx(tmp_path / "nginx", one, two) as url,
    ):
        answers = [CLIENT.post(f"{url}/v1/chat/completions", json=ASKED).status_code for _ in range(8)]
        assert answers == [200] * 8
        streamed = CLIENT.post(f"{url}/v1/chat/completions", json={**ASKED, "stream": True}).text
        assert streamed.rstrip().endswith("data: [DONE]")
        assert requests_of(one) > 2
        assert requests_of(two) > 2
        assert in_the_ledger(one, 9) == in_the_ledger(two, 9) == 9
        assert one.stop() == 0
        answers = [CLIENT.post(f"{url}/v1/chat/completions", json=ASKED).status_code for _ in range(8)]
        assert answers == [200] * 8
