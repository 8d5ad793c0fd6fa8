"""Forms with files: the model that is allowed is the model that is sent, however the form is written."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.gateway.running import Running, ask_and_leave, gateway, provider, wait_for
from tests.gateway.upstream import Answer, Seen, Upstream, upstream

from dragoman.wire.multipart import form_boundary, parse_form

PATH = "/v1/audio/transcriptions"


@pytest.fixture(scope="module")
def running(behind: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    keys: dict[str, dict[str, Any]] = {"ann": {}, "narrow": {"allowed_models": ["cheap"]}}
    keys |= {"few": {"requests_per_minute": 2}, "one": {"concurrent": 1}}
    config = {
        "providers": {"p": provider("openai-compatible-lenient", behind.url)},
        "models": {name: {"target": f"p/{name}-model"} for name in ("cheap", "dear")},
        "default_model": "cheap",
        "keys": {name: {"sha256": hashlib.sha256(name.encode()).hexdigest(), **more} for name, more in keys.items()},
    }
    with gateway(config, tmp_path_factory.mktemp("forms")) as one:
        yield one


@pytest.fixture(autouse=True)
def good(behind: Upstream) -> None:
    behind.answer = lambda seen: (200, {"text": "Hello."})
    behind.seen.clear()


def field(name: str, content: str) -> bytes:
    return f'content-disposition: form-data; name="{name}"\r\n\r\n{content}\r\n'.encode()


def file(content: bytes, name: bytes = b"file") -> bytes:
    return b'content-disposition: form-data; name="%b"; filename="a.wav"\r\n\r\n%b\r\n' % (name, content)


def form(*parts: bytes, before: bytes = b"", after: bytes = b"") -> bytes:
    return before + b"".join(b"--b\r\n" + part for part in parts) + b"--b--\r\n" + after


DECOY = field("model", "cheap")
DEAR = field("model", "dear")
SOUND = file(b"RIFF")

BYPASSES = {
    "two models": form(DECOY, DEAR, SOUND),
    "two models, the dear one first": form(DEAR, DECOY, SOUND),
    "two models that agree": form(DECOY, DECOY, SOUND),
    "a decoy in the preamble": form(DEAR, SOUND, before=DECOY + b"\r\n"),
    "the dear one in the preamble": form(DECOY, SOUND, before=b"--b \r\n" + DEAR + b"\r\n"),
    "a form after the form": form(DECOY, SOUND, after=form(DEAR)),
    "a file called model": form(DECOY, file(b"dear", b"model")),
    "another case": form(DECOY, field("Model", "dear"), SOUND),
    "a list": form(DECOY, field("model[]", "dear"), SOUND),
    "a space": form(DECOY, field(" model", "dear"), SOUND),
    "a name in two spellings": form(
        DECOY, b"content-disposition: form-data; name=\"x\"; name*=utf-8''model\r\n\r\ndear\r\n", SOUND
    ),
    "a boundary with a line feed": form(DECOY, SOUND).replace(b"--b--", b"--b\n" + DEAR + b"--b--"),
    "line feeds alone": form(DEAR, SOUND).replace(b"\r\n", b"\n"),
}


@pytest.mark.parametrize("body", BYPASSES.values(), ids=BYPASSES)
def test_no_form_gets_a_model_that_its_key_may_not_use(running: Running, behind: Upstream, body: bytes) -> None:
    refused = running.post(PATH, body, key="narrow", content_type="multipart/form-data; boundary=b")
    assert refused.status_code == 400
    assert "form" in refused.json()["error"]["message"]
    assert behind.seen == []


@pytest.mark.parametrize("content", [b"\r\n--b-\r\n" + DEAR, DEAR, b'name="model"\r\n\r\ndear', b"\r\n--c\r\n" + DEAR])
def test_a_decoy_in_a_file_is_part_of_the_file(running: Running, behind: Upstream, content: bytes) -> None:
    body = form(DECOY, file(content))
    answered = running.post(PATH, body, key="narrow", content_type="multipart/form-data; boundary=b")
    if b"--b-" in content:
        assert answered.status_code == 400
        return
    assert answered.status_code == 200
    seen = behind.seen[-1]
    boundary = form_boundary(seen.headers["content-type"])
    assert boundary not in (None, "b"), "the provider could cut the file at the client's boundary"
    sent = {part.name: part.content for part in parse_form(seen.raw, boundary or "")}
    assert sent == {"model": b"cheap-model", "file": content}


def test_a_boundary_for_one_reader_only_reaches_nobody(running: Running, behind: Upstream) -> None:
    body = form(DECOY, file(b"\r\n--other\r\n" + DEAR + b"--other--\r\n"))
    running.post(PATH, body, key="narrow", content_type="multipart/form-data; boundary=b; boundary=other")
    assert not [seen for seen in behind.seen if b"boundary=other" in seen.headers["content-type"].encode()]


@pytest.mark.parametrize(
    "content_type", ["application/x-www-form-urlencoded", "text/plain", "multipart/mixed; boundary=b"]
)
def test_json_is_sent_as_json_whatever_its_type_claims(running: Running, behind: Upstream, content_type: str) -> None:
    answered = running.post(
        "/v1/embeddings", b'{"model":"cheap","input":"&model=dear&"}', key="narrow", content_type=content_type
    )
    assert answered.status_code == 200
    assert behind.seen[-1].headers["content-type"] == "application/json"


def test_the_official_sdk_and_httpx_write_forms_that_are_taken(running: Running, behind: Upstream) -> None:
    sound = b"RIFF\r\n\x00\xff" * 1000
    heard = running.openai("narrow").audio.transcriptions.create(
        model="cheap", file=('ä "q".wav', io.BytesIO(sound), "audio/wav"), timestamp_granularities=["word", "segment"]
    )
    assert heard.text == "Hello."
    seen = behind.seen[-1]
    parts = parse_form(seen.raw, form_boundary(seen.headers["content-type"]) or "")
    assert [part.content for part in parts if part.name == "file"] == [sound]
    assert [part.content for part in parts if part.name == "timestamp_granularities[]"] == [b"word", b"segment"]
    sent = running.http.post(
        running.url + PATH,
        data={"model": "cheap"},
        files={"file": ("a.wav", sound, "audio/wav")},
        headers={"authorization": "Bearer narrow"},
    )
    assert sent.status_code == 200


def test_a_form_may_not_ask_for_another_model(running: Running, behind: Upstream) -> None:
    refused = running.post(PATH, form(DEAR, SOUND), key="narrow", content_type="multipart/form-data; boundary=b")
    assert refused.status_code == 403
    assert running.post(PATH, form(SOUND), key="narrow", content_type="multipart/form-data; boundary=b").is_success
    assert b"\r\n\r\ncheap-model\r\n" in behind.seen[-1].raw


# --- what a dry run costs, and clients that leave

DRY = {"request": {"messages": [{"role": "user", "content": "Hi"}]}, "to": "cheap"}


def test_a_dry_run_counts_against_the_limits(running: Running) -> None:
    statuses = [running.post("/dragoman/adapt", DRY, key="few").status_code for _ in range(3)]
    assert statuses == [200, 200, 429]


def test_a_dry_run_takes_a_place(running: Running, behind: Upstream) -> None:
    running.services.traffic.by_caller["one"] = 1
    try:
        assert running.post("/dragoman/adapt", DRY, key="one").status_code == 429
    finally:
        running.services.traffic.by_caller["one"] = 0
    assert running.post("/dragoman/adapt", DRY, key="one").status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/embeddings", {"model": "cheap", "input": "x"}),
        ("/v1/messages/count_tokens", {"model": "counter", "messages": [{"role": "user", "content": "x"}]}),
    ],
)
def test_a_client_that_leaves_is_noticed(tmp_path_factory: pytest.TempPathFactory, path: str, body: Any) -> None:
    seen_to_leave = threading.Event()

    def slow(seen: Seen) -> Answer | None:
        seen_to_leave.wait(60)
        return 200, {"input_tokens": 3}

    with upstream(slow) as late:
        config = {
            "providers": {
                "p": provider("openai-compatible-lenient", late.url, timeouts={"first_byte": 60}),
                "r": provider("anthropic", late.url.removesuffix("/v1"), timeouts={"first_byte": 60}),
            },
            "models": {"cheap": {"target": "p/m"}, "counter": {"target": "r/claude-sonnet-4-5"}},
        }
        with gateway(config, tmp_path_factory.mktemp("leaving")) as running:
            ask_and_leave(running, path, body, lambda: running.busy() == (1, 1))
            wait_for(lambda: running.busy() == (0, 0))
            seen_to_leave.set()
