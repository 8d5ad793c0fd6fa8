"""Who may ask for what, what is never let out, and what strangers cannot make the gateway do (K20, Q30)."""

from __future__ import annotations

import base64
import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.gateway.asking import PATHS, body, path
from tests.gateway.running import Running, gateway, provider, wait_for
from tests.gateway.upstream import Answer, Seen, Upstream, refusal

from dragoman.gateway.http import inbound
from dragoman.testing import emulator

SECRET = "sk-provider-secret-0123456789abcdef"
PATH = "/v1/chat/completions"
DIALECTS = tuple(PATHS)


def hashed(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


KEYS: dict[str, dict[str, Any]] = {
    "boss": {"admin": True},
    "ann": {},
    "bob": {},
    "narrow": {"allowed_models": ["cheap", "fast-*"]},
    "lister": {"allowed_endpoints": ["/v1/models"]},
    "prometheus": {"allowed_endpoints": ["/metrics"]},
    "old": {"expires": "2020-01-01"},
    "young": {"expires": "2120-01-01"},
    "few": {"requests_per_minute": 2},
    "short": {"tokens_per_minute": 60},
    "one": {"concurrent": 1},
}


@pytest.fixture(scope="module")
def running(behind: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    config = {
        "providers": {"p": provider("openai-compatible-lenient", behind.url, api_key=SECRET)},
        "models": {name: {"target": f"p/{name}-model"} for name in ("cheap", "dear", "fast-1")}
        | {"secret-model": {"target": "p/s", "hidden": True}}
        | {"guarded": {"target": "p/g", "max_loss": "nothing"}}
        | {"doubtful": {"target": "p/d", "facts": {"unknown_fields": "unknown"}}},
        "keys": {name: {"sha256": hashed(name), **more} for name, more in KEYS.items()},
        "server": {"max_body": 4096},
    }
    with gateway(config, tmp_path_factory.mktemp("security")) as one:
        yield one


@pytest.fixture(autouse=True)
def good(behind: Upstream) -> None:
    behind.answer = lambda seen: None
    behind.headers = {}


def ask(running: Running, key: str, model: str = "cheap", **fields: Any) -> httpx.Response:
    return running.post(PATH, {"model": model, "messages": [{"role": "user", "content": "Hi"}], **fields}, key=key)


@pytest.mark.parametrize(
    "headers",
    [{"authorization": "Bearer ann"}, {"authorization": "bearer ann"}, {"x-api-key": "ann"}, {"x-goog-api-key": "ann"}],
)
def test_a_key_is_found_wherever_an_sdk_puts_it(running: Running, headers: dict[str, str]) -> None:
    for dialect in DIALECTS:
        answered = httpx.post(running.url + path(dialect, "cheap"), json=body(dialect, "cheap"), headers=headers)
        assert answered.status_code == 200


def test_a_key_in_the_query(running: Running) -> None:
    for dialect in DIALECTS:
        url = running.url + path(dialect, "cheap") + "?key=ann&beta=true"
        assert httpx.post(url, json=body(dialect, "cheap")).status_code == 200


@pytest.mark.parametrize(
    ("page", "status"),
    [({}, 200), ({"sec-fetch-site": "same-origin"}, 200), ({"sec-fetch-site": "cross-site"}, 401)],
    ids=["no page", "our own page", "a page of elsewhere"],
)
def test_C44_a_key_as_the_password_of_basic_counts_unless_a_foreign_page_sends_it(
    running: Running, page: dict[str, str], status: int
) -> None:
    done = running.http.get(f"{running.url}/v1/models", auth=("anyone", "ann"), headers=page)
    assert done.status_code == status


@pytest.mark.parametrize("words", ["Basic", "Basic !!!", "Basic bm9jb2xvbg==", "Basic /////w==", "basic Ojo="])
def test_C44_other_passwords_are_refused(running: Running, words: str) -> None:
    assert running.http.get(f"{running.url}/v1/models", headers={"authorization": words}).status_code == 401


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("key", ["", "nobody", "Ann", hashed("ann"), "old", "\u00e4"])
def test_other_keys_are_refused(running: Running, behind: Upstream, dialect: str, key: str) -> None:
    before = len(behind.seen)
    headers = {"x-api-key": key.encode("latin-1")} if key else {}
    refused = httpx.post(running.url + path(dialect, "cheap"), json=body(dialect, "cheap"), headers=headers)
    assert refused.status_code == 401
    assert "error" in refused.json()
    assert refused.headers["x-dragoman-request-id"].startswith("req_")
    assert len(behind.seen) == before


def test_a_key_that_expires_later_is_good(running: Running) -> None:
    assert ask(running, "young").status_code == 200


@pytest.mark.parametrize("model", ["dear", "no-such-model", "secret-model", "p/cheap-model"])
def test_access_is_decided_before_existence(running: Running, model: str) -> None:
    refused = ask(running, "narrow", model)
    assert refused.status_code == 403
    assert refused.json()["error"]["message"] == f'the key may not use "{model}"; GET /v1/models lists what it may use'


def test_allowed_models_may_be_globs_and_bound_the_list(running: Running) -> None:
    assert ask(running, "narrow", "cheap").status_code == 200
    assert ask(running, "narrow", "fast-1").status_code == 200
    listed = running.get("/v1/models", key="narrow").json()["data"]
    assert [model["id"] for model in listed] == ["cheap", "fast-1"]
    assert "secret-model" not in running.get("/v1/models", key="ann").text
    assert running.get("/v1/models/dear", key="narrow").status_code == 403
    dry = running.post("/dragoman/adapt", {"request": {"messages": []}, "to": "dear"}, key="narrow")
    assert dry.status_code == 403


def test_allowed_endpoints(running: Running) -> None:
    assert running.get("/v1/models", key="lister").status_code == 200
    assert running.get("/models", key="lister").status_code == 200
    assert ask(running, "lister").status_code == 403
    assert running.post("/v1/messages", body("anthropic", "cheap"), key="lister").status_code == 403


def test_requests_per_minute(running: Running) -> None:
    statuses = [ask(running, "few") for _ in range(3)]
    assert [one.status_code for one in statuses] == [200, 200, 429]
    assert 0 < int(statuses[-1].headers["retry-after"]) <= 60
    assert running.post("/v1/embeddings", {"model": "cheap", "input": "x"}, key="few").status_code == 429


def test_tokens_per_minute(running: Running) -> None:
    assert ask(running, "short").status_code == 200
    wait_for(lambda: ask(running, "short", messages=[{"role": "user", "content": "x" * 200}]).status_code == 429)


def test_requests_at_a_time(running: Running, behind: Upstream) -> None:
    refused = threading.Event()

    def slow(seen: Seen) -> Answer | None:
        refused.wait(60)
        return None

    behind.answer = slow
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(ask, running, "one")
        wait_for(lambda: running.services.traffic.by_caller.get("one") == 1)
        second = ask(running, "one")
        assert second.status_code == 429
        assert second.headers["retry-after"] == "1"
        refused.set()
        assert first.result().status_code == 200
    assert ask(running, "one").status_code == 200


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_key_that_stands_twice_is_refused(running: Running, behind: Upstream, dialect: str) -> None:
    before = len(behind.seen)
    plain = json.dumps(body(dialect, "cheap")).encode()
    name = b'"contents":[],' if dialect == "gemini" else b'"model":"dear",'
    refused = running.post(path(dialect, "cheap"), b"{" + name + plain[1:], key="narrow")
    assert refused.status_code == 400
    assert "twice" in refused.text or "duplicate" in refused.text.lower()
    assert len(behind.seen) == before


LOSING = {"model": "cheap", "max_tokens": 9, "top_k": 3, "messages": [{"role": "user", "content": "Hi"}]}
"""Chat has no `top_k`: leaving it out loses metadata."""


@pytest.mark.parametrize(
    ("key", "model", "loss", "status"),
    [
        ("ann", "cheap", "metadata", 200),
        ("ann", "cheap", "nothing", 422),
        ("ann", "guarded", "content", 422),  # an ordinary key cannot allow more than the configuration does
        ("boss", "guarded", "content", 200),
        ("boss", "cheap", "nothing", 422),
        ("ann", "cheap", "no-such-loss", 400),
        ("boss", "cheap", "no-such-loss", 400),
    ],
)
def test_request_headers_only_tighten_for_ordinary_keys(
    running: Running, key: str, model: str, loss: str, status: int
) -> None:
    asked = {**LOSING, "model": model}
    assert running.post("/v1/messages", asked, key=key, x_dragoman_max_loss=loss).status_code == status


@pytest.mark.parametrize(("doubt", "status"), [("careful", 200), ("faithful", 200), ("carefree", 400)])
def test_care_can_be_asked_for(running: Running, behind: Upstream, doubt: str, status: int) -> None:
    asked = {"model": "doubtful", "messages": [{"role": "user", "content": "Hi", "mood": "good"}]}
    assert running.post(PATH, asked, key="ann", x_dragoman_doubt=doubt).status_code == status
    if status == 200:
        assert ("mood" in behind.seen[-1].body["messages"][0]) is (doubt == "faithful")


def test_reports_are_for_their_owner(running: Running) -> None:
    identity = ask(running, "ann").headers["x-dragoman-request-id"]
    for key, status in (("ann", 200), ("bob", 404), ("boss", 200)):
        assert running.get(f"/dragoman/requests/{identity}", key=key).status_code == status
    assert running.get("/dragoman/requests/req_none", key="ann").status_code == 404


def test_metrics_and_health_are_for_those_who_may_look(running: Running) -> None:
    for key, status in (("ann", 403), ("boss", 200), ("prometheus", 200), ("lister", 403), ("nobody", 401)):
        assert running.get("/metrics", key=key).status_code == status
    assert "lessons" in running.get("/health", key="boss").json()
    for key in ("ann", "nobody"):
        assert set(running.get("/health", key=key).json()) == {"status", "uptime"}


def test_E17_only_the_providers_key_goes_upstream(running: Running, behind: Upstream) -> None:
    for headers in ({"authorization": "Bearer ann"}, {"x-api-key": "ann"}, {"x-goog-api-key": "ann"}):
        sent = {**headers, "cookie": "session=1", "x-forwarded-for": "1.2.3.4", "anthropic-beta": "x", "x-custom": "y"}
        httpx.post(running.url + PATH + "?key=ann", json=body("openai-chat", "cheap"), headers=sent)
        seen = behind.seen[-1]
        assert seen.headers["authorization"] == f"Bearer {SECRET}"
        assert not {"x-api-key", "x-goog-api-key", "cookie", "x-forwarded-for", "x-custom"} & set(seen.headers)
        assert "ann" not in str(sorted(seen.headers.values()))
        assert "key=" not in seen.path


def test_upstream_headers_are_never_copied(running: Running, behind: Upstream) -> None:
    behind.headers = {"set-cookie": "a=b", "x-internal": "secret", "server": "theirs", "x-ratelimit-limit": "1"}
    answered = ask(running, "ann")
    assert not {"set-cookie", "x-internal", "x-ratelimit-limit"} & set(answered.headers)


def test_E17_a_providers_key_is_in_no_answer_log_report_or_file(running: Running, behind: Upstream) -> None:
    behind.answer = lambda seen: (401, refusal(f"Incorrect API key provided: {SECRET}. You can find it at example.com"))
    told = [running.post(path(dialect, "cheap"), body(dialect, "cheap"), key="ann") for dialect in DIALECTS]
    told.append(running.post("/v1/embeddings", {"model": "cheap", "input": "x"}, key="ann"))
    reports = [running.get(f"/dragoman/requests/{one.headers['x-dragoman-request-id']}", key="ann") for one in told]
    running.services.records.lines.flush()
    running.services.records.failures.flush()
    everything = [one.text + str(one.headers) for one in (*told, *reports)]
    everything += [running.log.getvalue(), running.errors.read_text()]
    everything.append(running.get("/metrics", key="boss").text + running.get("/health", key="boss").text)
    assert all(one.status_code == 401 for one in told)
    assert all("Incorrect API key provided" in one.text for one in told)
    assert not [text for text in everything if SECRET in text]


STREAMED = {"gemini": "/v1beta/models/cheap:streamGenerateContent?alt=sse"}
"""Where the path says that a stream is wanted."""


def sse(*chunks: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_E17_a_key_repeated_in_the_middle_of_a_stream_is_taken_out(
    running: Running, behind: Upstream, dialect: str
) -> None:
    """Relayed to a Chat client, translated for the others. To Gemini clients the newest part waits for the next one."""
    said = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    text = said | {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Begun"}, "finish_reason": None}]}
    failed = {"error": {"message": f"key {SECRET} was revoked while it ran", "type": "server_error", "code": 500}}
    told_late = sse(failed)
    at = told_late.index(SECRET.encode()) + 5  # cut within the key
    behind.answer = lambda seen: (200, (sse(text), sse(text), told_late[:at], told_late[at:]))
    with running.http.stream(
        "POST",
        running.url + STREAMED.get(dialect, path(dialect, "cheap")),
        json=body(dialect, "cheap") | ({"stream": True} if dialect not in STREAMED else {}),
        headers={"authorization": "Bearer ann"},
    ) as answer:
        told = answer.read().decode()
    assert "Begun" in told
    assert "key [REDACTED] was revoked while it ran" in told
    running.services.records.lines.flush()
    running.services.records.failures.flush()
    report = running.get(f"/dragoman/requests/{answer.headers['x-dragoman-request-id']}", key="ann")
    everything = told + report.text + running.log.getvalue() + running.errors.read_text()
    assert SECRET not in everything


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", ["code", "param", "type", "status", "details", "metadata", "other"])
def test_E17_a_key_in_any_field_of_an_error_is_taken_out(
    running: Running, behind: Upstream, dialect: str, name: str
) -> None:
    values: dict[str, Any] = {"details": [{"reason": SECRET}], "metadata": {"provider_name": SECRET, "raw": SECRET}}
    behind.answer = lambda seen: (400, refusal("Not so.", **{name: values.get(name, SECRET)}))
    told = running.post(path(dialect, "cheap"), body(dialect, "cheap"), key="ann")
    report = running.get(f"/dragoman/requests/{told.headers['x-dragoman-request-id']}", key="ann")
    running.services.records.lines.flush()
    running.services.records.failures.flush()
    everything = told.text + str(told.headers) + report.text + running.log.getvalue() + running.errors.read_text()
    assert told.status_code == 400
    assert SECRET not in everything


@pytest.mark.parametrize("dialect", DIALECTS)
def test_E17_a_key_that_a_proxy_tells_of_its_own_is_taken_out_of_an_error(
    running: Running, behind: Upstream, dialect: str
) -> None:
    """Nobody configured it. It is known by its form, in the message and in the provider's own words alike."""
    foreign = "sk-proxy1234567890abcdef"
    behind.answer = lambda seen: (401, refusal(f"no such key: {foreign}"))
    told = running.post(path(dialect, "cheap"), body(dialect, "cheap"), key="ann")
    assert "no such key: [REDACTED]" in told.text
    assert foreign not in told.text


def said(text: str, stream: bool) -> Any:
    part = {"role": "assistant", "content": text}
    head = {"id": "c", "created": 1, "model": "m"}
    if not stream:
        choice = {"index": 0, "message": part, "finish_reason": "stop"}
        return {**head, "object": "chat.completion", "choices": [choice]}
    chunks = [{"index": 0, "delta": part, "finish_reason": None}, {"index": 0, "delta": {}, "finish_reason": "stop"}]
    told = [{**head, "object": "chat.completion.chunk", "choices": [chunk]} for chunk in chunks]
    return (sse(*told) + b"data: [DONE]\n\n",)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_E17_a_key_in_the_text_of_an_answer_is_taken_out(
    running: Running, behind: Upstream, dialect: str, stream: bool
) -> None:
    behind.answer = lambda seen: (200, said(f"You sent {SECRET} to me", stream))
    where = STREAMED.get(dialect, path(dialect, "cheap")) if stream else path(dialect, "cheap")
    asked = body(dialect, "cheap") | ({"stream": True} if stream and dialect not in STREAMED else {})
    told = running.post(where, asked, key="ann")
    assert told.status_code == 200
    assert "You sent [REDACTED] to me" in told.text
    assert SECRET not in told.text


NASTY = ["p/a\r\nx-evil: 1", "p/a\nb", "p/../../admin", "p/x?y=1", "p/x#y", "p/a b", "p/%2e%2e/x", "p/", "p//x", "p/é"]


@pytest.mark.parametrize("name", NASTY)
def test_no_model_name_leads_elsewhere(running: Running, behind: Upstream, name: str) -> None:
    before = len(behind.seen)
    refused = ask(running, "ann", name)
    assert refused.status_code == 404
    assert "x-evil" not in refused.headers
    assert len(behind.seen) == before
    running.services.records.lines.flush()
    for line in running.log.getvalue().splitlines():
        json.loads(line)


@pytest.mark.parametrize("key", ["ann", "boss"])
def test_a_very_long_name_is_written_down_in_part(running: Running, key: str) -> None:
    refused = ask(running, key, "nobody/" + "x" * 3000)
    assert refused.status_code == 400
    assert len(refused.content) < 500
    running.services.records.lines.flush()
    assert max(map(len, running.log.getvalue().splitlines()[-5:])) < 1500


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_name_of_a_model_is_sent_on_or_told_back_at_any_length(
    running: Running, behind: Upstream, dialect: str
) -> None:
    """The provider takes any name, so only its length is against this one."""
    before, name = len(behind.seen), "p/" + "x" * 3000
    refused = running.post(path(dialect, name), body(dialect, name), key="ann")
    assert refused.status_code == 400
    assert "3002 characters" in refused.text
    assert max(len(value) for value in refused.headers.values()) < 200
    assert len(behind.seen) == before
    long = "p/" + "x" * 500
    assert running.post(path(dialect, long), body(dialect, long), key="ann").status_code == 200


@pytest.mark.parametrize(
    "where", ["/v1/../v1/chat/completions", "//v1/chat/completions", "/v1/chat/completions/..", "/V1/models"]
)
def test_odd_paths_lead_nowhere(running: Running, where: str) -> None:
    head = "host: x\r\nauthorization: Bearer ann\r\nconnection: close\r\ncontent-length: 2"
    request = f"POST {where} HTTP/1.1\r\n{head}\r\n\r\n{{}}"
    assert talk(running, request.encode()).startswith(b"HTTP/1.1 404")


SMUGGLED = b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"content-length: 2\r\ncontent-length: 30\r\n",
        b"content-length: 2\r\ntransfer-encoding: chunked\r\n",
        b"transfer-encoding: chunked, identity\r\n",
        b"content-length: -1\r\n",
        b"content-length: 2 2\r\n",
        b"bad name: x\r\n",
    ],
)
def test_smuggled_requests_are_refused(running: Running, behind: Upstream, head: bytes) -> None:
    before = len(behind.seen)
    told = talk(running, b"POST " + PATH.encode() + b" HTTP/1.1\r\nhost: x\r\n" + head + b"\r\n{}" + SMUGGLED)
    assert b" 200 " not in told
    assert len(behind.seen) == before


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_body_that_is_too_large(running: Running, dialect: str) -> None:
    large = json.dumps(body(dialect, "cheap", padding="x" * 5000)).encode()
    refused = running.post(path(dialect, "cheap"), large, key="ann")
    assert refused.status_code == 413
    assert "4096" in refused.text


def test_a_body_that_grows_too_large_on_the_way(running: Running) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(8):
            yield b"x" * 1000

    refused = httpx.post(running.url + PATH, content=pieces(), headers={"authorization": "Bearer ann"})
    assert refused.status_code == 413


@pytest.mark.parametrize("sent", [b"", b'{"model": "cheap",'], ids=["nothing", "a part"])
def test_a_body_that_does_not_come(running: Running, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    monkeypatch.setattr(inbound, "GRACE_SECONDS", 0.2)
    head = f"POST {PATH} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ann\r\ncontent-length: 200"
    told = talk(running, head.encode() + b"\r\n\r\n" + sent)
    assert told.startswith(b"HTTP/1.1 408")
    assert b"\r\nconnection: close\r\n" in told
    assert b"x-dragoman-request-id" in told


@pytest.mark.parametrize("raw", [b"", b"null", b"[]", b"{", b'{"model":1}', b"\xff\xfe", b'{"messages":' + b"[" * 4000])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_body_breaks_the_gateway(running: Running, dialect: str, raw: bytes) -> None:
    refused = running.post(path(dialect, "cheap"), raw, key="ann")
    assert 400 <= refused.status_code < 500
    assert "error" in refused.json()


def talk(running: Running, sent: bytes) -> bytes:
    """Bytes on a socket, and what comes back until the gateway closes."""
    host, _, port = running.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=60) as line:
        line.sendall(sent)
        received = b""
        while piece := line.recv(65536):
            received += piece
        return received


# --- images by URL

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture(scope="module")
def images() -> Iterator[tuple[str, list[str]]]:
    """A web server on this machine that has one image."""
    import threading
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            moved = self.path == "/moved.png"
            self.send_response(302 if moved else 200)
            if moved:
                self.send_header("location", "/cat.png")
            self.send_header("content-type", "image/png")
            self.send_header("content-length", str(len(PNG)))
            self.end_headers()
            self.wfile.write(PNG)

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()


def with_image(running: Running, url: str) -> httpx.Response:
    parts = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]
    return running.post(PATH, {"model": "m", "messages": [{"role": "user", "content": parts}]})


@pytest.mark.parametrize("allowed", [False, True])
def test_an_image_by_url_reaches_no_private_address(
    images: tuple[str, list[str]], tmp_path: Path, allowed: bool
) -> None:
    root, asked = images
    asked.clear()
    with ExitStack() as stack:
        judge = stack.enter_context(emulator("openai"))
        inline_only = {"media": {"image": {"inline": "accepts", "url": "refuses"}}}
        config = {
            "providers": {"p": provider("openai", judge.base_url, facts=inline_only)},
            "models": {"m": {"target": "p/gpt-4o"}},
            "media": {"allow": ["127.0.0.0/8"] if allowed else [], "timeout": 2},
        }
        running = stack.enter_context(gateway(config, tmp_path))
        answered = with_image(running, f"{root}/cat.png")
        assert answered.status_code == 200
        assert bool(asked) is allowed
        sent = json.dumps(judge.requests[-1].body)
        assert ("data:image/png;base64," in sent) is allowed
        assert ("[image: " in sent) is not allowed
        with_image(running, f"{root}/moved.png")
        assert asked.count("/cat.png") == int(allowed), "a redirect was followed"
        if not allowed:
            port = root.rpartition(":")[2]
            for host in (
                "localhost",
                "127.1",
                "[::1]",
                "[::ffff:127.0.0.1]",
                "169.254.169.254",
                "0.0.0.0",
                "2130706433",
            ):
                assert with_image(running, f"http://{host}:{port}/cat.png").status_code == 200
            for url in ("file:///etc/passwd", "ftp://127.0.0.1/x", "http:///x", "http://[", "gopher://127.0.0.1"):
                assert with_image(running, url).status_code in (200, 400)
            assert asked == []
