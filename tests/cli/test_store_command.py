"""`dragoman store` and `dragoman forget`: a file is moved to Redis, once, and a key is forgotten everywhere."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result
from tests.store.contract.backends import OWNER, Time, lesson, parts
from tests.store.deadlines import NEVER_LATE, reached
from tests.store.redis_server import RedisServer

from dragoman.cli import cli
from dragoman.config.schema.keys import Budget
from dragoman.config.schema.store import RedisOptions, StoreConfig
from dragoman.engine.history.calibration import CountedTokens, observe_count
from dragoman.store.contracts.budgets import periods_at
from dragoman.store.contracts.pins import Pin, PinOwner
from dragoman.store.ledger_entry import Entry
from dragoman.store.redis_store import RedisStore, parse_address
from dragoman.store.sqlite.store import SqliteStore

PERIODS = periods_at(Budget(total=10), time.time())
CALIBRATION = observe_count(None, CountedTokens(1_000, 1_300))


@pytest.fixture
def server() -> Iterator[RedisServer]:
    one = RedisServer()
    yield one
    one.close()


def written(folder: Path) -> Path:
    """A file as a gateway leaves it."""
    file = folder / "dragoman.sqlite3"

    async def write() -> None:
        store = SqliteStore(file, StoreConfig())
        await store.vault.put(OWNER, {"call_1": parts()})
        await store.pins.put(PinOwner("anna"), {"call_1": Pin("groq/x", 1.0)})
        clock = Time()
        clock.wall = time.time()
        await store.lessons.put(lesson("a", clock))
        store.calibrations.put("openai/x", CALIBRATION)
        await store.budgets.reserve("anna", PERIODS, 1.5)
        store.ledger.record(Entry(id="r1", time=time.time(), caller="anna"))
        await store.aclose()

    asyncio.run(write())
    return file


def configured(folder: Path, url: str | None) -> list[str]:
    file = folder / "dragoman.yaml"
    store = {"hot": url, "redis": {"deadline_ms": 0.001}} if url is not None else {}  # no command is in a hurry
    file.write_text(yaml.safe_dump({"store": store}))
    return ["--config", str(file)]


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words), catch_exceptions=False)


def test_a_file_is_moved_to_redis_and_twice_is_once(tmp_path: Path, server: RedisServer) -> None:
    written(tmp_path)
    config = configured(tmp_path, server.url)
    for _ in range(2):
        done = run("store", "migrate", *config)
        assert (done.exit_code, done.output) == (
            0,
            "moved 2 values, 1 lessons, 1 calibrations, 3 budgets, 0 requests\n",
        )

    async def read() -> None:
        options = StoreConfig(redis=RedisOptions(deadline_ms=NEVER_LATE))
        store = await reached(RedisStore(parse_address(server.url), options))
        assert await store.vault.find(OWNER, ["call_1"]) == {"call_1": parts()}
        assert await store.pins.find(PinOwner("anna"), ["call_1"]) == {"call_1": Pin("groq/x", 1.0)}
        assert [record.name for record in await store.lessons.all()] == ["a"]
        assert store.calibrations.find("openai/x") == CALIBRATION
        assert await store.budgets.reserve("anna", PERIODS, 0.5) == (2.0, 2.0, 2.0)
        await store.aclose()

    asyncio.run(read())


@pytest.mark.slow
def test_a_check_says_whether_redis_is_there(tmp_path: Path, server: RedisServer) -> None:
    config = configured(tmp_path, server.url)
    found = run("store", "check", *config)
    assert found.exit_code == 0
    assert f"redis://127.0.0.1:{server.port}/0" in found.output
    server.kill()
    away = run("store", "check", *config)
    assert away.exit_code == 1
    assert "away" in away.output
    assert run("store", "migrate", *config, "--from", str(written(tmp_path))).exit_code == 2
    refused = run("forget", *config, "--name", "anna", "--yes")
    assert refused.exit_code == 2
    assert "not everything was removed" in refused.output


NOTHING_KEPT = 'nothing is kept for a key named "anna"; is it the name? `dragoman keys list` shows those of the file\n'


def test_an_admin_key_is_not_taken_for_the_name_to_forget(tmp_path: Path) -> None:
    """It would be sent in an address, and forget nothing. `--key` alone is an older spelling of `--name`."""
    both = run("forget", *configured(tmp_path, None), "--name", "anna", "--key", "dm-secret", "--yes")
    assert both.exit_code == 2
    assert "one name is wanted (an admin key is given with --admin-key)" in both.output
    assert run("forget", *configured(tmp_path, None), "--yes").exit_code == 2
    assert run("forget", *configured(tmp_path, None), "--key", "anna", "--yes").output.endswith(NOTHING_KEPT)


@pytest.mark.parametrize("key", ["dm-…", "dm-1\n"])
def test_a_key_that_no_header_can_carry_is_told(key: str) -> None:
    asked = run("requests", "--url", "http://127.0.0.1:9", "--key", key)
    assert asked.exit_code == 2
    assert "the admin key: contains characters that a header cannot carry" in asked.stderr


@pytest.mark.parametrize("command", ["requests", "lessons", "usage"])
def test_a_store_that_nobody_has_made_is_told_from_an_empty_one(tmp_path: Path, command: str) -> None:
    (tmp_path / "dragoman.yaml").write_text("server: {port: 0}\n")
    asked = run(command, "--config", str(tmp_path / "dragoman.yaml"))
    assert asked.exit_code == 0
    assert asked.stderr == (
        f"no gateway has made {tmp_path}/dragoman.sqlite3 yet; "
        "--url asks one that runs, whose state may be in its memory\n"
    )


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("127.0.0.1:9", "must begin with http:// or https:// (write http://127.0.0.1:9)"),
        ("http://127.0.0.1:9", "--url: cannot be reached: Connection refused"),
    ],
)
def test_an_address_without_a_gateway_is_told(url: str, says: str) -> None:
    asked = run("requests", "--url", url)
    assert asked.exit_code == 2
    assert says in asked.output
    assert "urlopen" not in asked.output


class Locked(BaseHTTPRequestHandler):
    """A gateway that takes no key."""

    def do_GET(self) -> None:
        self.send_response(401)
        self.end_headers()
        self.wfile.write(b'{"error": {"message": "this gateway wants a key"}}')


def test_a_gateway_that_wants_a_key_and_one_without_tls_are_told() -> None:
    with HTTPServer(("127.0.0.1", 0), Locked) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{server.server_port}"
        locked = run("requests", "--url", f"http://{place}")
        plain = run("requests", "--url", f"https://{place}")
        server.shutdown()
    assert "this gateway wants a key (set DRAGOMAN_KEY to an admin key of the gateway)" in locked.output
    assert f"it does not speak TLS (write http://{place})" in plain.output


def test_export_prune_and_forget_on_a_file(tmp_path: Path) -> None:
    written(tmp_path)
    config = configured(tmp_path, None)
    lines = [json.loads(line) for line in run("store", "export", *config).output.splitlines()]
    assert [next(iter(line)) for line in lines] == ["request", "lesson"]
    assert lines[0]["request"]["id"] == "r1"
    assert run("store", "prune", *config).output == "0 removed\n"
    assert run("store", "migrate", *config).exit_code == 2
    assert run("forget", *config, "--name", "anna").exit_code == 130  # nobody has said yes
    assert run("forget", *config, "--name", "anna", "--yes").output == "6 removed\n"
    assert run("forget", *config, "--name", "anna", "--yes").output == NOTHING_KEPT
    assert '"request"' not in run("store", "export", *config).output
