"""The server against bad clients, and its faults seen by a client."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from tests.child_processes import dies_with_us

from dragoman.emulation.emulator_fallback import EmulatorFallback
from dragoman.emulators.serving import background_server, http_server
from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.testing import emulator

BODY = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hi"}]}
PATH = "/v1/chat/completions"


@pytest.fixture(scope="module")
def openai() -> Iterator[RunningEmulator]:
    with emulator("openai", max_body=1 << 20) as running:
        yield running


def post(running: RunningEmulator, body: Any = BODY, fault: str | None = None, **more: Any) -> httpx.Response:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    headers = {"x-emulate-fault": fault} if fault else {}
    return httpx.post(running.url + PATH, content=raw, headers=headers, timeout=60, **more)


def raw_talk(running: RunningEmulator, sent: bytes) -> bytes:
    host, port = running.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as link:
        link.sendall(sent)
        received = b""
        while data := link.recv(65536):
            received += data
    return received


def still_serves(running: RunningEmulator) -> None:
    assert post(running).status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"not json", b"[]", b'"x"', b"\xff\xfe", b"null"])
def test_not_json_is_refused_in_the_providers_words(openai: RunningEmulator, body: bytes) -> None:
    answer = post(openai, body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith("We could not parse the JSON body of your request.")
    still_serves(openai)


@pytest.mark.slow
def test_a_huge_body_is_turned_away(openai: RunningEmulator) -> None:
    answer = post(openai, b"x" * (100 << 20))
    assert answer.status_code == 413
    assert "larger than this server takes" in answer.json()["error"]["message"]
    still_serves(openai)


def test_a_huge_body_in_chunks_is_turned_away(openai: RunningEmulator) -> None:
    answer = httpx.post(openai.url + PATH, content=(b"x" * 65536 for _ in range(64)), timeout=60)
    assert answer.status_code == 413
    still_serves(openai)


def test_a_slow_client_is_told_so() -> None:
    with emulator("openai", request_seconds=0.1) as hasty:
        for count in (1, 2):
            said = raw_talk(hasty, b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{")
            assert said.startswith(b"HTTP/1.1 408 ")
            assert [(one.verdict, one.status) for one in hasty.requests] == [("refused", 408)] * count


def test_no_http_is_told_so(openai: RunningEmulator) -> None:
    assert raw_talk(openai, b"\x16\x03\x01\x02\x00\x01\x00 hello\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    still_serves(openai)


def test_a_client_that_leaves_half_way(openai: RunningEmulator) -> None:
    host, port = openai.url.removeprefix("http://").split(":")
    for sent in (b"", b"POST /v1/chat", b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n{"):
        with socket.create_connection((host, int(port))) as link:
            link.sendall(sent)
    with httpx.stream(
        "POST", openai.url + PATH, json={**BODY, "stream": True}, headers={"x-emulate-fault": "slow"}
    ) as answer:
        next(answer.iter_raw())
    still_serves(openai)


def test_paths_and_methods(openai: RunningEmulator) -> None:
    assert httpx.post(f"{openai.url}/v1/completions", json=BODY).status_code == 404
    assert httpx.get(openai.url + PATH).status_code == 405
    assert httpx.get(f"{openai.url}/v1/models").json()["data"][0]["id"] == "gpt-4o"
    assert httpx.options(openai.url + PATH).status_code == 405
    with httpx.Client() as client:
        assert client.head(openai.url + PATH).status_code == 405
        assert client.get(f"{openai.url}/v1/models").status_code == 200


def test_connections_are_kept_and_requests_may_be_chunked_or_pipelined(openai: RunningEmulator) -> None:
    with httpx.Client() as client:
        for _ in range(3):
            assert client.post(openai.url + PATH, content=iter([orjson.dumps(BODY)])).status_code == 200
    raw = orjson.dumps(BODY)
    one = b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n" % (PATH.encode(), len(raw))
    said = raw_talk(openai, one + b"\r\n" + raw + one + b"connection: close\r\n\r\n" + raw)
    assert said.count(b"HTTP/1.1 200 OK") == 2


def test_expect_continue(openai: RunningEmulator) -> None:
    host, port = openai.url.removeprefix("http://").split(":")
    raw = orjson.dumps(BODY)
    with socket.create_connection((host, int(port)), timeout=60) as link:
        head = f"POST {PATH} HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: {len(raw)}\r\n\r\n"
        link.sendall(head.encode())
        assert link.recv(100).startswith(b"HTTP/1.1 100 Continue")
        link.sendall(raw)
        assert link.recv(100).startswith(b"HTTP/1.1 200 OK")


def test_requests_are_remembered_and_keys_are_not(openai: RunningEmulator) -> None:
    httpx.post(openai.url + PATH, json=BODY, headers={"authorization": "Bearer sk-secret"})
    record = openai.requests[-1]
    assert (record.verdict, record.status, record.model, record.body) == ("accepted", 200, "gpt-4o-mini", BODY)
    assert record.headers["authorization"] == "***"
    post(openai, {**BODY, "zzz": 1})
    assert openai.requests[-1].verdict == "refused"


STATUS = [
    ("401", 401, "Incorrect API key provided"),
    ("404", 404, "The model `gpt-4o-mini` does not exist"),
    ("429;retry-after=2", 429, "Rate limit reached"),
    ("500", 500, "The server had an error"),
    ("529", 529, "The engine is currently overloaded"),
    ("context", 400, "This model's maximum context length is 128000 tokens."),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("fault", "status", "words"), STATUS)
def test_faults_with_a_status(openai: RunningEmulator, fault: str, status: int, words: str, stream: bool) -> None:
    answer = post(openai, {**BODY, "stream": stream}, fault)
    assert answer.status_code == status
    assert answer.json()["error"]["message"].startswith(words)
    assert answer.headers.get("retry-after") == ("2" if status == 429 else None)


def test_a_bad_gateway_is_a_page(openai: RunningEmulator) -> None:
    answer = post(openai, fault="502")
    assert (answer.status_code, answer.headers["content-type"]) == (502, "text/html")
    assert "<h1>502 Bad Gateway</h1>" in answer.text


def test_a_bad_fault_header_is_explained(openai: RunningEmulator) -> None:
    answer = post(openai, fault="explode")
    assert answer.status_code == 400
    assert "Known: 401" in answer.json()["error"]["message"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("fault", ["cut", "reset", "reset-after-headers", "stall;seconds=0.1"])
def test_faults_of_the_connection(openai: RunningEmulator, fault: str, stream: bool) -> None:
    with pytest.raises(httpx.TransportError):
        post(openai, {**BODY, "stream": stream}, fault)
    still_serves(openai)


def test_a_stalled_stream_gives_what_it_had(openai: RunningEmulator) -> None:
    host, port = openai.url.removeprefix("http://").split(":")
    raw = orjson.dumps({**BODY, "stream": True})
    head = f"POST {PATH} HTTP/1.1\r\nhost: x\r\nx-emulate-fault: stall;after=3\r\ncontent-length: {len(raw)}\r\n\r\n"
    received = b""
    with socket.create_connection((host, int(port)), timeout=60) as link:
        link.sendall(head.encode() + raw)
        while received.count(b"data: ") < 3 and (piece := link.recv(65536)):
            received += piece
        link.settimeout(0.3)
        with pytest.raises(TimeoutError):  # noqa: PT012 - the rest of the third event may come by itself
            while piece := link.recv(65536):
                received += piece
    assert received.count(b"data: ") == 3


def test_slow_bytes_arrive_all(openai: RunningEmulator) -> None:
    started = time.monotonic()
    slow = post(openai, {**BODY, "stream": True}, "slow;bytes=200;every=0.01")
    assert slow.content == post(openai, {**BODY, "stream": True}).content
    assert time.monotonic() - started > 0.05


def test_garbage_in_whole_and_stream(openai: RunningEmulator) -> None:
    with pytest.raises(ValueError):
        post(openai, fault="bad-json").json()
    torn = post(openai, {**BODY, "stream": True}, "bad-json;after=1").text.split("\n\n")
    with pytest.raises(ValueError):
        orjson.loads(torn[1].removeprefix("data: "))
    assert torn[-2] == "data: [DONE]"


@pytest.mark.parametrize("stream", [False, True])
def test_a_wrong_content_type(openai: RunningEmulator, stream: bool) -> None:
    answer = post(openai, {**BODY, "stream": stream}, "wrong-type")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/plain")


def test_an_error_inside_a_200_stream(openai: RunningEmulator) -> None:
    answer = post(openai, {**BODY, "stream": True}, "stream-error;after=2")
    assert answer.status_code == 200
    frames = answer.text.strip().split("\n\n")
    assert len(frames) == 3
    assert "overloaded" in frames[-1]
    assert "[DONE]" not in answer.text
    assert post(openai, BODY, "stream-error").status_code == 503


def test_fail_so_often_then_succeed() -> None:
    with emulator("openai", fault="500;times=2") as running:
        assert [post(running).status_code for _ in range(3)] == [500, 500, 200]
        assert [post(running, fault="429;times=1").status_code for _ in range(2)] == [429, 200]
        running.fault(None)
        running.script({"fault": "529"}, "then this")
        assert post(running).status_code == 529
        assert post(running).json()["choices"][0]["message"]["content"] == "then this"
        assert [request.verdict for request in running.requests][:3] == ["fault", "fault", "accepted"]


@pytest.mark.parametrize("size", [1, 3, 64])
def test_streams_cut_at_awkward_places(size: int) -> None:
    with emulator("openai", write_size=size, script=["Grüße 🌍"]) as running:
        answer = post(running, {**BODY, "stream": True})
    deltas = [orjson.loads(line[6:]) for line in answer.text.split("\n\n")[:-2]]
    text = "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in deltas)
    assert text == "Grüße 🌍"


def test_many_clients_at_once() -> None:
    async def all_of_them(url: str) -> list[int]:
        async with httpx.AsyncClient(timeout=60) as client:
            asked = [client.post(url + PATH, json={**BODY, "stream": bool(n % 2)}) for n in range(40)]
            return [answer.status_code for answer in await asyncio.gather(*asked)]

    with emulator("openai") as unhurried:
        assert asyncio.run(all_of_them(unhurried.url)) == [200] * 40


def test_the_fixture_starts_and_stops_emulators(dragoman_emulators: Any) -> None:
    mistral, groq = dragoman_emulators("mistral"), dragoman_emulators("groq", models=["only"])
    assert mistral.base_url == f"{mistral.url}/v1"
    assert groq.base_url == f"{groq.url}/openai/v1"
    assert httpx.get(f"{groq.base_url}/models").json()["data"][0]["id"] == "only"


def _command(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dragoman", "emulate", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["openia"], 'Did you mean "openai"?'),
        (["openai", "--script", "nowhere.yaml"], "nowhere.yaml: cannot be read"),
        (["openai", "--fault", "explode"], 'no fault is named "explode"'),
        (["openai", "--log", "no/such/dir/log"], "cannot be written"),
    ],
)
def test_the_command_says_what_is_wrong(words: list[str], sentence: str) -> None:
    done = _command(*words)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_the_command_lists_the_emulators() -> None:
    assert {"openai", "anthropic", "gemini", "template"} <= set(_command("--list").stdout.split())


def test_the_command_serves_each_on_its_own_port_and_logs(tmp_path: Path) -> None:
    log, script = tmp_path / "log.jsonl", tmp_path / "script.yaml"
    script.write_text("- text: scripted\n")
    words = ["openai", "openrouter", "--port", "0", "--script", str(script), "--log", str(log)]
    command = [sys.executable, "-u", "-m", "dragoman", "emulate", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=dies_with_us()
    ) as serving:
        assert serving.stdout is not None
        lines = [serving.stdout.readline().strip() for _ in range(7)]
        try:
            assert (lines[0], lines[4]) == ("openai", "openrouter")
            assert "curl " in lines[2]
            answer = httpx.post(f"{lines[1]}/chat/completions", json=BODY).json()
            assert answer["choices"][0]["message"]["content"] == "scripted"
            assert httpx.post(f"{lines[5]}/chat/completions", json={"model": "x"}).status_code == 400
        finally:
            serving.terminate()
    logged = [orjson.loads(line) for line in log.read_text().splitlines()]
    assert [(line["provider"], line["verdict"]) for line in logged] == [
        ("openai", "accepted"),
        ("openrouter", "refused"),
    ]


@pytest.mark.parametrize("start", [EmulatorFallback().start, lambda: emulator("openai").__enter__()])
def test_whoever_starts_one_hears_that_no_port_is_free(
    start: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def find_none(*_: object, **__: object) -> None:
        raise OSError("no free port")

    for module in (http_server, background_server):
        monkeypatch.setattr(module, "start", find_none)
    with pytest.raises(OSError, match="no free port"):
        start()
