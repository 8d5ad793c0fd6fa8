"""`credentials: caller`: a provider that is asked with the login of the caller, and where that may not go (K48)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from google import genai
from google.genai import types
from tests.event_streams import stream_message, write_events
from tests.gateway.asking import PLAIN, body
from tests.gateway.running import Running, gateway, provider
from tests.gateway.upstream import Seen, Upstream, refusal, upstream
from websockets.sync.client import connect

from dragoman.config.errors import InvalidConfig
from dragoman.testing import emulator
from dragoman.upstream.transport import outgoing
from dragoman.upstream.transport.address import parse_address

LOGIN = "sk-ant-oat01-Caller-Own-Login-7f3e9b"
KEY = "dm-the-gateways-own-key-0123456789"
GOOD = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "c",
    "content": [{"type": "text", "text": "Good."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 3, "output_tokens": 2},
}
LIMITS = {
    "anthropic-ratelimit-unified-status": "allowed",
    "anthropic-ratelimit-requests-remaining": "7",
    "anthropic-organization-id": "org-1",
}
PLACES = ("authorization", "x-api-key", "x-goog-api-key", "api-key", "x-dragoman-key")


def answer(seen: Seen) -> tuple[int, Any]:
    """Anthropic's API, as far as it is asked here. It quotes the credential if it can."""
    if "count_tokens" in seen.path:
        return 200, {"input_tokens": 41}
    if seen.path.startswith("/v1/models"):
        return 200, {"data": [{"id": "claude-of-this-login", "type": "model", "display_name": "Mine"}]}
    words = seen.body["messages"][-1]["content"]
    quoted = " ".join(seen.headers.get(place, "") for place in PLACES)
    if words == "refuse":
        return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": f"I dislike {quoted}"}}
    if words == "log in":
        return 401, {"type": "error", "error": {"type": "authentication_error", "message": "OAuth token has expired"}}
    if words == "limit":
        return 429, {"type": "error", "error": {"type": "rate_limit_error", "message": "Too many"}}
    if words == "break":
        return 529, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    said = f"You sent {quoted}" if words == "quote" else "Good."
    message = {**GOOD, "content": [{"type": "text", "text": said}]}
    return 200, write_events(stream_message(message)) if seen.body.get("stream") else message


@pytest.fixture(scope="module")
def claude() -> Iterator[Upstream]:
    with upstream(answer) as one:
        one.headers = dict(LIMITS)
        yield one


@pytest.fixture(scope="module")
def other() -> Iterator[Upstream]:
    """Another provider, which is asked with the gateway's own key."""
    with upstream() as one:
        yield one


def config(claude: Upstream, other: Upstream, **more: Any) -> dict[str, Any]:
    own = provider("anthropic", claude.url.removesuffix("/v1"), retries={"attempts": 1})
    del own["api_key"]
    return {
        "providers": {
            "claude": {**own, "credentials": "caller"},
            "other": provider("openai-compatible", other.url),
        },
        "models": {
            "mine": {"target": "claude/claude-sonnet-4-6", "fallbacks": ["other/x"]},
            "theirs": {"target": "other/x"},
            "claude-*": {"target": "claude/claude-*"},
        },
        "store": {"keep_bodies": True},
        **more,
    }


@pytest.fixture(scope="module")
def keyed(claude: Upstream, other: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    keys = {"team": {"sha256": hashlib.sha256(KEY.encode()).hexdigest(), "admin": True}}
    with gateway(config(claude, other, keys=keys), tmp_path_factory.mktemp("keyed")) as one:
        yield one


@pytest.fixture(autouse=True)
def forget(claude: Upstream, other: Upstream) -> None:
    claude.seen.clear()
    other.seen.clear()


def ask(running: Running, words: str, login: str = LOGIN, key: str = KEY, **more: Any) -> httpx.Response:
    asked = {"model": "mine", "max_tokens": 9, "messages": [{"role": "user", "content": words}], **more}
    return running.post("/v1/messages", asked, login, x_dragoman_key=key, anthropic_beta="oauth-2025-04-20")


def test_the_login_goes_to_its_provider_as_it_came_and_the_gateways_key_nowhere(
    keyed: Running, claude: Upstream
) -> None:
    assert ask(keyed, "Hi").status_code == 200
    (seen,) = claude.seen
    assert seen.headers["authorization"] == f"Bearer {LOGIN}"
    assert seen.headers["anthropic-beta"] == "oauth-2025-04-20"
    assert "x-dragoman-key" not in seen.headers
    assert KEY not in str(seen)


def test_real_sdks_of_every_dialect_ask_with_their_own_key(keyed: Running, claude: Upstream) -> None:
    """In its own dialect the header of the client, in another one that of the provider."""
    named = {"x-dragoman-key": KEY}
    own = anthropic.Anthropic(base_url=keyed.url, api_key=LOGIN, max_retries=0, default_headers=named)
    assert own.messages.create(model="mine", max_tokens=9, messages=PLAIN).content[0].type == "text"
    assert own.messages.count_tokens(model="mine", messages=PLAIN).input_tokens == 41
    assert "claude-of-this-login" in [one.id for one in own.models.list()]
    chat = openai.OpenAI(base_url=f"{keyed.url}/v1", api_key=LOGIN, max_retries=0, default_headers=named)
    assert chat.chat.completions.create(model="mine", messages=PLAIN).choices[0].message.content == "Good."
    assert chat.responses.create(model="mine", input="Hi").output_text == "Good."
    options = types.HttpOptions(base_url=keyed.url, headers=named)
    assert genai.Client(api_key=LOGIN, http_options=options).models.generate_content(model="mine", contents="Hi").text
    sent = [{name: one.headers[name] for name in PLACES if name in one.headers} for one in claude.seen]
    assert [LOGIN in str(one) for one in sent] == [True] * 6
    assert sent[3:] == [{"x-api-key": LOGIN}] * 3
    assert KEY not in str(claude.seen)


@pytest.mark.parametrize(
    ("headers", "what"),
    [
        ({"authorization": f"Bearer {KEY}"}, "x-dragoman-key"),
        ({"authorization": f"Bearer {LOGIN}"}, "not known"),
        ({"x-api-key": LOGIN, "x-dragoman-key": "wrong"}, "not known"),
        ({"x-dragoman-key": KEY}, "your own credential"),
        ({"x-dragoman-key": KEY, "authorization": f"Bearer {KEY}"}, "your own credential"),
        ({"x-dragoman-key": KEY, "authorization": "AWS4-HMAC-SHA256 Credential=x"}, "your own credential"),
        ({}, "x-dragoman-key"),
    ],
)
@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions"])
def test_without_both_it_is_401_in_the_clients_form(
    keyed: Running, claude: Upstream, path: str, headers: dict[str, str], what: str
) -> None:
    asked = body("openai-chat" if "chat" in path else "anthropic", "mine")
    refused = keyed.http.post(keyed.url + path, json=asked, headers=headers)
    assert (refused.status_code, claude.seen) == (401, [])
    assert what in refused.json()["error"]["message"]
    assert ("type" in refused.json()) is ("chat" not in path), "Anthropic's envelope has a type"


def test_without_keys_the_login_alone_will_do(claude: Upstream, other: Upstream, tmp_path: Path) -> None:
    with gateway(config(claude, other), tmp_path) as running:
        assert running.post("/v1/messages", body("anthropic", "mine"), LOGIN).status_code == 200
        assert running.http.post(f"{running.url}/v1/messages", json=body("anthropic", "mine")).status_code == 401
    assert [one.headers["authorization"] for one in claude.seen] == [f"Bearer {LOGIN}"]


@pytest.mark.parametrize(("words", "login"), [("break", LOGIN), ("limit", LOGIN)])
def test_after_a_fallback_the_other_provider_never_sees_it(
    keyed: Running, claude: Upstream, other: Upstream, words: str, login: str
) -> None:
    told = ask(keyed, words, login)
    assert told.status_code == 200
    assert LOGIN in str(claude.seen)
    assert len(other.seen) == 1
    assert LOGIN not in str(other.seen)
    assert not [name for name in told.headers if name.startswith("anthropic-ratelimit")], "those of the first account"


def test_a_login_that_has_expired_is_told_to_its_owner(keyed: Running, other: Upstream) -> None:
    """Nobody else is asked: the client renews its login when it hears of it."""
    told = ask(keyed, "log in")
    assert (told.status_code, other.seen) == (401, [])
    assert told.json()["error"]["message"] == "OAuth token has expired"


def test_only_such_a_provider_gets_it(keyed: Running, claude: Upstream, other: Upstream) -> None:
    assert ask(keyed, "Hi", model="theirs").status_code == 200
    assert LOGIN not in str(other.seen)
    assert claude.seen == []


def test_a_route_never_chooses_who_sees_it(keyed: Running, claude: Upstream, other: Upstream) -> None:
    assert ask(keyed, "Hi", model="auto").status_code == 200
    assert (len(claude.seen), len(other.seen)) == (0, 1)


@pytest.mark.parametrize(
    "broken",
    [
        {"providers": {"a": {"profile": "anthropic", "credentials": "caller", "api_key": "k"}}},
        {"models": {"m": {"target": "p/x", "fallbacks": ["a/x"]}}},
        {"models": {"m": {"target": "a/x"}}, "routes": {"r": {"models": ["m"]}}},
    ],
)
def test_a_configuration_that_would_give_it_away_is_refused(tmp_path: Path, broken: dict[str, Any]) -> None:
    providers = {"a": {"profile": "anthropic", "credentials": "caller"}, "p": provider("openai", "http://127.0.0.1:1")}
    with pytest.raises(InvalidConfig, match="caller's credential"):
        Running({"providers": providers, **broken}, tmp_path)


def test_limits_of_the_callers_own_account_are_the_callers(keyed: Running) -> None:
    told = ask(keyed, "Hi")
    assert told.headers["anthropic-ratelimit-unified-status"] == "allowed"
    assert "anthropic-organization-id" not in told.headers
    in_another = keyed.post("/v1/chat/completions", body("openai-chat", "mine"), LOGIN, x_dragoman_key=KEY)
    assert not [name for name in in_another.headers if name.startswith("anthropic-ratelimit")]


@pytest.mark.parametrize("stream", [False, True])
def test_a_limit_that_ends_a_request_is_told_with_them(keyed: Running, stream: bool) -> None:
    """Claude Code reads its own subscription's state there."""
    told = ask(keyed, "limit", model="claude/claude-opus-4-8", stream=stream)
    assert (told.status_code, told.headers["anthropic-ratelimit-unified-status"]) == (429, "allowed")


def test_a_key_of_the_environment_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-operators-own-0123456789")
    place = Running({"providers": {"anthropic": {"credentials": "caller"}}}, tmp_path).services.live.routes.provider(
        "anthropic"
    )
    assert place is not None
    assert (place.keys, place.signed(0)) == ((), ())


def test_the_limit_of_one_caller_pauses_nobody_else(keyed: Running, claude: Upstream) -> None:
    claude.headers["retry-after"] = "30"
    try:
        ask(keyed, "limit")
    finally:
        del claude.headers["retry-after"]
    assert keyed.resting() == {}


@pytest.mark.parametrize("stream", [False, True])
def test_it_is_written_down_nowhere(keyed: Running, claude: Upstream, stream: bool) -> None:
    """Ledger, log, files, console, metrics and the store's own file: also if the provider repeats it."""
    answers = [ask(keyed, words, stream=stream) for words in ("Hi", "quote", "refuse", "log in", "limit")]
    assert "You sent" in answers[1].text
    keyed.do(lambda: keyed.services.store.ledger.flushed(60))
    keyed.services.records.lines.flush()
    pages = [
        keyed.get(path, KEY)
        for path in (
            *(f"/dragoman/requests/{one.headers['x-dragoman-request-id']}/view" for one in answers),
            *("/dragoman/requests", "/dragoman/lessons", "/dragoman/models", "/metrics", "/v1/models"),
        )
    ]
    assert [one.status_code for one in pages] == [200] * 10
    told, shown = [one.text for one in answers], [one.text for one in pages]
    files = [one.read_bytes() for one in keyed.file.parent.rglob("*") if one.is_file()]
    assert keyed.errors.exists()
    written = [keyed.log.getvalue(), *shown, *(one.decode("latin-1") for one in files)]
    assert len(claude.seen) >= 5
    assert not [text[:300] for text in (*told, *written) if LOGIN in text or KEY in text]


def test_no_cache_of_the_transport_holds_it() -> None:
    address = parse_address("http://127.0.0.1:1/v1/messages")
    logins = ("one", "two", "three")
    sent = [outgoing.Outgoing("POST", "", (("a", "b"),), b"{}", (("x-api-key", login),)) for login in logins]
    heads = [outgoing.render_head(sent[0], address)]
    before = outgoing._render_lines.cache_info().currsize
    heads += [outgoing.render_head(one, address) for one in sent[1:]]
    assert [head.count(f"x-api-key: {login}\r\n".encode()) for login, head in zip(logins, heads, strict=True)] == [
        1
    ] * 3
    assert outgoing._render_lines.cache_info().currsize == before
    assert "one" not in repr(sent[0])
    broken = outgoing.Outgoing("POST", "", (), b"", (("x-api-key", "a\r\nb: c"),))
    with pytest.raises(outgoing.Unsendable):
        outgoing.render_head(broken, address)


def test_a_list_names_no_provider_so_a_login_goes_to_the_only_one_that_it_can_be_for(
    keyed: Running, claude: Upstream, other: Upstream
) -> None:
    as_anthropic = {"anthropic-version": "2023-06-01", "x-dragoman-key": KEY}
    listed = keyed.get("/v1/models", LOGIN, **as_anthropic).json()
    assert "claude-of-this-login" in [one["id"] for one in listed["data"]]
    claude.seen.clear()
    keyed.get("/v1/models", LOGIN, **{"x-dragoman-key": KEY})
    assert claude.seen == [], "a client of OpenAI has no login for Anthropic"
    assert LOGIN not in str(other.seen)
    without = keyed.get("/v1/models", KEY, **{"anthropic-version": "2023-06-01"}).json()
    assert "claude-of-this-login" not in str(without), "what one login shows is not kept for others"


def test_over_a_socket_and_in_the_background(tmp_path: Path) -> None:
    with emulator("openai-responses", answers="echo") as gpt, upstream() as seen:
        own = {"profile": "openai-responses", "base_url": gpt.base_url, "credentials": "caller"}
        keys = {"team": {"sha256": hashlib.sha256(KEY.encode()).hexdigest()}}
        settings = {"providers": {"gpt": own}, "models": {"m": {"target": "gpt/gpt-5.6"}}, "keys": keys}
        with gateway(settings, tmp_path) as running:
            named = {"authorization": f"Bearer {LOGIN}", "x-dragoman-key": KEY, "chatgpt-account-id": "acc-1"}
            with connect(f"{running.url.replace('http', 'ws')}/v1/responses", additional_headers=named) as line:
                line.send(json.dumps({"type": "response.create", "model": "m", "input": "Hi", "stream": True}))
                kinds = [json.loads(line.recv())["type"]]
                while kinds[-1] not in ("response.completed", "error", "response.failed"):
                    kinds.append(json.loads(line.recv())["type"])
                assert kinds[-1] == "response.completed"
            client = openai.OpenAI(
                base_url=f"{running.url}/v1", api_key=LOGIN, max_retries=0, default_headers={"x-dragoman-key": KEY}
            )
            job = client.responses.create(model="m", input="Hi", background=True)
            while job.status in ("queued", "in_progress"):
                job = client.responses.retrieve(job.id)
            assert job.status == "completed"
        asked = [one for one in gpt.requests if one.path.endswith("/responses")]
        assert [one.headers["authorization"] for one in asked] == ["***"] * len(asked)
        assert asked[0].headers["chatgpt-account-id"] == "acc-1"
        assert "x-dragoman-key" not in asked[0].headers
        files = [one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()]
        assert not [True for one in files if LOGIN.encode() in one or KEY.encode() in one]
        assert seen.seen == []


def test_embeddings_are_passed_on_with_it(tmp_path: Path) -> None:
    def embed(seen: Seen) -> tuple[int, Any]:
        return 400, refusal(f"You sent {seen.headers['authorization']}")

    with upstream(embed) as one:
        own = {"profile": "openai-compatible", "base_url": one.url, "credentials": "caller"}
        with gateway({"providers": {"p": own}, "models": {"m": {"target": "p/x"}}}, tmp_path) as running:
            told = running.post("/v1/embeddings", {"model": "m", "input": "a"}, LOGIN)
        assert one.seen[0].headers["authorization"] == f"Bearer {LOGIN}"
        assert LOGIN not in told.text + running.log.getvalue()
