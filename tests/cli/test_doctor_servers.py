"""`dragoman doctor` and `dragoman store check` reach the servers of a shared store, and say what they would lose."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from redis import Redis
from tests.store.postgres_server import PostgresServer, running_postgres
from tests.store.redis_server import RedisServer

from dragoman.cli import cli
from dragoman.store.postgres.migrations import MIGRATIONS

PASSWORD = "never-shown-1234"


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    """One that anybody who knows the password may use."""
    server = RedisServer("--requirepass", PASSWORD)
    yield server
    server.close()


@pytest.fixture(scope="module")
def postgres() -> PostgresServer:
    return running_postgres()


@pytest.fixture(autouse=True)
def empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def run(command: str, **store: object) -> Result:
    text = yaml.safe_dump({"store": store, "server": {"port": 0}, "providers": {}})
    Path("dragoman.yaml").write_text(text)
    Path("dragoman.yaml").chmod(0o600)
    done = CliRunner().invoke(cli, command.split(), prog_name="dragoman")
    assert PASSWORD not in done.output
    return done


def found(**store: object) -> dict[str, tuple[str, str, str]]:
    checks: list[dict[str, Any]] = json.loads(run("doctor --json", **store).stdout)["checks"]
    return {one["name"]: (one["mark"], one["text"], one["hint"]) for one in checks if one["section"] == "store"}


def of(redis: RedisServer, user: str = "", password: str = PASSWORD) -> str:
    return f"redis://{user}:{password}@127.0.0.1:{redis.port}/0"


def administrator(redis: RedisServer) -> Redis:
    return Redis(port=redis.port, password=PASSWORD)


def set_to(redis: RedisServer, **settings: str) -> None:
    for name, value in settings.items():
        administrator(redis).config_set(name.replace("_", "-"), value)


def test_a_redis_that_keeps_what_it_is_told(redis: RedisServer) -> None:
    set_to(redis, appendonly="yes", maxmemory="0")
    checks = found(hot=of(redis), redis={"deadline_ms": 5000})
    assert {name: mark for name, (mark, _, _) in checks.items()} == dict.fromkeys(
        ["hot", "hot writing", "hot version", "hot eviction", "hot persistence"], "ok"
    )
    assert checks["hot"][1].startswith(f"redis://127.0.0.1:{redis.port}/0 answers in ")
    assert checks["hot version"][1].startswith("Redis ")
    page = run("store check", hot=of(redis), redis={"deadline_ms": 5000})
    assert page.exit_code == 0
    assert "append-only file: a crash loses about a second" in page.output


@pytest.mark.parametrize(
    ("settings", "name", "mark", "text", "cure"),
    [
        ({"save": "", "appendonly": "no"}, "hot persistence", "warn", "none: a restart forgets budgets", "appendonly"),
        ({"save": "3600 1", "appendonly": "no"}, "hot persistence", "warn", "snapshots only (save 3600 1)", "yes"),
        ({"maxmemory": "500mb", "maxmemory_policy": "allkeys-lru"}, "hot eviction", "warn", "allkeys-lru", "noev"),
        ({"maxmemory": "1", "maxmemory_policy": "noeviction"}, "hot eviction", "warn", "noeviction", "maxmemory"),
        ({"maxmemory": "1", "maxmemory_policy": "noeviction"}, "hot writing", "fail", "OOM", "more maxmemory"),
    ],
)
def test_settings_of_redis_that_lose_something(
    redis: RedisServer, settings: dict[str, str], name: str, mark: str, text: str, cure: str
) -> None:
    set_to(redis, **{"maxmemory": "0", "maxmemory_policy": "noeviction", **settings})
    shown = found(hot=of(redis))[name]
    set_to(redis, maxmemory="0", maxmemory_policy="noeviction")
    assert shown[0] == mark
    assert text in shown[1]
    assert cure in shown[2]


def test_a_deadline_that_is_too_short_for_the_way_to_redis(redis: RedisServer) -> None:
    mark, _, cure = found(hot=of(redis), redis={"deadline_ms": 0.0001})["hot"]
    assert (mark, cure[:29]) == ("warn", "raise store.redis.deadline_ms")


def test_a_user_of_redis_who_may_see_nothing(redis: RedisServer) -> None:
    client = administrator(redis)
    client.execute_command("ACL", "SETUSER", "writer", "on", ">w", "~*", "+@all", "-info", "-config")
    checks = found(hot=of(redis, "writer", "w"))
    assert checks["hot writing"][0] == "ok"
    assert checks["hot settings"][0] == "skip"
    client.execute_command("ACL", "SETUSER", "writer", "+info")
    assert "hot version" in found(hot=of(redis, "writer", "w"))
    client.execute_command("ACL", "SETUSER", "reader", "on", ">r", "~*", "+@read", "+@connection", "+info")
    mark, text, cure = found(hot=of(redis, "reader", "r"))["hot writing"]
    assert mark == "fail"
    assert "NOPERM" in text
    assert "allow the user" in cure


def test_a_redis_that_only_copies_another(redis: RedisServer) -> None:
    copy = RedisServer("--replicaof", "127.0.0.1", str(redis.port), "--masterauth", PASSWORD)
    try:
        mark, text, cure = found(hot=copy.url)["hot writing"]
    finally:
        copy.close()
    assert mark == "fail"
    assert "READONLY" in text
    assert "redis+sentinel://" in cure


def test_a_redis_that_cannot_be_used(redis: RedisServer) -> None:
    wrong = found(hot=of(redis, password="wrong"))["hot"]
    assert wrong[0] == "fail"
    assert wrong[2] == "check user and password of store.hot"
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    away = run("doctor", hot=f"redis://:{PASSWORD}@127.0.0.1:{port}/0")
    assert away.exit_code == 1
    assert f"redis://127.0.0.1:{port}/0 cannot be reached: Connection refused" in away.output
    offline = json.loads(run("doctor --offline --json", hot=of(redis)).stdout)["checks"]
    assert ("servers", "not asked: --offline") in [(one["name"], one["text"]) for one in offline]
    assert "store.hot must begin with redis://" in run("doctor --json", hot="http://127.0.0.1:1/").stdout


def test_a_silent_redis_is_given_up(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        done = run("doctor --timeout 0.1", hot=f"redis://127.0.0.1:{silent.getsockname()[1]}/0")
    assert done.exit_code == 1
    assert "did not answer within 0.1 s" in done.output


@pytest.mark.slow
def test_a_database_before_and_after_its_first_gateway(postgres: PostgresServer) -> None:
    url = postgres.new_schema()
    checks = found(ledger=url)
    assert checks["ledger"][0] == checks["ledger version"][0] == checks["ledger writing"][0] == "ok"
    assert checks["ledger tables"] == ("ok", "none yet; the first gateway makes them", "")
    assert checks["ledger persistence"][:2] == (
        "warn",
        "fsync or full_page_writes is off: a crash of the machine may destroy the ledger",
    )
    page = run("store check", ledger=url)  # opens the store, as a gateway does
    assert page.exit_code == 0, page.output
    assert found(ledger=url)["ledger tables"][1] == f"version {len(MIGRATIONS)}, up to date"


@pytest.mark.slow
def test_tables_of_other_versions(postgres: PostgresServer) -> None:
    url = postgres.new_schema()
    schema = url.rpartition("=")[2]
    run("store check", ledger=url)
    newer = len(MIGRATIONS) + 1
    postgres.execute(f"INSERT INTO {schema}.dragoman_schema (version, oldest) VALUES ({newer}, 1)")
    mark, text, _ = found(ledger=url)["ledger tables"]
    assert (mark, text.partition(";")[0]) == ("ok", f"version {newer}")
    postgres.execute(f"UPDATE {schema}.dragoman_schema SET oldest = {newer} WHERE version = {newer}")
    mark, text, _ = found(ledger=url)["ledger tables"]
    assert mark == "fail"
    assert "needs a newer dragoman" in text


def test_a_database_that_takes_no_tables(postgres: PostgresServer) -> None:
    url = postgres.new_schema()
    schema = url.rpartition("=")[2]
    postgres.execute(f"CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA {schema} TO reader")
    mark, text, cure = found(ledger=url.replace("dragoman@", "reader@"))["ledger writing"]
    assert mark == "fail"
    assert f"may not create tables in the schema {schema}" in text
    assert cure.startswith("GRANT CREATE")
    assert found(ledger=postgres.url("nowhere"))["ledger writing"][0] == "fail"
    mark, text, _ = found(ledger=url.replace("dragoman@", "nobody_known@"))["ledger"]
    assert mark == "fail"
    assert "nobody_known" in text


def test_a_database_with_few_connections_left(postgres: PostgresServer) -> None:
    assert found(ledger=postgres.new_schema(), postgres={"connections": 100})["ledger connections"][0] == "warn"
