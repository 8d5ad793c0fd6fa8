"""`dragoman doctor`: one page, one exit code, and never a key."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from time import time
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.free_ports import stop_listening

from dragoman.cli import cli

KEY = "sk-secret-1234567890"


@pytest.fixture(autouse=True)
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_TOKEN")) or name.startswith("DRAGOMAN_")]:
        monkeypatch.delenv(name)


class Answering:
    """A server that answers everything with one status and one date."""

    def __init__(self, status: str, ahead: float = 0.0) -> None:
        date = formatdate(time() + ahead, usegmt=True)
        self._answer = f"HTTP/1.1 {status}\r\ndate: {date}\r\ncontent-length: 2\r\n\r\n{{}}".encode()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.recv(1 << 16)
                connection.sendall(self._answer)

    def close(self) -> None:
        stop_listening(self._socket)


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[Answering]:
    found = Answering(*request.param)
    yield found
    found.close()


def write(tmp_path: Path, port: int, key: str = KEY, more: str = "") -> None:
    provider = f"{{profile: openai-compatible-strict, base_url: 'http://127.0.0.1:{port}/v1', api_key: {key}}}"
    (tmp_path / "dragoman.yaml").write_text(f"providers:\n  mine: {provider}\nserver: {{port: 0}}\n{more}")
    (tmp_path / "dragoman.yaml").chmod(0o600)


def run(*args: str) -> Result:
    done = CliRunner().invoke(cli, ["doctor", *args], prog_name="dragoman")
    assert KEY not in done.output
    assert KEY[:9] not in done.output
    return done


def marks(done: Result) -> dict[str, tuple[str, str]]:
    found: list[dict[str, Any]] = json.loads(done.stdout)["checks"]
    return {f"{one['section']}/{one['name']}": (one["mark"], one["text"]) for one in found}


@pytest.mark.parametrize("server", [("200 OK",)], indirect=True)
def test_all_is_well(server: Answering, tmp_path: Path) -> None:
    write(tmp_path, server.port)
    done = run()
    assert done.exit_code == 0, done.output
    assert "fail" not in done.stdout
    found = marks(run("--json"))
    assert found["configuration/file"] == ("ok", "dragoman.yaml: 1 provider, 0 models")
    assert found["keys/mine"] == ("ok", "present, from dragoman.yaml:2")
    assert found["network/mine"][0] == "ok"
    assert found["network/clock"] == ("ok", "agrees with the providers")
    assert found["configuration/port"][0] == "ok"
    assert found["configuration/store"][0] == "ok"
    assert {"machine/Python", "machine/Dragoman", "machine/SDKs", "machine/open files"} <= found.keys()


@pytest.mark.parametrize(
    ("server", "mark", "words"),
    [
        (("401 Unauthorized",), "fail", "refuses the key (401)"),
        (("404 Not Found",), "ok", "with 404"),
        (("500 Oops",), "warn", "with 500"),
    ],
    indirect=["server"],
)
def test_how_a_provider_answers(server: Answering, mark: str, words: str, tmp_path: Path) -> None:
    write(tmp_path, server.port)
    done = run("--json")
    found = marks(done)["network/mine"]
    assert found[0] == mark
    assert words in found[1]
    assert done.exit_code == int(mark == "fail")


@pytest.mark.parametrize("server", [("404 Not Found",)], indirect=True)
@pytest.mark.parametrize(("path", "hint"), [("", "should probably be http://127.0.0.1:{port}/v1"), ("/v1/v1", "twice")])
def test_an_address_that_leads_nowhere_is_doubted(server: Answering, path: str, hint: str, tmp_path: Path) -> None:
    write(tmp_path, server.port)
    file = tmp_path / "dragoman.yaml"
    file.write_text(file.read_text().replace(f"{server.port}/v1", f"{server.port}{path}"))
    done = run()
    assert done.exit_code == 0
    assert hint.format(port=server.port) in done.stdout


@pytest.mark.parametrize("server", [("200 OK",)], indirect=True)
def test_a_key_that_is_not_there_is_not_taken(server: Answering, tmp_path: Path) -> None:
    write(tmp_path, server.port, key='""')
    assert marks(run("--json"))["network/mine"][1].endswith("without a key")


@pytest.mark.parametrize(
    ("server", "mark", "words"),
    [(("200 OK", -120.0), "warn", "ahead of"), (("200 OK", 900.0), "fail", "behind")],
    indirect=["server"],
)
def test_a_clock_that_is_off(server: Answering, mark: str, words: str, tmp_path: Path) -> None:
    write(tmp_path, server.port)
    found = marks(run("--json"))["network/clock"]
    assert found[0] == mark
    assert words in found[1]


def test_nobody_answers(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    write(tmp_path, port)
    done = run()
    assert done.exit_code == 1
    assert "fail  mine" in done.stdout
    assert run("--offline").exit_code == 0
    assert marks(run("--offline", "--json"))["network/providers"] == ("skip", "not asked: --offline")


def test_silence_is_bounded(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        write(tmp_path, silent.getsockname()[1])
        found = marks(run("--json", "--timeout", "0.1"))["network/mine"]
    assert found == ("fail", f"http://127.0.0.1:{silent_port(tmp_path)}/v1 did not answer within 0.1 s")


def silent_port(tmp_path: Path) -> str:
    return (tmp_path / "dragoman.yaml").read_text().split("127.0.0.1:")[1].split("/")[0]


def test_no_key_and_no_file() -> None:
    done = run("--json")
    assert done.exit_code == 0
    found = marks(done)
    assert found["keys/providers"][0] == "warn"
    assert found["configuration/file"] == ("ok", "none; providers come from the environment")


def test_proxies_and_certificates_have_a_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", "/ca.pem")
    found = marks(run("--json", "--offline"))
    assert found["machine/certificates"] == ("ok", "the environment sets SSL_CERT_FILE")
    assert "machine/proxy" not in found
    monkeypatch.setenv("NO_PROXY", "x")
    assert marks(run("--json", "--offline"))["machine/proxy"] == ("ok", "the environment sets NO_PROXY")


def test_a_key_that_is_missing_and_one_with_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", f'"{KEY}"')
    providers = "{anthropic: {}, mistral: {}, groq: {api_key: $GROQ_API_KEY}}"
    (tmp_path / "dragoman.yaml").write_text(f"providers: {providers}\nserver: {{port: 0}}\n")
    found = marks(run("--json", "--offline"))
    assert found["keys/groq"] == ("fail", "present, from dragoman.yaml:1, which reads like a variable")
    assert found["keys/anthropic"] == ("fail", "present, from env ANTHROPIC_API_KEY, with quotes or blanks around it")
    assert found["keys/mistral"] == ("warn", "has no key")


def test_the_hint_for_a_missing_key_names_what_is_looked_at(tmp_path: Path) -> None:
    """The variable of the file, else the vendor's; a vendor's is not looked at beside an address of one's own."""
    (tmp_path / "dragoman.yaml").write_text(
        "server: {port: 0}\n"
        "providers:\n"
        "  work: {profile: openai, api_key: '${WORK_KEY}'}\n"
        "  many: {profile: openai, api_keys: ['${FIRST_KEY}', '${SECOND_KEY}']}\n"
        "  proxy: {profile: openai, base_url: 'https://proxy.example/v1'}\n"
        "  mistral: {}\n"
        "  ollama: {}\n"
    )
    checks = json.loads(run("--json", "--offline").stdout)["checks"]
    keys = {one["name"]: (one["mark"], one["hint"]) for one in checks if one["section"] == "keys"}
    assert keys["work"] == ("warn", "set WORK_KEY, which the file names")
    assert keys["many"] == ("warn", "set a variable of api_keys, which the file names")
    assert keys["proxy"] == ("warn", "set api_key in the file")
    assert keys["mistral"] == ("warn", "set MISTRAL_API_KEY, or api_key in the file")
    assert keys["ollama"] == ("ok", "")


def test_every_mistake_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "dragoman.yaml").write_text("servr: {}\nserver: {port: many}\n")
    done = run("--json")
    assert done.exit_code == 1
    texts = [one["text"] for one in json.loads(done.stdout)["checks"] if one["section"] == "configuration"]
    assert len(texts) == 2
    assert texts[0].startswith("dragoman.yaml:1: servr is not a known key")


def test_an_empty_file_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "dragoman.yaml").write_text("# nothing\n")
    assert marks(run("--json", "--offline"))["configuration/file"] == ("fail", "dragoman.yaml says nothing")


def test_a_store_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "dragoman.yaml").write_text("server: {port: 0}\nstore: {path: file/x.db}\n")
    mark, text = marks(run("--json", "--offline"))["configuration/store"]
    assert mark == "fail"
    assert "is no folder that can be written" in text


def test_a_store_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "x.db").write_text("this is no database at all, and never was" * 10)
    (tmp_path / "dragoman.yaml").write_text("server: {port: 0}\nstore: {path: x.db}\n")
    mark, text = marks(run("--json", "--offline"))["configuration/store"]
    assert mark == "fail"
    assert "not a database" in text


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        (tmp_path / "dragoman.yaml").write_text(f"server: {{port: {taken.getsockname()[1]}}}\n")
        taken.settimeout(60)
        threading.Thread(target=lambda: taken.accept()[0].close(), daemon=True).start()
        mark, text = marks(run("--json", "--offline"))["configuration/port"]
    assert mark == "fail"
    assert "Address already in use" in text
