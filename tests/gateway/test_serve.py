"""`dragoman serve` as a process: starting or not, reloading, several workers, and an end that loses nothing (K36)."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pty
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console
from tests.child_processes import dies_with_us
from tests.free_ports import free_port
from tests.gateway.running import wait_for
from tests.gateway.serving import CLIENT, DRAGOMAN, TIMEOUT, Served, clean_environment, refused, serving

from dragoman.config.schema.log import Log, LogLevel
from dragoman.emulation.emulator_fallback import MODELS
from dragoman.gateway.http.banner import show_clients
from dragoman.gateway.records.request_log import RequestLog
from dragoman.testing import emulator


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway that was told nothing."""
    with serving(tmp_path_factory.mktemp("alone")) as served:
        yield served


ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "openai-chat": ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}),
    "openai-responses": ("/v1/responses", {"input": "Hi"}),
    "anthropic": ("/v1/messages", {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}),
    "gemini": ("/v1beta/models/{model}:generateContent", {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}),
}


def ask(url: str, dialect: str, model: str, **more: Any) -> httpx.Response:
    path, body = ASKED[dialect]
    named = {} if dialect == "gemini" else {"model": model}
    return CLIENT.post(url + path.format(model=model), json={**body, **named, **more})


def test_with_no_provider_the_emulators_stand_in_and_it_says_so(alone: Served) -> None:
    line = alone.wait("listening")
    assert line["note"] == "no provider configured: using the strict emulators"
    assert line["providers"] == list(MODELS)


def test_the_console_says_that_they_are_no_defaults(alone: Served) -> None:
    text: str = CLIENT.get(f"{alone.url}/dragoman/config").json()["text"]
    lines = [line.rpartition("  # ") for line in text.splitlines()]
    origins = {value.split()[-1].strip('"'): origin for value, _, origin in lines if value}
    addresses = [origin for value, origin in origins.items() if value.startswith("http://127.0.0.1:")]
    assert addresses == ["emulators, since no provider is configured"] * len(MODELS)
    assert origins["anthropic/claude-sonnet-4-6"] == "emulators, since no provider is configured"
    assert next(origin for value, _, origin in lines if value.strip().startswith("port:")) == "--port"


@pytest.mark.parametrize("provider", MODELS)
def test_every_stand_in_answers_every_dialect(alone: Served, provider: str) -> None:
    short = MODELS[provider][0]
    for dialect in ASKED:
        for name in (short, f"{provider}/{short}"):
            answer = ask(alone.url, dialect, name)
            assert answer.status_code == 200, (dialect, answer.text)
            assert answer.headers["x-dragoman-model"] == f"{provider}/{short}"
            assert answer.headers["x-dragoman-emulated"] == "true"


def test_every_short_name_works_and_is_listed(alone: Served) -> None:
    names = [name for models in MODELS.values() for name in models]
    assert len(set(names)) == len(names)
    assert [name for name in names if alone.chat(name).status_code != 200] == []
    listed = {entry["id"] for entry in CLIENT.get(f"{alone.url}/v1/models").json()["data"]}
    assert listed >= set(names)


def test_any_model_of_a_stand_in_works_by_its_long_name(alone: Served) -> None:
    assert alone.chat("gemini/gemini-99-turbo").status_code == 200


def test_a_head_that_never_ends_is_refused(alone: Served) -> None:
    host, port = alone.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=60) as raw:
        raw.sendall(b"GET /health HTTP/1.1\r\n")
        answer = b""
        try:
            for at in range(400):
                raw.sendall(b"x-%d: %b\r\n" % (at, b"y" * 1000))
            answer = raw.recv(1000)
        except OSError:
            pass  # closed before we had said all of it
    assert answer == b"" or answer.startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))
    assert CLIENT.get(f"{alone.url}/health").status_code == 200


def test_a_provider_without_its_key_is_named_at_the_start(tmp_path: Path) -> None:
    config(tmp_path, "providers: {work: {profile: openai, api_key: '${WORK_KEY}'}, mistral: {}, ollama: {}}")
    with serving(tmp_path) as served:
        served.stop()
    assert [line["warning"] for line in served.lines if line["event"] == "config"] == [
        "dragoman.yaml:1: providers.work.api_key uses ${WORK_KEY}, which is not set",
        "providers.mistral has no key: set MISTRAL_API_KEY, or api_key in the file",
    ]


def config(folder: Path, text: str) -> Path:
    path = folder / "dragoman.yaml"
    path.write_text(text)
    return path


REFUSED = [
    (["--host", "0.0.0.0"], "", "there are no keys"),
    (["--host", "no.such.invalid"], "keys: {k: {sha256: '%s'}}" % ("a" * 64), "(choose another with --host)"),
    (["--workers", "2"], "providers: {openai: {api_key: k}}\nstore: {kind: memory}", "Remove store.kind: memory"),
    (["--workers", "2"], "max_loss: content", "one worker only (set a key such as ANTHROPIC_API_KEY, or "),
    ([], "providers: {fast: {profile: gemni}}", 'Did you mean "gemini"?'),
    ([], "modles: {}", "modles is not a known key"),
    (["-c", "dragoman.yaml"], "# nothing\n", "dragoman.yaml: is empty"),
    ([], "{}", "dragoman.yaml: is empty"),
    (["--config", "nothing.yaml"], "", "dragoman init nothing.yaml creates one"),
    ([], "providers: {\n  p: {profile: openai, ca_file: no.pem}}", 'dragoman.yaml:2: providers.p.ca_file is "no.pem"'),
    ([], "providers: [", "dragoman.yaml:1: is not YAML"),
    ([], "server: {port: eighty}", "must be a whole number from 0 to 65535"),
    ([], "models: {a: {target: openai/x}, a: {target: openai/y}}", "is there twice"),
    ([], "store: {path: dragoman.yaml}", "cannot be used as a store"),
    (
        ["--workers", "2"],
        "providers: {p: {profile: openai, api_key: k}}\nstore: {path: dragoman.yaml/s}",
        "cannot be used",
    ),
    ([], "x: " + "y" * 2_000_000, "is larger than 2000000 bytes"),
]


@pytest.mark.sampled(15)
@pytest.mark.parametrize(("arguments", "text", "says"), REFUSED)
def test_it_does_not_start_and_says_why(tmp_path: Path, arguments: list[str], text: str, says: str) -> None:
    if text:
        config(tmp_path, text)
    done = refused(tmp_path, *arguments)
    assert done.returncode == 1
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("host", ["localhost", "127.0.0.2", "::1", "[::1]"])
def test_the_address_that_is_told_can_be_called(tmp_path: Path, host: str) -> None:
    with serving(tmp_path, "--host", host) as served:
        assert CLIENT.get(f"{served.url}/health").status_code == 200


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = refused(tmp_path, "--port", str(port))
    assert done.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "--port" in done.stderr


@pytest.mark.slow
def test_C42_an_env_file_gives_the_key_and_the_command_line_wins(tmp_path: Path) -> None:
    with emulator("openai") as one:
        config(
            tmp_path,
            f"providers: {{openai: {{base_url: '{one.base_url}', api_key: '${{MY_KEY}}'}}}}\nserver: {{port: 1}}\n",
        )
        (tmp_path / "keys.env").write_text("MY_KEY=from-the-file\n")
        with serving(tmp_path, "--env-file", "keys.env") as served:
            assert served.chat("openai/gpt-4o").status_code == 200
            assert served.wait("listening")["note"] == ""
        assert one.requests[-1].headers["authorization"] == "***"


@pytest.mark.slow
def test_D5_a_gateway_of_the_environment_is_found(tmp_path: Path) -> None:
    with emulator("compatible") as one:
        env = clean_environment(LLM_GATEWAY_URL=one.base_url, LLM_GATEWAY_API_KEY="k", LLM_MODEL="some-model")
        with serving(tmp_path, env=env) as served:
            answer = CLIENT.post(
                f"{served.url}/v1/chat/completions", json={"messages": [{"role": "user", "content": "Hi"}]}
            )
            assert answer.status_code == 200, answer.text
            assert answer.headers["x-dragoman-model"] == "gateway/some-model"


@pytest.mark.slow
def test_A24_attribution_reaches_the_provider(tmp_path: Path) -> None:
    with emulator("openrouter") as one:
        config(
            tmp_path,
            f"providers: {{router: {{profile: openrouter, base_url: '{one.base_url}', api_key: k, "
            "attribution: {title: demo, url: 'https://example.com', user_agent: demo/1.0}}}\n",
        )
        with serving(tmp_path) as served:
            assert served.chat("router/google/gemini-2.5-pro").status_code == 200
    sent = one.requests[-1].headers
    assert (sent["x-title"], sent["http-referer"], sent["user-agent"]) == ("demo", "https://example.com", "demo/1.0")


@pytest.mark.slow
def test_C47_a_capture_is_the_ledger_with_bodies(tmp_path: Path) -> None:
    config(tmp_path, "store: {keep_bodies: true}\n")
    with serving(tmp_path) as served:
        for dialect in ASKED:
            identity = ask(served.url, dialect, "deepseek-chat").headers["x-dragoman-request-id"]
            kept = CLIENT.get(f"{served.url}/dragoman/requests/{identity}").json()
            assert kept["client_dialect"] == dialect
            assert "Hi" in json.dumps(kept["request"])
            assert kept["sent"]["messages"][-1]["content"] == "Hi"
            assert "You say: " in json.dumps(kept["answer"])


@pytest.mark.slow
def test_C47_streamed_answers_are_captured_too(tmp_path: Path) -> None:
    config(tmp_path, "store: {keep_bodies: true}\n")
    with serving(tmp_path) as served:
        for model in ("deepseek-chat", "claude-sonnet-4-5"):  # relayed, and translated
            answer = served.chat(model, stream=True)
            identity = answer.headers["x-dragoman-request-id"]
            kept = CLIENT.get(f"{served.url}/dragoman/requests/{identity}").json()
            assert kept["answer"] == answer.text


@pytest.mark.slow
def test_a_start_loads_nothing_that_it_does_not_need() -> None:
    """The first answer comes quickly because these stay on the disk."""
    late = (
        "rich",
        "httpx",
        "httpx2",
        "jinja2",
        "dragoman.emulators.emulator_core",
        "opentelemetry",
        "multiprocessing.pool",
        "websockets",
        "importlib.resources",
    )
    modules = "sys, dragoman.gateway.http.server, dragoman.cli.commands.gateway.serve"
    source = f"import {modules}\nprint([n for n in {late!r} if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_C44_a_file_that_is_not_valid_is_put_right_in_the_console(tmp_path: Path) -> None:
    file = tmp_path / "dragoman.yaml"
    file.write_text("modles: {}\n")
    assert refused(tmp_path).returncode == 1
    with serving(tmp_path, "--setup") as served:
        console = served.wait("listening")["console"]
        root, token = console.split("/#setup=")
        assert root == served.url
        with httpx.Client(base_url=root, verify=False) as browser:
            assert browser.get("/dragoman/config").json()["editable"] is False
            assert browser.post("/dragoman/session", json={"token": token}).status_code == 200
            shown = browser.get("/dragoman/config").json()
            assert [(one["line"], "modles" in one["message"]) for one in shown["problems"]] == [(1, True)]
            good = {"text": "max_loss: content\n", "digest": shown["digest"]}
            assert browser.put("/dragoman/config", json=good).status_code == 200
        assert file.read_text() == "max_loss: content\n"
        assert served.wait("config-reloaded")
        assert served.chat("gpt-4o").status_code == 200


@pytest.mark.slow
def test_a_command_of_the_banner_is_one_line() -> None:
    shown = StringIO()
    show_clients(Console(width=60, file=shown), "http://127.0.0.1:8642", "anthropic/claude-sonnet-4-5")
    assert any("ANTHROPIC_BASE_URL=" in line and line.endswith(" claude") for line in shown.getvalue().splitlines())


def test_people_get_a_banner(tmp_path: Path) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*DRAGOMAN, "serve", "--port", "0"],
        cwd=tmp_path,
        env=clean_environment(COLUMNS="120"),
        stderr=slave,
        preexec_fn=dies_with_us(),
    )
    os.close(slave)
    try:
        seen = ""
        while "genai.Client(" not in seen:
            seen += os.read(master, 65536).decode("utf-8", "replace")
        plain = re.sub(r"\x1b\[[0-9;]*m", "", seen)
        for words in (
            "no provider configured: using the strict emulators",
            "ANTHROPIC_BASE_URL=http://127.0.0.1:",
            'wire_api = "responses"',
            "GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:",
            "none; any key works",
            "/#setup=",
        ):
            assert words in plain
        process.send_signal(signal.SIGINT)
        assert process.wait(TIMEOUT) == 0
    finally:
        process.kill()
        os.close(master)


@pytest.mark.slow
def test_a_hang_up_reloads_and_a_bad_file_is_refused(tmp_path: Path) -> None:
    with emulator("openai") as one:
        provider = f"providers: {{openai: {{base_url: '{one.base_url}', api_key: k}}}}\n"
        path = config(tmp_path, provider + "models: {old: {target: openai/gpt-4o}}\n")
        with serving(tmp_path, "--no-reload") as served:
            assert served.chat("old").status_code == 200
            path.write_text(provider + "models: {new: {target: openai/gpt-4o}}\n")
            served.signal(signal.SIGHUP)
            served.wait("config-reloaded")
            assert served.chat("new").status_code == 200
            assert served.chat("old").status_code == 404
            path.write_text(provider + "modles: {}\n")
            served.signal(signal.SIGHUP)
            assert "modles is not a known key" in served.wait("config-refused")["error"]
            assert served.chat("new").status_code == 200


@pytest.mark.slow
def test_a_changed_file_is_taken_at_once(tmp_path: Path) -> None:
    with emulator("openai") as one:
        provider = f"providers: {{openai: {{base_url: '{one.base_url}', api_key: k}}}}\n"
        path = config(tmp_path, provider)
        with serving(tmp_path) as served:
            path.write_text(provider + "models: {new: {target: openai/gpt-4o}}\n")
            served.wait("config-reloaded")
            assert served.chat("new").status_code == 200


@pytest.mark.slow
def test_the_stand_ins_go_when_a_provider_comes(tmp_path: Path) -> None:
    path = config(tmp_path, "max_loss: content\n")
    with emulator("openai") as one, serving(tmp_path) as served:
        assert served.chat("claude-sonnet-4-5").status_code == 200
        path.write_text("max_loss: authority\n")
        served.wait("config-reloaded")
        assert served.chat("claude-sonnet-4-5").status_code == 200
        heard = len(served.lines)
        path.write_text(f"providers: {{openai: {{base_url: '{one.base_url}', api_key: k}}}}\n")
        served.wait("config-reloaded", after=heard)
        assert served.chat("claude-sonnet-4-5").status_code == 404
        assert served.chat("openai/gpt-4o").status_code == 200


def shared(folder: Path, url: str, grace: float = 10.0) -> Path:
    return config(
        folder,
        f"providers: {{one: {{profile: anthropic, base_url: '{url}', api_key: k}}}}\n"
        "models: {m: {target: one/claude-sonnet-4-5}}\n"
        f"server: {{shutdown_grace: {grace}}}\n",
    )


def workers_of(parent: int) -> set[int]:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return {int(child) for child in children}


def reloads(served: Served) -> int:
    return sum(line.get("event") == "config-reloaded" for line in served.lines)


def two_workers(parent: int, gone: int = 0) -> set[int]:
    deadline = time.monotonic() + 60
    while len(found := workers_of(parent) - {gone}) < 2:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for the workers in /proc")
def test_workers_share_the_port_and_the_dead_are_replaced(tmp_path: Path) -> None:
    with emulator("anthropic") as one:
        shared(tmp_path, one.base_url)
        with serving(tmp_path, "--workers", "2") as served:
            first = two_workers(served.process.pid)
            assert [served.chat("m").status_code for _ in range(8)] == [200] * 8
            wait_for(lambda: entries(tmp_path) == 8, 60)  # what is not written yet dies with a worker that is killed
            os.kill(min(first), signal.SIGKILL)
            two_workers(served.process.pid, gone=min(first))
            told = {"level": "warning", "event": "worker-ended", "pid": min(first), "code": -signal.SIGKILL}
            assert served.wait("worker-ended") == told
            assert [served.chat("m").status_code for _ in range(8)] == [200] * 8
            assert served.stop() == 0
        assert entries(tmp_path) == 16


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for the workers in /proc")
def test_a_worker_that_dies_beside_a_bad_file_is_replaced_with_the_last_good_one(tmp_path: Path) -> None:
    with emulator("anthropic") as one:
        path = shared(tmp_path, one.base_url)
        with serving(tmp_path, "--workers", "2") as served:
            two_workers(served.process.pid)
            path.write_text(path.read_text().replace("models: {m:", "models: {n:"))
            wait_for(lambda: reloads(served) == 2)
            served.signal(signal.SIGHUP)  # the first process reads the file before it tells its workers
            wait_for(lambda: reloads(served) == 4)
            path.write_text("modles: {}\n")
            served.wait("config-refused")
            for gone in workers_of(served.process.pid):
                os.kill(gone, signal.SIGKILL)
                two_workers(served.process.pid, gone=gone)
            assert [served.chat("n").status_code for _ in range(4)] == [200] * 4
            assert served.chat("m").status_code == 404


@pytest.mark.slow
def test_a_reload_does_not_open_what_a_start_would_refuse(tmp_path: Path) -> None:
    key = f"keys: {{ci: {{sha256: '{hashlib.sha256(b'dm-key').hexdigest()}'}}}}\n"
    path = config(tmp_path, "max_loss: content\n" + key)
    with serving(tmp_path, "--host", "0.0.0.0") as served:
        path.write_text("max_loss: content\n")
        assert "has no keys any more" in served.wait("config-refused")["error"]
        assert served.chat("gpt-4o").status_code == 401


@pytest.mark.slow
def test_what_needs_a_new_start_stays_and_is_told(tmp_path: Path) -> None:
    path = config(tmp_path, "server: {max_body: 2048}\n")
    with serving(tmp_path) as served:
        path.write_text("server: {host: 0.0.0.0, workers: 4, max_body: 4096}\nstore: {kind: memory}\n")
        told = " ".join(served.wait("config-reloaded")["warnings"])
        assert "server.host stays 127.0.0.1 until a restart; the file has 0.0.0.0" in told
        assert "server.workers stays 1" in told
        assert "store.kind stays sqlite" in told
        long = [{"role": "user", "content": "x" * 3000}]
        assert served.chat("gpt-4o", messages=long).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "log"),
    [
        ("log.provider_errors", "{provider_errors: {path: dragoman.yaml/errors.jsonl}}"),
        ("log.exchanges", "{provider_errors: {path: null}, exchanges: {folder: dragoman.yaml/exchanges}}"),
    ],
)
def test_what_cannot_be_written_down_is_told(tmp_path: Path, what: str, log: str) -> None:
    config(
        tmp_path,
        "providers: {p: {profile: openai, base_url: 'http://127.0.0.1:1/v1', api_key: k, retries: {attempts: 1}}}\n"
        f"log: {log}\n",
    )
    with serving(tmp_path) as served:
        assert served.chat("p/x").status_code == 502
        told = served.wait("not-written")
        assert (told["what"], told["entries"]) == (what, 1)
        assert "dragoman.yaml" in told["error"]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks for the workers in /proc")
def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    port = free_port()
    config(tmp_path, f"server: {{port: {port}, workers: 2}}\nproviders: {{p: {{profile: openai, api_key: k}}}}\n")

    def answers() -> bool:
        try:
            return CLIENT.get(f"http://127.0.0.1:{port}/health", headers={"connection": "close"}).status_code == 200
        except httpx.TransportError:
            return False

    with Path("/dev/full").open("w") as full:
        process = subprocess.Popen(
            [*DRAGOMAN, "serve"], cwd=tmp_path, env=clean_environment(), stderr=full, preexec_fn=dies_with_us()
        )
    try:
        wait_for(answers)
        for gone in two_workers(process.pid):
            os.kill(gone, signal.SIGKILL)
            two_workers(process.pid, gone=gone)
        wait_for(answers)
        process.terminate()
        assert process.wait(TIMEOUT) == 0
    finally:
        process.kill()
        process.wait()


def test_a_log_that_is_back_begins_anew_and_tells_what_is_missing() -> None:
    stream = FullNow()
    lines = RequestLog(Log(), stream)
    for number in range(4):
        stream.is_full = number in (1, 2)
        lines.add(LogLevel.INFO, {"event": str(number)})
    first, *others = (json.loads(line) for line in stream.getvalue().splitlines() if line)
    assert (first["event"], [line["event"] for line in others]) == ("0", ["not-written", "3"])
    assert (others[0]["what"], others[0]["entries"]) == ("log", 2)


class FullNow(StringIO):
    """A log on a disk that may be full."""

    is_full = False

    def write(self, text: str) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


def fresh(url: str, path: str, body: Any, key: str) -> httpx.Response:
    """A request on a connection of its own, so that any worker may get it."""
    headers = {"authorization": f"Bearer {key}", "connection": "close"}
    return CLIENT.post(url + path, json=body, headers=headers)


CALLED = {"reasoning": "They want the weather.", "calls": [{"name": "weather", "arguments": {"city": "Paris"}}]}
WEATHER = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}


@pytest.mark.slow
def test_the_next_turn_finds_its_state_and_its_limit_on_any_worker(tmp_path: Path) -> None:
    turns, key = 30, "dm-key"
    with emulator("gemini", signatures="strict") as one:
        one.script(*[CALLED, "It rains."] * turns)
        config(
            tmp_path,
            f"providers: {{p: {{profile: gemini, base_url: '{one.base_url}', api_key: k}}}}\n"
            f"keys: {{ci: {{sha256: {hashlib.sha256(key.encode()).hexdigest()}, requests_per_minute: {2 * turns}}}}}\n",
        )
        with serving(tmp_path, "--workers", "3") as served:
            changes = []
            for _ in range(turns):
                history: list[Any] = [{"role": "user", "content": "Is it raining?"}]
                body = {"model": "p/gemini-3-pro-preview", "messages": history, "tools": [WEATHER]}
                called = fresh(served.url, "/v1/chat/completions", body, key).json()["choices"][0]["message"]
                call = {name: called["tool_calls"][0][name] for name in ("id", "type", "function")}
                history += [
                    {"role": "assistant", "content": None, "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": call["id"], "content": "rain"},
                ]
                answer = fresh(served.url, "/v1/chat/completions", body, key)
                assert answer.status_code == 200, answer.text
                changes.append(answer.headers.get("x-dragoman-changes", ""))
            assert [change for change in changes if "missing-signature" in change] == []
            body = {"model": "p/gemini-3-pro-preview", "messages": [{"role": "user", "content": "Hi"}]}
            statuses = [fresh(served.url, "/v1/chat/completions", body, key).status_code for _ in range(6)]
            assert statuses == [429] * 6


def one_provider(url: str, more: str = "") -> str:
    return f"providers: {{p: {{profile: openai, base_url: '{url}', api_key: k}}}}\n{more}"


@pytest.mark.slow
def test_state_is_kept_beside_the_configuration_for_its_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    with emulator("openai") as one:
        path = config(folder, one_provider(one.base_url))
        with serving(tmp_path, "--config", str(path)) as served:
            assert served.wait("listening")["state"] == str(folder / "dragoman.sqlite3")
            identity = served.chat("p/gpt-4o").headers["x-dragoman-request-id"]
        files = {file.name: file.stat().st_mode & 0o777 for file in folder.glob("dragoman.sqlite3*")}
        assert files == {"dragoman.sqlite3": 0o600, "dragoman.sqlite3-lock": 0o600}
        with serving(tmp_path, "--config", str(path)) as served:
            assert CLIENT.get(f"{served.url}/dragoman/requests/{identity}").json()["id"] == identity


@pytest.mark.slow
def test_without_a_configuration_state_is_kept_in_the_users_state_directory(tmp_path: Path) -> None:
    with emulator("compatible") as one:
        more = {"LLM_GATEWAY_URL": one.base_url, "LLM_GATEWAY_API_KEY": "k", "LLM_MODEL": "m"}
        with serving(tmp_path, env=clean_environment(XDG_STATE_HOME=str(tmp_path / "state"), **more)) as served:
            assert served.wait("listening")["state"] == str(tmp_path / "state" / "dragoman" / "dragoman.sqlite3")
            assert served.chat("gateway/m").status_code == 200
    assert (tmp_path / "state" / "dragoman" / "dragoman.sqlite3").exists()


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "store: {kind: memory}\nmax_loss: content\n"])
def test_what_needs_no_file_writes_none(tmp_path: Path, text: str) -> None:
    if text:
        config(tmp_path, text)
    env = clean_environment(XDG_STATE_HOME=str(tmp_path / "state"))
    with serving(tmp_path, env=env) as served:
        assert served.wait("listening")["state"] == "memory"
        assert served.chat("gpt-4o").status_code == 200
    assert list(tmp_path.rglob("*sqlite3*")) == []


@pytest.mark.slow
def test_a_file_that_cannot_be_made_is_warned_of_and_memory_is_used(tmp_path: Path) -> None:
    with emulator("openai") as one:
        config(tmp_path, one_provider(one.base_url))
        (tmp_path / "dragoman.sqlite3").mkdir()
        with serving(tmp_path) as served:
            told = served.wait("store")
            assert (told["level"], served.wait("listening")["state"]) == ("warning", "memory")
            assert told["warning"].startswith(
                f"state is kept in memory only: {tmp_path / 'dragoman.sqlite3'} cannot be"
            )
            identity = served.chat("p/gpt-4o").headers["x-dragoman-request-id"]
            assert CLIENT.get(f"{served.url}/dragoman/requests/{identity}").status_code == 200
        done = refused(tmp_path, "--workers", "2")
        assert "2 workers must share one file" in done.stderr


@pytest.mark.slow
def test_two_gateways_may_share_a_file(tmp_path: Path) -> None:
    with emulator("openai") as one:
        config(tmp_path, one_provider(one.base_url))
        with serving(tmp_path) as first, serving(tmp_path) as second:
            ids = [served.chat("p/gpt-4o").headers["x-dragoman-request-id"] for served in (first, second) * 4]
            wait_for(lambda: entries(tmp_path) == 8, 60)
            for served in (first, second):
                found = [CLIENT.get(f"{served.url}/dragoman/requests/{identity}").status_code for identity in ids]
                assert found == [200] * 8
        assert entries(tmp_path) == 8


@pytest.mark.slow
def test_a_file_that_is_deleted_meanwhile_is_told_and_begun_anew(tmp_path: Path) -> None:
    with emulator("openai") as one:
        config(tmp_path, one_provider(one.base_url))
        with serving(tmp_path) as served:
            assert served.chat("p/gpt-4o").status_code == 200
            wait_for(lambda: entries(tmp_path) == 1, 60)
            for file in tmp_path.glob("dragoman.sqlite3*"):
                file.unlink()
            assert served.chat("p/gpt-4o").status_code == 200
            assert "was deleted or replaced while in use" in served.wait("store-replaced")["error"]
        assert entries(tmp_path) == 1


@pytest.mark.slow
def test_a_low_limit_of_open_files_is_raised_or_told(tmp_path: Path) -> None:
    import resource

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (200, 600))

    with serving(tmp_path, before=lower) as served:
        warning = served.wait("config")["warning"]
        assert warning.startswith("600 open files are allowed, enough for about 236 requests at a time")
        assert served.chat("gpt-4o").status_code == 200


def entries(folder: Path) -> int:
    with sqlite3.connect(folder / "dragoman.sqlite3") as base:
        names = [name for (name,) in base.execute("select name from sqlite_master where type = 'table'")]
        table = next(name for name in names if name in ("entries", "requests", "ledger"))
        (count,) = base.execute(f"select count(*) from {table}").fetchone()
    return int(count)


class Streaming(threading.Thread):
    """A client in the middle of an answer."""

    def __init__(self, url: str, dialect: str) -> None:
        super().__init__(daemon=True)
        self.began = threading.Event()
        self.text = ""
        self._url, self._dialect = url, dialect

    def run(self) -> None:
        path, body = ASKED[self._dialect]
        if self._dialect == "gemini":
            path = path.replace(":generateContent", ":streamGenerateContent") + "?alt=sse"
        else:
            body = {**body, "model": "m", "stream": True}
        with CLIENT.stream("POST", self._url + path.format(model="m"), json=body) as answer:
            for text in answer.iter_text():
                self.text += text
                self.began.set()


ENDINGS = {
    "openai-chat": ('"finish_reason":"stop"', '"error":{'),
    "openai-responses": ("response.completed", "event: response.failed"),
    "anthropic": ("message_stop", "event: error"),
    "gemini": ('"finishReason":"STOP"', '"error":{'),
}


def streaming(served: Served) -> dict[str, Streaming]:
    """A client of each dialect, all of them in the middle of an answer."""
    clients = {dialect: Streaming(served.url, dialect) for dialect in ENDINGS}
    for client in clients.values():
        client.start()
    assert all(client.began.wait(60) for client in clients.values())
    return clients


@pytest.mark.slow
def test_a_stop_lets_streams_finish(tmp_path: Path) -> None:
    with emulator("anthropic", fault="slow;bytes=200;every=0.05") as one:
        shared(tmp_path, one.base_url)
        with serving(tmp_path) as served:
            clients = streaming(served)
            assert served.stop() == 0
    for dialect, (proper, broken) in ENDINGS.items():
        clients[dialect].join(60)
        assert proper in clients[dialect].text
        assert broken not in clients[dialect].text
    assert entries(tmp_path) == len(ENDINGS)


@pytest.mark.slow
def test_streams_that_take_too_long_are_ended_in_their_own_dialect(tmp_path: Path) -> None:
    with emulator("anthropic", fault="stall;after=5;seconds=600") as one:
        shared(tmp_path, one.base_url, grace=0.2)
        with serving(tmp_path) as served:
            clients = streaming(served)
            assert served.stop() == 0  # the provider stands still for longer than this waits
    for dialect, (proper, broken) in ENDINGS.items():
        clients[dialect].join(60)
        assert broken in clients[dialect].text
        assert proper not in clients[dialect].text
        assert "shutting down" in clients[dialect].text
    assert entries(tmp_path) == len(ENDINGS)


@pytest.mark.slow
def test_who_waits_for_a_whole_answer_is_told_too(tmp_path: Path) -> None:
    with emulator("anthropic", fault="stall;seconds=60") as one:
        shared(tmp_path, one.base_url, grace=0.2)
        with serving(tmp_path) as served:
            answers: list[httpx.Response] = []
            client = threading.Thread(target=lambda: answers.append(served.chat("m")), daemon=True)
            client.start()
            while not one.requests:
                time.sleep(0.01)
            assert served.stop() == 0
            client.join(60)
    assert answers[0].status_code == 503
    assert "shutting down" in json.loads(answers[0].text)["error"]["message"]
