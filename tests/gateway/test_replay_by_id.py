"""`dragoman replay REQUEST_ID`: from the ledger, from files, and from a gateway that runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.gateway.asking import PATHS, body
from tests.gateway.running import Running, gateway, provider, wait_for

from dragoman.cli import cli
from dragoman.testing import emulator

QUESTION = {
    "model": "smart",
    "messages": [{"role": "user", "content": "Hi"}, {"role": "system", "content": "Be brief."}],
}


@contextmanager
def serving(folder: Path, fault: str | None = None, **config: Any) -> Iterator[Running]:
    keys = {"boss": {"sha256": hashlib.sha256(b"boss").hexdigest(), "admin": True}}
    with emulator("anthropic") as claude:
        claude.fault(fault)
        told = {"providers": {"anthropic": provider("anthropic", claude.base_url)}, "keys": keys, **config}
        told["models"] = {"smart": {"target": "anthropic/claude-sonnet-4-5"}}
        with gateway(told, folder) as running:
            yield running


def asked(running: Running, question: Any = QUESTION, path: str = PATHS["openai-chat"]) -> str:
    answer = running.post(path, question, "boss")
    identity: str = answer.headers["x-dragoman-request-id"]
    wait_for(lambda: running.busy() == (0, 0))
    assert running.do(lambda: running.services.store.flush())
    return identity


def replay(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["replay", *arguments])


@pytest.mark.parametrize("dialect", PATHS)
def test_a_request_of_the_ledger_compiles_to_the_body_that_was_sent(tmp_path: Path, dialect: str) -> None:
    with serving(tmp_path, store={"keep_bodies": True}) as running:
        identity = asked(running, body(dialect, "smart"), PATHS[dialect].format(model="smart"))
        here = replay(identity, "-c", str(running.file), "--json")
        there = replay(identity, "--url", running.url, "--key", "boss", "-c", str(running.file), "--json")
    for done in (here, there):
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        assert (found["target"], found["differs"]) == ("anthropic/claude-sonnet-4-5", [])
        assert (found["emulator"], found["accepted"]) == ("anthropic", True)


def test_what_was_changed_then_is_changed_again(tmp_path: Path) -> None:
    with serving(tmp_path, store={"keep_bodies": True}) as running:
        identity = asked(running)
        done = replay(identity, "-c", str(running.file))
    assert done.exit_code == 0, done.output
    assert "compiles to the body that was sent" in done.stdout
    assert "late-system" in done.stdout


def test_a_file_of_exchanges_will_do(tmp_path: Path) -> None:
    log = {"provider_errors": {"path": None}, "exchanges": {"folder": str(tmp_path / "exchanges")}}
    with serving(tmp_path, log=log) as running:
        identity = asked(running)
        wait_for(lambda: any(identity in one.read_text() for one in (tmp_path / "exchanges").glob("*.jsonl")))
        (tmp_path / "exchanges" / "9999-99-99.jsonl").write_text(f'{{"id": "{identity}", "cut off\n')
        done = replay(identity, "-c", str(running.file), "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["request"] == QUESTION


def test_a_line_of_refusals_will_do(tmp_path: Path) -> None:
    with serving(tmp_path, fault="500") as running:
        identity = asked(running)
        wait_for(lambda: running.errors.exists() and identity in running.errors.read_text())
        done = replay(identity, "-c", str(running.file), "--json")
    assert json.loads(done.stdout)["request"] == QUESTION


def test_without_its_body_a_request_says_how_to_keep_it(tmp_path: Path) -> None:
    with serving(tmp_path) as running:
        identity = asked(running)
        for where in (["-c", str(running.file)], ["--url", running.url, "--key", "boss"]):
            done = replay(identity, *where)
            assert done.exit_code != 0
            assert "store.keep_bodies: true" in done.output


def test_what_the_console_shows_can_be_replayed(tmp_path: Path) -> None:
    with serving(tmp_path, keys={}) as running:
        done = replay(asked(running), "--url", running.url, "-c", str(running.file), "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["request"], found["differs"]) == (QUESTION, [])


def test_an_id_that_nobody_knows_is_an_error(tmp_path: Path) -> None:
    with serving(tmp_path) as running:
        asked(running)
        here = replay("req_0123456789abcdef01", "-c", str(running.file))
        there = replay("req_0123456789abcdef01", "--url", running.url, "--key", "boss")
        stranger = replay("req_0123456789abcdef01", "--url", running.url, "--key", "nobody")
    assert "is not in the ledger" in here.output
    assert "no_such_id: is no file and no id of a request" in replay("no_such_id").output
    assert 'there is no request "req_0123456789abcdef01"' in there.output
    assert "the key is not known" in stranger.output
    assert [one.exit_code for one in (here, there, stranger)] == [2, 2, 2]


def test_state_in_memory_must_be_asked_of_the_gateway(tmp_path: Path) -> None:
    with serving(tmp_path, store={"kind": "memory", "keep_bodies": True}) as running:
        identity = asked(running)
        assert "ask it with --url" in replay(identity, "-c", str(running.file)).output
        assert replay(identity, "--url", running.url, "--key", "boss").exit_code == 0
