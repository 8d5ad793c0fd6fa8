"""Every path, spelled in every way, in the shape each SDK reads; reports, dry runs, metrics, relays (Q20, Q26)."""

from __future__ import annotations

import gzip
import json
import re
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.genai import types
from starlette.applications import Starlette
from starlette.routing import Mount
from tests.event_streams import read_events
from tests.gateway.asking import PATHS, PLAIN, body, path
from tests.gateway.running import Running, ask_and_leave, gateway, provider, wait_for
from tests.gateway.upstream import Answer, Seen, Upstream, refusal, upstream

from dragoman.config.secret import EMULATOR_KEY
from dragoman.gateway.app import Gateway
from dragoman.testing import emulator

MODELS = {
    "claude": {"target": "anthropic/claude-sonnet-4-5", "description": "Claude, the helpful"},
    "gem": {"target": "gemini/gemini-2.5-flash", "context_window": 1000},
    "gpt": {"target": "openai/gpt-4o"},
    "team/gpt": {"target": "openai/gpt-4o"},
    "shy": {"target": "openai/gpt-4o", "hidden": True},
    "vectors": {"target": "fake/text-embedding-9"},
    "counted": {"target": "counting/gpt-4o", "hidden": True},
    "toy": {"target": "toys/gpt-4o", "hidden": True},
}


@pytest.fixture(scope="module")
def emulators() -> Iterator[dict[str, Any]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(emulator(name, answers="echo")) for name in ("anthropic", "gemini", "openai")}


@pytest.fixture(scope="module")
def running(behind: Upstream, emulators: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    providers = {name: provider(name, one.base_url) for name, one in emulators.items()}
    providers["fake"] = provider("openai-compatible-lenient", behind.url)
    providers["counting"] = {**provider("openai", emulators["openai"].base_url), "usage": "ask"}
    providers["toys"] = {**provider("openai", emulators["openai"].base_url), "api_key": EMULATOR_KEY.reveal()}
    config = {"providers": providers, "models": MODELS, "default_model": "gpt"}
    with gateway(config, tmp_path_factory.mktemp("endpoints")) as one:
        yield one


SPELLED = [
    ("openai-chat", "/chat/completions"),
    ("openai-chat", "/v1/chat/completions"),
    ("openai-chat", "/v1/chat/completions/"),
    ("openai-chat", "/v1/chat/completions?beta=true&x=y"),
    ("openai-responses", "/responses"),
    ("openai-responses", "/v1/responses?api-version=1"),
    ("anthropic", "/messages"),
    ("anthropic", "/v1/messages?beta=true"),
    ("gemini", "/models/gem:generateContent"),
    ("gemini", "/v1/models/gem:generateContent"),
    ("gemini", "/v1beta/models/gem:generateContent?key=any"),
    ("gemini", "/v1alpha/models/gem:generateContent"),
    ("gemini", "/v1beta/models/team/gpt:generateContent"),
    ("gemini", "/v1beta/models/openai/gpt-4o:generateContent"),
]


@pytest.mark.parametrize(("dialect", "where"), SPELLED)
def test_paths_are_found_however_they_are_spelled(running: Running, dialect: str, where: str) -> None:
    answered = running.post(where, body(dialect, "gem"))
    assert answered.status_code == 200, answered.text
    assert answered.headers["x-dragoman-request-id"].startswith("req_")
    assert "/" in answered.headers["x-dragoman-model"]


@pytest.mark.parametrize("where", ["/", "/api/hello", "/health", "/ready"])
def test_everybody_may_ask_whether_it_is_there(running: Running, where: str) -> None:
    for method in ("GET", "HEAD"):
        answered = httpx.request(method, running.url + where)
        assert answered.status_code == 200
        assert answered.headers["x-dragoman-request-id"]
        assert bool(answered.content) is (method == "GET")


@pytest.mark.parametrize(
    ("method", "where", "status"),
    [
        ("GET", "/nothing", 404),
        ("POST", "/nothing", 404),
        ("GET", "/v1/chat/completions", 405),
        ("DELETE", "/v1/messages", 405),
        ("POST", "/v1/models", 405),
        ("GET", "/v1/conversations", 405),
        ("PUT", "/v1/responses/resp_1", 405),
        ("DELETE", "/dragoman/requests/req_0", 405),
        ("PUT", "/v1/files", 404),
        ("GET", "/v1beta/models/gem:generateContent", 405),
        ("GET", "/v1beta/models/gemini/gemini-3-pro:countTokens", 405),
        ("DELETE", "/v1beta/models/gem:generateContent", 405),
        ("POST", "/v1beta/models/gem:noSuchMethod", 404),
        ("POST", "/v1beta/models/gem", 404),
        ("GET", "/v1/models/no-such", 404),
    ],
)
def test_other_paths_say_so(running: Running, method: str, where: str, status: int) -> None:
    answered = httpx.request(method, running.url + where)
    assert answered.status_code == status
    assert answered.json()["error"]["message"]
    assert answered.headers["x-dragoman-request-id"]
    assert ("allow" in answered.headers) == (status == 405)


def test_the_name_of_a_model_may_hold_a_colon(running: Running) -> None:
    shown = running.get("/v1beta/models/gemini/gemini-3-pro:tuned")
    assert shown.json()["name"] == "models/gemini/gemini-3-pro:tuned"


@pytest.mark.parametrize(
    ("where", "sent", "model"),
    [
        ("/v1/chat/completions", {"model": "gem", "messages": 5}, "gem"),
        ("/v1/responses", {"model": "gem", "input": "Hello", "previous_response_id": "resp_1"}, "gem"),
        ("/v1beta/models/gem:generateContent", {"contents": 5}, "gem"),
        ("/v1/chat/completions", {"model": "gem", "messages": 5, "user": "x" * 600_000}, "gem"),
        ("/v1/chat/completions", {"model": 5, "messages": 5}, ""),
        ("/v1/chat/completions", ["gem"], ""),
    ],
)
def test_the_ledger_names_the_model_of_a_request_that_cannot_be_read(
    running: Running, where: str, sent: Any, model: str
) -> None:
    answered = running.post(where, sent)
    assert answered.status_code == 400
    id = answered.headers["x-dragoman-request-id"]
    wait_for(lambda: running.get(f"/dragoman/requests/{id}").status_code == 200)
    assert running.get(f"/dragoman/requests/{id}").json()["asked"] == model


@pytest.mark.parametrize(
    ("method", "where", "headers", "told"),
    [
        ("POST", "/v1/nothing", {}, {"type": "invalid_request_error", "code": "unknown_url"}),
        ("GET", "/v1/nothing", {}, {"type": "invalid_request_error", "code": "unknown_url"}),
        ("GET", "/dragoman/requests/req_0", {}, {"code": "unknown_request"}),
        ("GET", "/v1/models/no-such", {}, {"code": "model_not_found"}),
        ("PUT", "/v1/responses", {}, {"type": "invalid_request_error", "code": "method_not_allowed"}),
        ("GET", "/v1/conversations", {}, {"message": "GET is not for /v1/conversations; use POST"}),
        (
            "POST",
            "/v1/responses/resp_1",
            {},
            {"message": "POST is not for /v1/responses/resp_1; use GET, HEAD, DELETE"},
        ),
        ("POST", "/v1/messages/nothing", {"anthropic-version": "2023-06-01"}, {"type": "not_found_error"}),
        ("GET", "/v1/messages", {}, {"type": "invalid_request_error"}),
        ("POST", "/v1beta/models/gem:noSuchMethod", {}, {"status": "NOT_FOUND", "code": 404}),
        ("POST", "/v1beta/nothing", {"x-goog-api-key": "k"}, {"status": "NOT_FOUND", "code": 404}),
    ],
)
def test_nothing_is_found_in_the_clients_own_words(
    running: Running, method: str, where: str, headers: dict[str, str], told: dict[str, Any]
) -> None:
    answered = httpx.request(method, running.url + where, headers=headers)
    assert answered.json()["error"].items() >= told.items()


@pytest.mark.parametrize("where", ["/v1/v1/messages", "/v1beta/v1beta/models/gem:generateContent"])
def test_a_version_that_is_there_twice_is_named(running: Running, where: str) -> None:
    told = httpx.post(running.url + where, json={}).json()["error"]["message"]
    version = where.split("/")[1]
    assert f"it has /{version} twice: leave it out of the client's base URL" in told


PACKED = {
    "gzip": (gzip.compress, 200, ""),
    "x-gzip": (gzip.compress, 200, ""),
    "deflate": (zlib.compress, 200, ""),
    "DEFLATE": (lambda plain: zlib.compress(plain, wbits=-15), 200, ""),
    "deflate, gzip": (lambda plain: gzip.compress(zlib.compress(plain)), 200, ""),
    "identity": (lambda plain: plain, 200, ""),
    "GZIP": (lambda plain: plain, 415, "is not gzip"),
    "Gzip": (lambda plain: gzip.compress(plain)[:-5], 415, "is incomplete"),
    "zstd": (lambda plain: plain, 415, "use gzip, deflate or none"),
    "gzip, br": (gzip.compress, 415, '\\"br\\" is not supported'),
}


@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("encoding", PACKED)
def test_compressed_bodies(running: Running, encoding: str, dialect: str) -> None:
    pack, status, says = PACKED[encoding]
    plain = json.dumps(body(dialect, "gpt")).encode()
    answered = running.post(path(dialect, "gpt"), pack(plain), content_encoding=encoding)
    assert answered.status_code == status
    assert says in answered.text


def test_a_body_that_unpacks_without_end(running: Running) -> None:
    answered = running.post("/v1/messages", gzip.compress(b" " * 100_000_000), content_encoding="gzip")
    assert answered.status_code == 413
    assert "the decompressed body has more than" in answered.json()["error"]["message"]


def test_allowed_methods_are_named(running: Running) -> None:
    assert httpx.get(running.url + "/v1/chat/completions").headers["allow"] == "POST"
    assert httpx.options(running.url + "/v1/models").headers["allow"] == "GET, HEAD"


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://evil.example", 403),
        ("http://127.0.0.1.evil.example:8642", 403),
        ("http://localhost:3000", 200),
        ("http://127.0.0.1:8642", 200),
        ("http://[::1]:8642", 200),
        ("null", 403),
        ("vscode-webview://0a1b", 200),
    ],
)
def test_without_keys_no_strange_web_page_may_ask(running: Running, origin: str, status: int) -> None:
    """A page needs nobody's leave to post plain text to this machine, and the money would be ours."""
    asked = {"model": "gpt", "messages": [{"role": "user", "content": "Hi"}]}
    headers = {"origin": origin, "content-type": "text/plain"}
    answered = httpx.post(running.url + "/v1/chat/completions", content=json.dumps(asked), headers=headers)
    assert answered.status_code == status


def test_model_lists_in_each_shape(running: Running) -> None:
    shown = [*(name for name, model in MODELS.items() if "hidden" not in model), "auto"]
    assert [model.id for model in running.openai().models.list()] == shown
    listed = running.anthropic().models.list()
    assert [model.id for model in listed] == [*shown, *aliases(shown)]
    assert listed.data[0].display_name == "Claude, the helpful"
    assert (listed.data[0].max_input_tokens, listed.data[0].lifecycle) == (200_000, "active")
    google = list(running.gemini().models.list())
    assert [model.name for model in google] == [f"models/{name}" for name in shown]
    assert google[1].input_token_limit == 1000


def test_one_model_in_each_shape(running: Running) -> None:
    assert running.openai().models.retrieve("shy").id == "shy"
    assert running.openai().models.retrieve("team/gpt").id == "team/gpt"
    assert running.anthropic().models.retrieve("claude").display_name == "Claude, the helpful"
    assert running.gemini().models.get(model="gem").name == "models/gem"


def aliases(names: list[str]) -> list[str]:
    """The further names by which a coding agent finds models that it would leave out."""
    return [f"anthropic/via/{name}" for name in names if "claude" not in name]


def test_a_model_answers_to_the_name_under_which_an_agent_finds_it(running: Running) -> None:
    shown = running.anthropic().models.retrieve("anthropic/via/gem")
    assert (shown.id, shown.display_name, shown.max_input_tokens) == ("anthropic/via/gem", "gem", 1000)
    for name in ("anthropic/via/gpt", "anthropic/via/team/gpt", "anthropic/via/openai/gpt-4o"):
        told = running.post("/v1/messages", {**body("anthropic", name), "stream": False})
        assert (told.status_code, told.json()["model"]) == (200, name), told.text
    assert running.post("/v1/messages", body("anthropic", "anthropic/via/auto")).status_code == 200
    assert running.post("/v1/messages", body("anthropic", "anthropic/via/none")).status_code == 404


@pytest.mark.parametrize("model", ["claude", "gpt", "gem"])
def test_tokens_are_counted_or_estimated(running: Running, model: str) -> None:
    counted = running.anthropic().messages.with_raw_response.count_tokens(model=model, messages=PLAIN)
    assert counted.parse().input_tokens > 0
    assert ("x-dragoman-estimate" in counted.headers) is (model == "gpt")
    tokens = running.gemini().models.count_tokens(model=model, contents="Hi").total_tokens
    assert tokens
    asked = running.openai().responses.input_tokens.with_raw_response.count(model=model, input="Hi")
    assert ("x-dragoman-estimate" in asked.headers) is (model == "gpt")
    assert (asked.parse().object, asked.parse().input_tokens) == ("response.input_tokens", tokens)


def test_a_gemini_stream_without_alt_is_a_json_array(running: Running) -> None:
    for model in ("gem", "claude", "gpt"):
        answered = running.post(f"/v1beta/models/{model}:streamGenerateContent", body("gemini", model))
        assert answered.headers["content-type"].startswith("application/json")
        pieces = answered.json()
        assert isinstance(pieces, list)
        text = "".join(part.get("text", "") for one in pieces for part in one["candidates"][0]["content"]["parts"])
        assert text.startswith("received: ")


@pytest.mark.parametrize("dialect", PATHS)
def test_a_request_without_a_model_takes_the_default(running: Running, dialect: str) -> None:
    if dialect == "gemini":
        return
    asked = {name: value for name, value in body(dialect, "").items() if name != "model"}
    answered = running.post(path(dialect, ""), asked)
    assert answered.headers["x-dragoman-model"] == "openai/gpt-4o"


def test_C46_changes_are_told_in_a_header_and_in_full(running: Running) -> None:
    late = [{"role": "system", "content": "Hm."} if n % 2 else {"role": "user", "content": "Hi"} for n in range(7)]
    answered = running.post("/v1/chat/completions", {"model": "gem", "messages": late, "logit_bias": {"1": 1}})
    told = answered.headers["x-dragoman-changes"]
    assert re.fullmatch(r"[a-z-]+;n=\d+(, [a-z-]+;n=\d+)*", told)
    assert told.startswith("late-system;n=3")  # the heaviest first
    assert "x-dragoman-emulated" not in answered.headers
    assert "late-system;n=3" in told
    report = running.get(f"/dragoman/requests/{answered.headers['x-dragoman-request-id']}").json()
    assert len([change for change in report["changes"] if change["rule"] == "late-system"]) == 3
    assert (report["summary"][0]["rule"], report["summary"][0]["count"]) == ("late-system", 3)
    assert report["summary"][0]["where"] == "in 3 messages"
    assert {"rule", "at", "did", "loses"} <= set(report["changes"][0])
    assert (report["asked"], report["target"], report["status"]) == ("gem", "gemini/gemini-2.5-flash", 200)
    assert report["input_tokens"] > 0
    assert report["overhead_us"] > 0


def test_an_error_bears_the_headers_too(running: Running, emulators: dict[str, Any]) -> None:
    emulators["gemini"].script({"fault": "404"})
    refused = running.post("/v1/chat/completions", body("openai-chat", "gem"))
    assert refused.status_code == 404
    assert refused.headers["x-dragoman-model"] == "gemini/gemini-2.5-flash"
    assert running.entry(refused).error_kind == "not-found"


@pytest.mark.parametrize("name", ["adapt", "v1"])
def test_a_dry_run_shows_the_body_that_would_be_sent(running: Running, emulators: dict[str, Any], name: str) -> None:
    before = len(emulators["anthropic"].requests)
    request = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]}
    where = "/dragoman/adapt" if name == "adapt" else "/v1/dragoman/adapt"
    shown = running.post(where, {"request": request, "from": "openai-chat", "to": "claude"}).json()
    assert shown["target"] == "anthropic/claude-sonnet-4-5"
    assert shown["path"] == "/v1/messages"
    assert shown["body"]["system"] == "Be brief."
    assert len(emulators["anthropic"].requests) == before
    assert "pk-anthropic" not in json.dumps(shown)
    sent = httpx.post(
        emulators["anthropic"].url + shown["path"], json=shown["body"], headers={**shown["headers"], "x-api-key": "k"}
    )
    assert sent.status_code == 200


def test_a_dry_run_that_cannot_be(running: Running) -> None:
    assert running.post("/dragoman/adapt", {"nonsense": 1}).status_code == 400
    assert running.post("/dragoman/adapt", {"request": {}, "to": "no-such"}).status_code == 404
    late = {"messages": [{"role": "user", "content": "a"}, {"role": "system", "content": "b"}]}
    refused = running.post("/dragoman/adapt", {"request": late, "to": "gem", "max_loss": "nothing"})
    assert refused.status_code == 422
    assert "late-system" in refused.text


CLAUDE = {"anthropic-version": "2023-06-01"}


@pytest.mark.parametrize(
    ("query", "part", "more"),
    [
        ("", slice(None), False),
        ("?limit=2", slice(2), True),
        ("?limit=2&after_id=gem", slice(2, 4), True),
        ("?limit=1000&after_id=gpt", slice(3, None), False),
        ("?limit=2&before_id=gpt", slice(2), False),
        ("?limit=1&before_id=gpt", slice(1, 2), True),
        ("?limit=1000", slice(None), False),
    ],
)
def test_models_come_in_pages(running: Running, query: str, part: slice, more: bool) -> None:
    names = [one["id"] for one in httpx.get(f"{running.url}/v1/models").json()["data"]]
    assert names[:5] == ["claude", "gem", "gpt", "team/gpt", "vectors"]
    shown = httpx.get(f"{running.url}/v1/models{query}", headers=CLAUDE).json()
    listed = [one["id"] for one in shown["data"]]
    assert (listed, shown["has_more"]) == ([*names, *aliases(names)][part], more)
    assert (shown["first_id"], shown["last_id"]) == (listed[0], listed[-1])
    plain = httpx.get(f"{running.url}/v1/models{query}").json()
    assert [one["id"] for one in plain["data"]] == names[part]
    assert plain.get("has_more") == (more if query else None)


def test_pages_of_gemini_follow_a_token(running: Running) -> None:
    first = running.get("/v1beta/models?pageSize=3").json()
    then = running.get(f"/v1beta/models?pageSize=99&pageToken={first['nextPageToken']}").json()
    assert len(first["models"]) == 3
    assert first["models"] + then["models"] == running.get("/v1beta/models").json()["models"]
    assert "nextPageToken" not in then


@pytest.mark.parametrize("query", ["limit=0", "limit=-1", "limit=x", "limit=9999999999", "after_id=nobody"])
def test_a_page_that_cannot_be_is_refused(running: Running, query: str) -> None:
    assert running.get(f"/v1/models?{query}").status_code == 400


# --- passed on as they are


def test_E16_embeddings_are_passed_on_under_the_providers_name(running: Running, behind: Upstream) -> None:
    vectors = {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}], "model": "m"}
    behind.answer = lambda seen: (200, {**vectors, "usage": {"prompt_tokens": 1, "total_tokens": 1}})
    made = running.openai().embeddings.create(model="vectors", input="Hi", encoding_format="float")
    assert made.data[0].embedding == [0.5, 0.25]
    seen = behind.seen[-1]
    assert (seen.path, seen.body["model"]) == ("/v1/embeddings", "text-embedding-9")
    assert seen.headers["authorization"].startswith("Bearer pk-")


@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/images/generations"])
def test_what_is_passed_on_has_no_emulator(running: Running, path: str) -> None:
    answer = running.post(path, {"model": "toy", "input": "Hi", "prompt": "Hi"})
    assert answer.status_code == 501
    assert "an emulator stands in for toys/gpt-4o, because there is no key" in answer.json()["error"]["message"]


def test_E16_audio_is_passed_on_as_a_form(running: Running, behind: Upstream) -> None:
    behind.answer = lambda seen: (200, {"text": "Hello."})
    heard = running.openai().audio.transcriptions.create(
        model="vectors", file=("a.wav", b"RIFF\r\n\x00\xff", "audio/wav")
    )
    assert heard.text == "Hello."
    seen = behind.seen[-1]
    assert seen.path == "/v1/audio/transcriptions"
    assert b"text-embedding-9" in seen.raw
    assert b"RIFF\r\n\x00\xff" in seen.raw


def test_E16_their_refusals_are_told(running: Running, behind: Upstream) -> None:
    behind.answer = lambda seen: (400, refusal("input is empty"))
    answered = running.post("/v1/embeddings", {"model": "vectors", "input": ""})
    assert answered.status_code == 400
    assert answered.json()["error"]["message"] == "input is empty"
    assert running.entry(answered).target == "fake/text-embedding-9"
    assert running.post("/v1/embeddings", {"model": "no-such", "input": ""}).status_code == 404


def test_a_stream_that_breaks_off_tells_its_target_and_no_address(running: Running, behind: Upstream) -> None:
    behind.answer = lambda seen: (200, gzip.compress(b'data: {"type":"speech.audio.delta"}\n\n' * 9)[:-9])
    behind.headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    try:
        told = running.post("/v1/audio/speech", {"model": "vectors", "input": "Hi", "voice": "a"}).text
    finally:
        behind.headers = {}
    assert told.count("speech.audio.delta") == 9
    assert "fake/text-embedding-9: " in told
    assert "127.0.0.1" not in told


# --- somebody else's application


def test_it_can_be_mounted_under_a_path(tmp_path: Path, emulators: dict[str, Any]) -> None:
    config = {
        "providers": {"openai": provider("openai", emulators["openai"].base_url)},
        "models": {"m": {"target": "openai/gpt-4o"}},
    }
    plain = Running(config, tmp_path)
    plain.app = Starlette(routes=[Mount("/llm", app=Gateway(plain.services))])
    plain.start()
    try:
        answered = plain.post("/llm/v1/chat/completions", body("openai-chat", "m"))
        assert answered.status_code == 200
        assert plain.get("/llm/health").status_code == 200
        assert plain.get("/llm/v1/models").json()["data"][0]["id"] == "m"
        assert plain.post("/v1/chat/completions", body("openai-chat", "m")).status_code == 404
    finally:
        plain._server.end()  # type: ignore[union-attr]


# --- clients that leave


SLOW = {"text": "word " * 4000, "fault": "slow;bytes=200;every=0.02"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dialect", PATHS)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_a_client_that_leaves_frees_everything(
    running: Running, emulators: dict[str, Any], dialect: str, stream: bool
) -> None:
    running.get("/health")
    before = running.tasks()
    emulators["anthropic"].script(SLOW)
    where, asked = path(dialect, "claude"), body(dialect, "claude")
    if stream and dialect == "gemini":
        where = where.replace("generateContent", "streamGenerateContent") + "?alt=sse"
    elif stream:
        asked["stream"] = True
    if stream:
        with httpx.stream("POST", running.url + where, json=asked) as answered:
            assert next(answered.iter_raw())
            assert running.busy() == (1, 1)
    else:
        ask_and_leave(running, where, asked, lambda: running.busy() == (1, 1))
    wait_for(lambda: running.busy() == (0, 0))
    wait_for(lambda: running.tasks() <= before)


def test_a_client_that_left_is_noted(running: Running, emulators: dict[str, Any]) -> None:
    emulators["anthropic"].script(SLOW)
    ask_and_leave(running, "/v1/messages", body("anthropic", "claude"), lambda: running.busy() == (1, 1))
    wait_for(lambda: running.busy() == (0, 0))
    running.services.records.lines.flush()
    last = [json.loads(line) for line in running.log.getvalue().splitlines() if '"event":"request"' in line][-1]
    assert (last["status"], last["error"]) == (499, "network")


@pytest.mark.parametrize(("more", "estimated"), [({}, True), ({"stream_options": {"include_usage": True}}, False)])
def test_tokens_that_nobody_told_are_estimated(running: Running, more: dict[str, Any], estimated: bool) -> None:
    answered = running.post("/v1/chat/completions", body("openai-chat", "gpt", stream=True, **more))
    entry = running.entry(answered)
    assert entry.estimated is estimated
    assert entry.input_tokens > 0
    assert entry.output_tokens > 0


def test_tokens_can_be_asked_for_and_the_client_does_not_see_it(running: Running, emulators: dict[str, Any]) -> None:
    plain = running.post("/v1/chat/completions", body("openai-chat", "gpt", stream=True))
    answered = running.post("/v1/chat/completions", body("openai-chat", "counted", stream=True))
    entry = running.entry(answered)
    assert emulators["openai"].requests[-1].body["stream_options"] == {"include_usage": True}
    assert '"usage":{' not in answered.text
    assert _said(answered.text) == _said(plain.text)
    assert not entry.estimated
    assert entry.output_tokens > 0
    [change] = json.loads(entry.changes)
    assert (change["rule"], change["at"], change["kind"]) == ("usage-asked", "/stream_options", "added")


def test_who_asks_for_usage_gets_it_as_it_came(running: Running) -> None:
    asked = body("openai-chat", "counted", stream=True, stream_options={"include_usage": True})
    answered = running.post("/v1/chat/completions", asked)
    assert '"usage":{' in answered.text
    assert json.loads(running.entry(answered).changes) == []


def _said(stream: str) -> str:
    chunks = read_events(stream)
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gpt", "claude"])
def test_who_leaves_a_stream_is_charged_for_what_was_said(
    running: Running, emulators: dict[str, Any], model: str
) -> None:
    home = emulators["openai" if model == "gpt" else "anthropic"]
    home.fault("slow;bytes=100;every=0.1")
    try:
        asked = body("openai-chat", model, stream=True)
        with running.http.stream("POST", running.url + "/v1/chat/completions", json=asked) as answered:
            heard = answered.iter_raw()
            for _ in range(3):
                next(heard)
        wait_for(lambda: running.busy() == (0, 0))
    finally:
        home.fault(None)
    entry = running.entry(answered)
    assert (entry.status, entry.estimated) == (499, True)
    assert entry.output_tokens >= 2  # the first piece may be the role alone
    assert entry.input_tokens > 0


def test_a_client_that_does_not_read_is_let_go(tmp_path: Path) -> None:
    def endless(seen: Seen) -> Answer | None:
        chunk = {
            "id": "x",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "delta": {"content": "x" * 2000}, "finish_reason": None}],
        }
        return 200, b"".join([b"data: " + json.dumps(chunk).encode() + b"\n\n"] * 6000)

    with upstream(endless) as source:
        config = {
            "providers": {"p": provider("openai-compatible-lenient", source.url)},
            "models": {"m": {"target": "p/x"}},
            "server": {"write_timeout": 0.3},
        }
        with gateway(config, tmp_path) as running, httpx.Client() as client:
            asked = body("openai-chat", "m", stream=True)
            with client.stream("POST", running.url + "/v1/chat/completions", json=asked) as answered:
                assert answered.status_code == 200
                wait_for(lambda: running.busy() == (0, 0))
                time.sleep(0.05)
            running.services.records.lines.flush()
            assert '"status":499' in running.log.getvalue()


def test_the_sdks_can_read_a_gemini_config(running: Running) -> None:
    config = types.GenerateContentConfig(system_instruction="Be brief.", temperature=0.5, max_output_tokens=50)
    told = running.gemini().models.generate_content(model="claude", contents="Hi", config=config)
    assert (told.text or "").startswith("received: system user")
