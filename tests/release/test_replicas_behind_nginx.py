"""Two gateways behind nginx with the file of deploy: both serve, a stream arrives whole, and one may go."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from tests.gateway.serving import CLIENT, PATIENCE, Served, clean_environment, serving

CONF = Path(__file__).resolve().parents[2] / "deploy" / "nginx.conf"
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
    with subprocess.Popen(["nginx", "-c", str(conf), "-p", str(folder), "-e", str(folder / "errors")]) as process:
        try:
            yield answering(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()


def answering(url: str) -> str:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            assert CLIENT.get(f"{url}/ready").status_code == 200
            return url
        except httpx.ConnectError:
            assert time.monotonic() < deadline
            time.sleep(0.05)


def served_by(gateway: Served) -> int:
    return len(CLIENT.get(f"{gateway.url}/dragoman/requests").json()["requests"])


def test_both_serve_and_one_may_go(tmp_path: Path) -> None:
    for name in ("one", "two", "nginx"):
        (tmp_path / name).mkdir()
    with (
        serving(tmp_path / "one", env=clean_environment()) as one,
        serving(tmp_path / "two", env=clean_environment()) as two,
        nginx(tmp_path / "nginx", one, two) as url,
    ):
        answers = [CLIENT.post(f"{url}/v1/chat/completions", json=ASKED).status_code for _ in range(8)]
        assert answers == [200] * 8
        streamed = CLIENT.post(f"{url}/v1/chat/completions", json={**ASKED, "stream": True}).text
        assert streamed.rstrip().endswith("data: [DONE]")
        assert served_by(one) > 2
        assert served_by(two) > 2
        assert one.stop() == 0
        answers = [CLIENT.post(f"{url}/v1/chat/completions", json=ASKED).status_code for _ in range(8)]
        assert answers == [200] * 8
