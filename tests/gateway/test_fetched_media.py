"""Media by URL: sums for a request and for all requests, counted as they come and given back when a request is over."""

from __future__ import annotations

import gc
import json
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.upstream import Upstream, upstream

from dragoman.wire.json_size import LARGE

INLINE = {"facts": {"media": {"image": {"inline": "accepts", "url": "refuses"}}}}


class Pictures:
    """A server of pictures: the path says how many bytes. `/held/…` stops in the middle until it is let go, and
    `/chunked/…` does not tell its length. `meanwhile` is done before each answer."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.asked: list[str] = []
        self.url = ""
        self.meanwhile: Callable[[], object] = lambda: None


@contextmanager
def pictures() -> Iterator[Pictures]:
    made = Pictures()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append(self.path)
            made.meanwhile()
            size = int(self.path.rsplit("/", 1)[1])
            self.send_response(200)
            if "/chunked/" in self.path:
                self.send_header("connection", "close")
            else:
                self.send_header("content-length", str(size))
            self.end_headers()
            first = size // 2 if "/held/" in self.path else size
            self.wfile.write(b"\x89PNG\r\n\x1a\n".ljust(first, b"x"))
            if first < size:
                self.wfile.flush()
                made.gate.wait(60)
                self.wfile.write(b"x" * (size - first))

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    made.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield made
    finally:
        made.gate.set()
        server.shutdown()
        server.server_close()


@contextmanager
def stage(tmp_path: Path, **media: Any) -> Iterator[tuple[Running, Upstream, Pictures]]:
    with upstream() as behind, pictures() as server:
        config = {
            "providers": {"up": provider("openai-compatible-strict", behind.url, **INLINE)},
            "media": {"allow": ["127.0.0.0/8"], **media},
        }
        with gateway(config, tmp_path) as running:
            yield running, behind, server


def request(*urls: str) -> dict[str, Any]:
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {"model": "up/m", "messages": [{"role": "user", "content": [{"type": "text", "text": "?"}, *parts]}]}


def test_one_request_has_a_sum(tmp_path: Path) -> None:
    with stage(tmp_path, max_bytes=5000, max_request_bytes=10_000) as (running, behind, server):
        said = running.post("/v1/chat/completions", request(*[f"{server.url}/{n}/4000" for n in range(2)]))
        assert said.status_code == 200, said.text
        assert behind.seen[0].raw.count(b"data:image/png;base64,") == 2
        said = running.post("/v1/chat/completions", request(*[f"{server.url}/{n}/4000" for n in range(3)]))
        assert (said.status_code, "media.max_request_bytes" in said.text) == (413, True)
        assert len(behind.seen) == 1
        assert running.services.media.held == 0


def test_a_file_that_is_too_large_is_named_and_does_not_count(tmp_path: Path) -> None:
    with stage(tmp_path, max_bytes=5000, max_request_bytes=10_000) as (running, behind, server):
        sizes = (4000, 9000, 9001, 4000)
        said = running.post("/v1/chat/completions", request(*[f"{server.url}/{n}/{n}" for n in sizes]))
        assert said.status_code == 200, said.text
        assert behind.seen[0].raw.count(b"data:image/png;base64,") == 2
        assert running.services.media.held == 0


def test_files_without_a_length_share_the_sum(tmp_path: Path) -> None:
    with stage(tmp_path, max_bytes=5000, max_request_bytes=10_000) as (running, behind, server):
        for count, status in ((2, 200), (3, 413)):
            urls = [f"{server.url}/chunked/{n}/4000" for n in range(count)]
            assert running.post("/v1/chat/completions", request(*urls)).status_code == status
        said = running.post("/v1/chat/completions", request(f"{server.url}/chunked/9000", f"{server.url}/4000"))
        assert said.status_code == 200, said.text
        assert [one.raw.count(b"data:image/png;base64,") for one in behind.seen] == [2, 1]
        assert running.services.media.held == 0


def test_a_request_waits_for_the_room_that_others_hold(tmp_path: Path) -> None:
    with stage(tmp_path, max_total_bytes=10_000) as (running, behind, server), ThreadPoolExecutor(2) as others:
        held = others.submit(running.post, "/v1/chat/completions", request(f"{server.url}/held/8000"))
        wait_for(lambda: running.services.media.held == 8000)
        waits = others.submit(running.post, "/v1/chat/completions", request(f"{server.url}/7000"))
        wait_for(lambda: len(server.asked) == 2)
        assert (running.services.media.held, len(behind.seen)) == (8000, 0)
        server.gate.set()
        assert [one.result(60).status_code for one in (held, waits)] == [200, 200]
        assert [len(one.raw) > 10_000 for one in behind.seen] == [True, False]
        assert running.services.media.held == 0


def test_a_request_that_waits_too_long_is_told_to_come_again(tmp_path: Path) -> None:
    """The file comes with much patience, and the wait for room after it with none."""
    with stage(tmp_path, max_total_bytes=10_000, timeout=60) as (running, behind, server):
        media = running.services.media
        patient = media.config
        server.meanwhile = lambda: setattr(media, "config", replace(patient, timeout=0.01))
        held = media.hold()
        held.add(5000)
        said = running.post("/v1/chat/completions", request(f"{server.url}/7000"))
        assert (said.status_code, said.headers["retry-after"]) == (503, "1"), said.text
        assert "media.max_total_bytes" in said.text
        assert (running.services.media.held, len(behind.seen)) == (5000, 0)
        server.meanwhile, media.config = lambda: None, patient
        assert running.post("/v1/chat/completions", request(f"{server.url}/4000")).status_code == 200
        del held
        assert running.services.media.held == 0


def test_a_client_that_leaves_gives_its_media_back(tmp_path: Path) -> None:
    with stage(tmp_path) as (running, _, server):
        sent = json.dumps(request(f"{server.url}/held/8000")).encode()
        port = int(running.url.rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port)) as line:
            head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(sent)}\r\n\r\n"
            line.sendall(head.encode() + sent)
            wait_for(lambda: running.services.media.held == 8000)
        wait_for(lambda: running.services.media.held == 0)
        assert not server.gate.is_set()


def test_nothing_of_a_request_waits_for_the_garbage_collector(tmp_path: Path) -> None:
    with stage(tmp_path) as (running, _, server):
        for _ in range(2):  # the first one imports and fills caches
            gc.collect()
            gc.freeze()  # what is there already is not looked at again
            gc.disable()
            try:
                assert running.post("/v1/chat/completions", request(f"{server.url}/8000")).status_code == 200
                gc.set_debug(gc.DEBUG_SAVEALL)
                gc.collect()
                left = {type(one).__qualname__ for one in gc.garbage if _is_of_a_request(one)}
            finally:
                gc.set_debug(0)
                gc.garbage.clear()
                gc.enable()
        assert left == set()


def _is_of_a_request(found: object) -> bool:
    """Whether it belongs to a request; connections live longer than that."""
    module = type(found).__module__
    return module.startswith("dragoman.") and not module.startswith("dragoman.upstream.transport")


@pytest.mark.parametrize(("size", "beside"), [(2000, False), (LARGE + 1, True)])
def test_what_was_fetched_decides_where_it_is_compiled(
    size: int, beside: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stage(tmp_path) as (running, behind, server):
        heavy, ran = running.services.dispatcher.heavy, []
        run = heavy.run

        async def noted(work: Any, key: str = "") -> Any:
            ran.append(key)
            return await run(work, key)

        monkeypatch.setattr(heavy, "run", noted)
        assert running.post("/v1/chat/completions", request(f"{server.url}/{size}")).status_code == 200
        assert bool(ran) is beside
        assert len(behind.seen) == 1
