"""The console's endpoints: who may ask, what they show of a request, and how the configuration is changed by them."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from tests.gateway.running import Running, gateway, provider
from tests.gateway.serving import CLIENT as HTTP

from dragoman.config.client_keys import sha256_of
from dragoman.config.example import example as example_file
from dragoman.conversation.dialect_names import DIALECT_NAMES
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.gateway.callers.console_sessions import SETUP, end_session, make_session, session_name
from dragoman.gateway.console.body_marks import BodyMark, MarkKind, differences, without_place
from dragoman.gateway.console.kept_secrets import with_secrets, without_secrets
from dragoman.gateway.console.static_files import static_files
from dragoman.gateway.records.recent_exchanges import MOST, MOST_NOTED_BYTES, OF_VALUE, RecentExchanges
from dragoman.store.ledger_entry import Entry
from dragoman.testing import emulator

ADMIN, CLIENT = "dm-admin-0123456789", "dm-client-0123456789"
BROWSER = {"accept": "text/html,application/xhtml+xml"}
LATE = [
    {"role": "user", "content": "Hi"},
    {"role": "assistant", "content": "Hello", "done": True},
    {"role": "system", "content": "Answer in French."},
    {"role": "user", "content": "Well?"},
]


@pytest.fixture(scope="module")
def emulators() -> Iterator[dict[str, Any]]:
    with ExitStack() as stack:
        yield {name: stack.enter_context(emulator(name)) for name in ("anthropic", "gemini")}


def config_for(emulators: dict[str, Any], **more: Any) -> dict[str, Any]:
    providers = {name: provider(name, one.base_url) for name, one in emulators.items()}
    providers["down"] = provider("openai", "http://127.0.0.1:9")
    models = {
        "claude": {"target": "anthropic/claude-sonnet-4-5"},
        "gem": {"target": "gemini/gemini-2.5-flash"},
        "steady": {"target": "down/gpt-4o", "fallbacks": ["anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro"]},
    }
    return {"providers": providers, "models": models, **more}


@pytest.fixture(scope="module")
def running(emulators: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with gateway(config_for(emulators), tmp_path_factory.mktemp("open")) as one:
        yield one


@pytest.fixture
def keyed(emulators: dict[str, Any], tmp_path: Path) -> Iterator[Running]:
    keys = {
        "boss": {"sha256": sha256_of(ADMIN), "admin": True},
        "app": {"sha256": sha256_of(CLIENT), "budget": {"day": 5}},
    }
    with gateway(config_for(emulators, keys=keys), tmp_path) as one:
        yield one


def chat(running: Running, model: str, messages: Any = LATE, key: str = "any", **more: Any) -> str:
    answer = running.post("/v1/chat/completions", {"model": model, "messages": messages, **more}, key)
    return str(answer.headers["x-dragoman-request-id"])


def view(running: Running, request_id: str, key: str = "any") -> Any:
    answer = running.get(f"/dragoman/requests/{request_id}/view", key)
    assert answer.status_code == 200, answer.text
    return answer.json()


# The page.


def test_a_browser_gets_the_page_and_a_policy_that_allows_only_its_own_files(running: Running) -> None:
    page = HTTP.get(running.url, headers=BROWSER)
    assert page.headers["content-type"].startswith("text/html")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(named) >= 4
    for path in named:
        answer = HTTP.get(f"{running.url}/{path}")
        assert answer.status_code == 200, path
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert HTTP.get(f"{running.url}/{path}", headers={"if-none-match": answer.headers["etag"]}).status_code == 304


def test_the_page_has_no_script_of_its_own_and_writes_no_html() -> None:
    """Everything from outside is text. `innerHTML` and its kin would make it more."""
    files = {name: file.content.decode() for name, file in static_files().items()}
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|style=", files["index.html"])
    scripts = {name: text for name, text in files.items() if name.endswith(".js")}
    assert len(scripts) > 10
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function|https?://(?!www\.w3)"
    )
    named = {name: forbidden.findall(text) for name, text in scripts.items() if name != "examples.js"}
    assert {name: found for name, found in named.items() if found} == {}
    imported = {one for text in scripts.values() for one in re.findall(r'"\./([\w.]+)"', text)}
    assert imported <= files.keys()


@pytest.mark.parametrize("path", ["/dragoman", "/dragoman/", "/admin/config", "/admin/config/"])
def test_the_page_has_one_address(running: Running, path: str) -> None:
    answer = HTTP.get(running.url + path, follow_redirects=True, headers=BROWSER)
    assert answer.url.path == "/"
    assert answer.url.fragment == ("/config" if "config" in path else "")
    assert "<title>Dragoman</title>" in answer.text


@pytest.mark.parametrize("path", ["/dragoman/console/nothing.js", "/dragoman/console/../app.py", "/dragoman/nothing"])
def test_nothing_else_is_served(running: Running, path: str) -> None:
    assert HTTP.get(running.url + path).status_code == 404


# One request.


def test_a_request_is_shown_with_both_bodies_and_every_change_where_it_happened(running: Running) -> None:
    shown = view(running, chat(running, "gem"))
    assert shown["kept"] == "memory"
    assert json.loads(shown["client"]["text"])["messages"] == LATE
    sent = json.loads(shown["upstream"]["text"])
    rules = {one["rule"]: one for one in shown["report"]["rules"]}
    late = rules["late-system"]
    assert late["because"][0]["says"]
    assert late["because"][0]["fact"] == "system_place"
    assert [(one["at"], one["loses"]) for one in shown["report"]["changes"] if one["rule"] == "late-system"] == [
        ("/messages/2", "authority")
    ]
    (mark,) = late["marks"]
    place: Any = sent
    for step in mark["at"].split("/")[1:]:
        place = place[int(step)] if isinstance(place, list) else place[step]
    assert "[System] Answer in French." in json.dumps(place)
    assert "Well?" not in json.dumps(place)
    assert rules["stray-field"]["loses"] == "metadata"


def test_sends_are_shown_with_their_times_and_what_the_provider_said(running: Running) -> None:
    shown = view(running, chat(running, "steady"))
    sends = shown["sends"]
    assert [one["target"] for one in sends] == ["down/gpt-4o"] * 3 + ["anthropic/claude-sonnet-4-5"]
    assert [bool(one["kind"]) for one in sends] == [True, True, True, False]
    assert "cannot be reached" in sends[0]["message"]
    assert sends[0]["waited"] > 0
    times = [time for one in sends for time in (one["begins"], one["ends"])]
    assert times == sorted(times)
    assert json.loads(sends[0]["body"])["model"] == "gpt-4o"


def test_a_stream_is_shown_as_the_client_got_it(running: Running) -> None:
    body = {"model": "claude", "stream": True, "messages": LATE}
    answer = running.post("/v1/chat/completions", body)
    shown = view(running, answer.headers["x-dragoman-request-id"])
    assert shown["answer"]["text"] == answer.text
    assert shown["entry"]["stream"] is True


def test_samples_repeat_the_request(running: Running) -> None:
    shown = view(running, chat(running, "claude"))
    samples = shown["samples"]
    assert samples["curl"].startswith(f"curl {running.url}/v1/chat/completions")
    compile(samples["python"], "sample", "exec")
    space: dict[str, Any] = {}
    exec(compile(samples["test"], "test", "exec"), space)
    space["test_request"]()
    assert shown["resend"] == {"path": "/v1/chat/completions", "model_in_body": True}


def test_a_request_that_was_never_sent_is_shown_too(running: Running) -> None:
    shown = view(running, chat(running, "nobody"))
    assert shown["entry"]["status"] == 404
    assert shown["sends"] == []
    assert shown["upstream"]["text"] is None


def test_only_so_many_bodies_are_in_memory(running: Running) -> None:
    first = chat(running, "nobody")
    for _ in range(MOST):
        chat(running, "nobody")
    shown = view(running, first)
    assert shown["kept"] == ""
    assert "no longer in memory" in shown["note"]


def test_with_keys_bodies_are_not_kept_unless_the_configuration_says_so(keyed: Running) -> None:
    shown = view(keyed, chat(keyed, "gem", key=CLIENT), ADMIN)
    assert shown["client"]["text"] is None
    assert "keep_bodies" in shown["note"]
    assert {one["rule"] for one in shown["report"]["rules"]} >= {"late-system", "stray-field"}


def test_bodies_of_the_store_are_shown_with_marks(emulators: dict[str, Any], tmp_path: Path) -> None:
    keys = {"boss": {"sha256": sha256_of(ADMIN), "admin": True}}
    with gateway(config_for(emulators, keys=keys, store={"keep_bodies": True}), tmp_path) as running:
        shown = view(running, chat(running, "gem", key=ADMIN), ADMIN)
    assert shown["kept"] == "store"
    assert json.loads(shown["client"]["text"])["messages"] == LATE
    assert {one["rule"] for one in shown["report"]["rules"] if one["marks"]} == {"late-system"}


# Lists.


def test_rows_name_their_rules_and_are_found_by_them(running: Running) -> None:
    chat(running, "gem")
    found = running.get("/dragoman/requests?rule=late-system&limit=1").json()
    (row,) = found["requests"]
    assert next(iter(row["rules"])) == "late-system"
    assert (row["loses"], row["client_dialect"], row["upstream_dialect"]) == ("authority", "openai-chat", "gemini")
    assert row["ttfb"] > 0
    assert running.get("/dragoman/requests?rule=no-such-rule").json() == {"requests": [], "next": None}
    every = running.get("/dragoman/requests?rule=late-system&limit=1000").json()["requests"]
    paged, after = [], ""
    while after is not None:
        page = running.get(f"/dragoman/requests?rule=late-system&limit=2{after and '&after='}{after}").json()
        paged += page["requests"]
        after = page["next"]
    assert [one["id"] for one in paged] == [one["id"] for one in every]


def test_new_requests_are_told_as_they_come(running: Running) -> None:
    with HTTP.stream("GET", f"{running.url}/dragoman/live", timeout=120) as live:
        lines = live.iter_lines()
        assert next(lines) == "retry: 2000"
        expected = chat(running, "claude")
        told = next(line for line in lines if line.startswith("data: "))
    assert [row["id"] for row in json.loads(told[6:])["requests"]] == [expected]


def test_models_show_targets_times_and_totals(running: Running) -> None:
    chat(running, "steady")
    shown = running.get("/dragoman/models").json()
    models = {one["name"]: one for one in shown["models"]}
    assert models["steady"]["targets"] == ["down/gpt-4o", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro"]
    assert models["claude"]["totals"]["requests"] > 0
    assert models["claude"]["price"]["output"] > 0


def test_a_target_that_a_fallback_saves_is_failing(running: Running) -> None:
    chat(running, "steady")
    models = {one["name"]: one for one in running.get("/dragoman/models").json()["models"]}
    first, saviour = models["steady"]["failures"], models["claude"]
    assert (first["sends"] > 0, first["over"], first["kind"]) == (True, False, "network")
    assert (saviour["failures"], saviour["totals"]["requests"] > 0) == (None, True)
    assert models["gemini/gemini-2.5-pro"]["targets"] == ["gemini/gemini-2.5-pro"]


def test_a_request_of_many_small_values_weighs_more_than_its_text(running: Running) -> None:
    """What is kept of it is counted by what it takes in memory."""
    weights = []
    for message in ({"x": "y" * 40_000}, {f"field {number}": 0 for number in range(2_500)}):
        found = chat(running, "claude", [{"role": "user", "content": "Hi", **message}])
        exchange = running.services.records.recent.find(found)
        assert exchange is not None
        weights.append(exchange.weight)
    assert weights[1] - weights[0] > 2_000 * OF_VALUE


def test_the_reports_that_watchers_may_be_behind_are_bounded() -> None:
    recent = RecentExchanges(False)
    long = b"x" * (MOST_NOTED_BYTES // 4)
    for number in range(40):
        recent.note(Entry(id=str(number), time=0.0, changes=long))
    assert [entry.id for entry in recent.since(0)] == ["36", "37", "38", "39"]


def test_only_failures_of_the_target_speak_against_it() -> None:
    recent = RecentExchanges(False)
    recent.note_failure("a/b", Failure(FailureKind.BAD_REQUEST, "no such field", 400), "no such field")
    assert recent.failures == {}
    recent.note_failure("a/b", Failure(FailureKind.AUTH, "wrong key", 401), "wrong key")
    assert not recent.failures["a/b"].over
    recent.note(Entry(id="r", time=1.0, target="c/d", status=200))
    assert not recent.failures["a/b"].over
    recent.note(Entry(id="s", time=1.0, target="a/b", status=200))
    assert recent.failures["a/b"].over


# Without sending.


def test_targets_are_compared_without_asking_them(running: Running, emulators: dict[str, Any]) -> None:
    asked = sum(len(one.requests) for one in emulators.values())
    body = {"request": json.dumps({"messages": LATE}), "targets": ["claude", "gem", "mistral/any", "nobody"]}
    shown = running.post("/dragoman/dry-runs", body).json()
    assert shown["source"] == "openai-chat"
    claude, gem, mistral, nobody = shown["runs"]
    assert [one["configured"] for one in shown["runs"]] == [True, True, False, False]
    assert claude["judged"]["status"] == gem["judged"]["status"] == mistral["judged"]["status"] == 200
    assert gem["report"]["loses"] == "authority"
    assert json.loads(gem["body"])["contents"]
    assert "nobody" in nobody["refused"]["message"]
    assert sum(len(one.requests) for one in emulators.values()) == asked


@pytest.mark.parametrize("request_", ["", "{", "[]", '{"messages": 1}', '{"messages": [], "messages": []}'])
def test_half_a_request_is_an_error_and_no_crash(running: Running, request_: str) -> None:
    answer = running.post("/dragoman/dry-runs", {"request": request_, "targets": ["claude"]})
    assert answer.json()["refused"] or answer.json()["runs"][0]["refused"]


def test_the_table_of_patterns_agrees_with_the_emulators(running: Running) -> None:
    shown = running.get("/dragoman/compatibility?targets=claude,gem,mistral/mistral-large-latest").json()
    assert len(shown["rows"]) > 15
    cells = [(pattern, cell) for (pattern, _), row in zip(shown["rows"], shown["cells"], strict=True) for cell in row]
    assert {cell["verdict"] for _, cell in cells} >= {"as-is", "repaired"}
    refused = [
        (pattern, cell["repaired"]) for pattern, cell in cells if cell["repaired"] and cell["repaired"]["status"] >= 400
    ]
    assert refused == []
    proved = [cell for _, cell in cells if cell["unrepaired"] and cell["unrepaired"]["status"] >= 400]
    assert len(proved) >= 5, "the emulators refuse what is repaired"
    late = dict(zip([pattern for pattern, _ in shown["rows"]], shown["cells"], strict=True))[
        "A system message in the middle"
    ]
    assert late[1]["report"]["rules"][0]["because"][0]["says"]
    unknown = running.get("/dragoman/compatibility?targets=nobody").json()
    assert {cell["verdict"] for (cell,) in unknown["cells"]} == {"refused"}


# Who may look.

ADMIN_ONLY = [
    ("GET", "/dragoman/live"),
    ("POST", "/dragoman/dry-runs"),
    ("GET", "/dragoman/compatibility"),
    ("GET", "/dragoman/models"),
    ("GET", "/dragoman/keys"),
    ("POST", "/dragoman/keys"),
    ("PUT", "/dragoman/keys"),
    ("DELETE", "/dragoman/keys"),
    ("GET", "/dragoman/config"),
    ("PUT", "/dragoman/config"),
    ("POST", "/dragoman/config/check"),
    ("POST", "/dragoman/config/undo"),
    ("GET", "/dragoman/requests/req_1/view"),
]


def test_everything_is_for_admins(keyed: Running) -> None:
    for method, path in ADMIN_ONLY:
        for key, status in ((CLIENT, 403), ("wrong", 401), ("", 401)):
            headers = {"authorization": f"Bearer {key}"} if key else {}
            answer = HTTP.request(method, keyed.url + path, headers=headers, json={} if method != "GET" else None)
            assert answer.status_code == status, (method, path, key)
    session = HTTP.get(f"{keyed.url}/dragoman/session").json()
    assert (session["keys"], session["admin"], session["providers"]) == (True, False, [])
    assert list(session["dialects"]) == list(DIALECT_NAMES)


@contextmanager
def sign_in(running: Running, **wanted: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=running.url, timeout=20, verify=False) as client:
        answer = client.post("/dragoman/session", json=wanted)
        assert answer.status_code == 200, answer.text
        cookie = answer.headers["set-cookie"]
        assert all(flag in cookie for flag in ("HttpOnly", "SameSite=Strict", "Path=/"))
        yield client


def test_an_admin_key_signs_in_and_its_session_ends_with_it(keyed: Running) -> None:
    with sign_in(keyed, key=ADMIN) as browser:
        assert browser.get("/dragoman/models").status_code == 200
        body = {"model": "claude", "messages": LATE}
        assert browser.post("/v1/chat/completions", json=body).status_code == 200
        for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "same-site"}, {"origin": "null"}):
            assert browser.get("/dragoman/models", headers=headers).status_code == 401, headers
            assert browser.post("/v1/chat/completions", json=body, headers=headers).status_code == 401, headers
        config = yaml.safe_load(keyed.file.read_text())
        del config["keys"]["boss"]
        keyed.write(config)
        keyed.do(keyed.services.live.reload_now)
        assert browser.get("/dragoman/models").status_code == 401
    for wrong in ({"key": CLIENT}, {"key": "x"}, {"token": "x"}, {}):
        assert HTTP.post(f"{keyed.url}/dragoman/session", json=wrong).status_code == 401


def test_a_session_ends_when_its_browser_signs_out(keyed: Running) -> None:
    with sign_in(keyed, key=ADMIN) as browser, sign_in(keyed, key=ADMIN) as other:
        kept = {"cookie": f"dragoman_session={browser.cookies['dragoman_session']}"}
        assert HTTP.get(f"{keyed.url}/dragoman/models", headers=kept).status_code == 200
        assert browser.delete("/dragoman/session").status_code == 200
        assert HTTP.get(f"{keyed.url}/dragoman/models", headers=kept).status_code == 401
        assert other.get("/dragoman/models").status_code == 200


def test_workers_know_who_signed_out() -> None:
    session = make_session(SETUP, None, time.time())
    if not (child := os.fork()):
        end_session(f"dragoman_session={session}", {})
        os._exit(0)
    os.waitpid(child, 0)
    assert session_name(session, {}, time.time()) is None


def test_a_session_cannot_be_made_up() -> None:
    good = make_session(SETUP, None, 1000.0)
    assert session_name(good, {}, 1001.0) == SETUP
    assert session_name(good, {}, 1000.0 + 13 * 3600) is None
    content, _, signature = good.rpartition(".")
    later = content.replace(content.split(".")[1], "99999999999")
    for bad in (
        "",
        ".",
        "..",
        "a.b.c",
        f"{later}.{signature}",
        content + ".",
        good[:-1],
        good + "0",
        "é.1.x",
        "x" * 9000,
    ):
        assert session_name(bad, {}, 1001.0) is None, bad


def test_pages_of_elsewhere_change_nothing(running: Running) -> None:
    for headers in ({"origin": "http://localhost:3000"}, {"sec-fetch-site": "cross-site"}):
        answer = running.post("/dragoman/dry-runs", {"request": "{}", "targets": []}, **headers)
        assert answer.status_code == 403


# Configuration and keys.


def test_without_a_key_or_the_token_the_configuration_is_shown_without_secrets(running: Running) -> None:
    shown = running.get("/dragoman/config").json()
    assert not shown["editable"]
    assert "pk-anthropic" not in json.dumps(shown)
    text = running.file.read_text()
    for method, path in (("PUT", "/dragoman/config"), ("POST", "/dragoman/config/check"), ("POST", "/dragoman/keys")):
        body = {"text": "x"} if "config" in path else {"name": "x", "admin": True}
        assert HTTP.request(method, running.url + path, json=body).status_code == 403
    assert running.file.read_text() == text


def test_the_token_of_the_setup_is_good_for_once(emulators: dict[str, Any], tmp_path: Path) -> None:
    with gateway(config_for(emulators), tmp_path) as running:
        running.services.live.setup_token = "once-only"
        with sign_in(running, token="once-only") as browser:
            again = HTTP.post(f"{running.url}/dragoman/session", json={"token": "once-only"})
            assert again.status_code == 401
            shown = browser.get("/dragoman/config").json()
            assert shown["editable"]
            assert shown["text"] == without_secrets(running.file.read_text())
            refused = browser.post("/dragoman/keys", json={"name": "app"})
            assert "first key must be an admin" in refused.json()["error"]["message"]
            key = browser.post("/dragoman/keys", json={"name": "boss", "admin": True}).json()["key"]
            assert browser.get("/dragoman/models").status_code == 401, "now there are keys"
            assert running.get("/dragoman/models", key).status_code == 200
            assert sha256_of(key) in running.file.read_text()
            assert not running.services.records.recent.keeps


def test_C44_a_configuration_is_checked_saved_and_taken_back(keyed: Running) -> None:
    with sign_in(keyed, key=ADMIN) as browser:
        before, saved = browser.get("/dragoman/config").json(), keyed.file.read_text()
        text = before["text"]
        bad = browser.post("/dragoman/config/check", json={"text": text + "modles: {}\n"}).json()
        (problem,) = bad["problems"]
        assert problem["line"] == len(text.splitlines()) + 1
        assert "models" in problem["message"]
        without_keys = yaml.safe_dump({"log": {"level": "error"}})
        assert not browser.post("/dragoman/config/check", json={"text": without_keys}).json()["valid"]
        added = text + "default_model: claude\n"
        assert "+default_model: claude" in browser.post("/dragoman/config/check", json={"text": added}).json()["diff"]
        unknown = browser.put("/dragoman/config", json={"text": added})
        assert (unknown.status_code, "digest is missing" in unknown.text) == (400, True)
        stale = browser.put("/dragoman/config", json={"text": added, "digest": "other"})
        assert stale.status_code == 409
        for refused in (text + "modles: {}\n", "", without_keys):
            answer = browser.put("/dragoman/config", json={"text": refused, "digest": before["digest"]})
            assert answer.status_code == 422
        assert keyed.file.read_text() == saved
        assert browser.put("/dragoman/config", json={"text": added, "digest": before["digest"]}).status_code == 200
        assert keyed.file.read_text() == saved + "default_model: claude\n"
        assert keyed.services.live.config.default_model == "claude"
        assert browser.get("/dragoman/config").json()["can_undo"]
        assert browser.post("/dragoman/config/undo", json={}).status_code == 200
        assert keyed.file.read_text() == saved
        assert keyed.services.live.config.default_model is None


PLAIN_KEY, POOLED_KEY, OLD_KEY = "sk-plain-0123456789", "sk-pool-0123456789", "sk-old-0123456789"
SECRETS = f"""\
providers:
  plain: {{profile: openai, api_key: {PLAIN_KEY}}}  # api_key: {OLD_KEY}
  pooled:
    profile: openai
    api_keys: ["{POOLED_KEY}", "${{SECOND}}"]
    headers: {{authorization: "Bearer {PLAIN_KEY}", x-team: blue}}
"""


def test_no_answer_of_the_configuration_has_a_key_of_a_provider(keyed: Running) -> None:
    config = yaml.safe_load(keyed.file.read_text())
    text = SECRETS + yaml.safe_dump({"keys": config["keys"], "log": config["log"]})
    keyed.file.write_text(text)
    with sign_in(keyed, key=ADMIN) as browser:
        shown = browser.get("/dragoman/config")
        edited = shown.json()["text"].replace("x-team: blue", "x-team: green")
        checked = browser.post("/dragoman/config/check", json={"text": edited})
        foreign = edited.replace("kept secret 1:", "kept secret 9:")
        refused = browser.post("/dragoman/config/check", json={"text": foreign})
        saved = browser.put("/dragoman/config", json={"text": edited, "digest": shown.json()["digest"]})
        keyed.file.write_text(text + "x: [")
        broken = browser.get("/dragoman/config")
    for answer in (shown, checked, refused, saved, broken):
        assert answer.status_code == 200, answer.text
        for secret in (PLAIN_KEY, POOLED_KEY, OLD_KEY):
            assert secret not in answer.text
    assert "${SECOND}" in edited
    assert checked.json()["valid"]
    assert "stands for no secret" in refused.json()["problems"][0]["message"]
    assert (keyed.file.parent / "dragoman.yaml.before").read_text() == text
    assert keyed.services.live.config.providers["pooled"].fixed_headers()["x-team"] == "green"
    assert not broken.json()["editable"]


@given(st.text(st.sampled_from("abc: #-[]{}\"'&*\n${}<>\\"), max_size=60))
@example("api_key: &a [*a]")
@example("a: &k {x: sk-1}\napi_key: *k\n")
@example("api_key: 'it''s'  # password = x\napi_keys:\n- sk-1\n- |\n  sk-2\n")
def test_a_text_without_secrets_gets_them_back(tail: str) -> None:
    text = f"api_key: sk-0123456789abcdef\n{tail}\n# api_key: sk-0123456789abcdef"
    hidden = without_secrets(text)
    assert with_secrets(hidden, text, "x") == text
    assert hidden.count("sk-0123456789abcdef") <= (0 if _is_yaml(text) else 1)


def test_a_word_for_no_key_is_no_secret() -> None:
    text = "api_key: local  # api_key: none\n"
    assert without_secrets(text) == text


def test_the_example_has_no_secrets() -> None:
    assert without_secrets(example_file()) == example_file()
    beside = '# headers: {"X-Api-Key": "${KEY}", "Authorization": "Bearer sk-0123456789abcdef"}'
    assert "sk-0123456789abcdef" not in without_secrets(beside)


def _is_yaml(text: str) -> bool:
    try:
        yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError):
        return False
    return True


def test_keys_are_listed_changed_and_revoked(keyed: Running) -> None:
    with sign_in(keyed, key=ADMIN) as browser:
        shown = {one["name"]: one for one in browser.get("/dragoman/keys").json()["keys"]}
        assert shown["app"]["budgets"] == [{"period": "day", "spent": 0.0, "limit": 5.0}]
        assert sha256_of(CLIENT) not in browser.get("/dragoman/keys").text
        wanted = {"name": "app", "allowed_models": ["gem"], "requests_per_minute": 7, "month": 20}
        assert browser.put("/dragoman/keys", json=wanted).status_code == 200
        assert keyed.services.live.config.keys["app"].requests_per_minute == 7
        assert keyed.services.live.config.keys["app"].sha256 == sha256_of(CLIENT)
        assert keyed.post("/v1/chat/completions", {"model": "claude", "messages": LATE}, CLIENT).status_code == 403
        assert browser.delete("/dragoman/keys?name=boss").status_code == 400
        assert browser.delete("/dragoman/keys?name=nobody").status_code == 422
        assert browser.delete("/dragoman/keys?name=app").status_code == 200
        assert keyed.get("/v1/models", CLIENT).status_code == 401


# Marks.


@pytest.mark.parametrize(
    ("before", "after", "marks"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": 2}, [("/a", "changed")]),
        ({"a": 1}, {"a": True}, [("/a", "changed")]),
        ({}, {"a/b~c": 1}, [("/a~1b~0c", "added")]),
        ({"a": {"b": 1}}, {"a": {}}, [("/a", "removed")]),
        ([1, 2, 3], [0, 1, 2, 3], [("/0", "added")]),
        ([1, 2, 3], [1, 3], [("", "removed")]),
        ([{"x": 1}, {"y": 2}], [{"x": 1}, {"y": 3}], [("/1/y", "changed")]),
        ([0] * 500, [0] * 501, [("", "changed")]),
    ],
)
def test_differences_are_found_where_they_are(before: Any, after: Any, marks: list[tuple[str, str]]) -> None:
    assert list(differences(before, after, "")) == [BodyMark(at, MarkKind(kind)) for at, kind in marks]


def test_a_place_is_left_out_and_nothing_else() -> None:
    request = {"a": [1, {"b/c": 2, "d": 3}], "e": 4}
    assert without_place(request, "/a/1/b~1c") == {"a": [1, {"d": 3}], "e": 4}
    assert without_place(request, "/a/0") == {"a": [{"b/c": 2, "d": 3}], "e": 4}
    assert request == {"a": [1, {"b/c": 2, "d": 3}], "e": 4}
