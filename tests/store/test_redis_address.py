"""Addresses of Redis, and the servers that they lead to: by a password, TLS, a socket, sentinels, a cluster."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import trustme
from tests.child_processes import dies_with_us
from tests.free_ports import free_port
from tests.store.contract.backends import OWNER, Time, lesson, parts
from tests.store.deadlines import NEVER_LATE, reached, until
from tests.store.redis_server import RedisNodes, RedisServer, server_program

from dragoman.config.schema.config_file import Config
from dragoman.config.schema.keys import Budget
from dragoman.config.schema.store import RedisOptions, StoreConfig
from dragoman.config.secret import Secret
from dragoman.store.contracts.budgets import periods_at
from dragoman.store.contracts.rate_limits import Allowed, KeyLimits
from dragoman.store.errors import StoreError
from dragoman.store.open_store import open_store, place_of_store
from dragoman.store.redis_store import RedisStore, parse_address
from dragoman.store.redis_store.address import RedisAddress


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://h", RedisAddress((("h", 6379),))),
        ("redis://h:7000/3", RedisAddress((("h", 7000),), database=3)),
        ("REDISS://u:p%40ss@h/0", RedisAddress((("h", 6379),), user="u", password="p@ss", tls=True)),
        ("redis://:pw@[::1]:7000", RedisAddress((("::1", 7000),), password="pw")),
        ("redis+unix:///run/r.sock?db=2", RedisAddress(unix="/run/r.sock", database=2)),
        (
            "redis+sentinel://u:p@a:1,b/main/4",
            RedisAddress((("a", 1), ("b", 26379)), master="main", database=4, user="u", password="p"),
        ),
        ("rediss+cluster://:p@a:1,b", RedisAddress((("a", 1), ("b", 6379)), cluster=True, password="p", tls=True)),
    ],
)
def test_an_address_is_read(url: str, address: RedisAddress) -> None:
    assert parse_address(url) == address


@pytest.mark.parametrize(
    "url",
    ["redis://", "redis://h:port", "redis://h/zero", "redis+sentinel://h", "redis://h/1/2", "redis+cluster://h/3"],
)
def test_what_is_no_address_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(StoreError, match="no address of Redis"):
        parse_address(url)
    config = Config(store=StoreConfig(hot=Secret(url.replace("h", "u:secret-word@h"))))
    with pytest.raises(StoreError) as caught:
        place_of_store(config, None)
    assert "secret-word" not in str(caught.value)


def test_the_place_has_no_password() -> None:
    assert parse_address("rediss://u:secret-word@h/2").place == "rediss://h:6379/2"
    assert parse_address("redis+cluster://:secret-word@a,b").place == "redis+cluster://a:6379,b:6379/0"
    assert parse_address("redis+sentinel://:secret-word@a,b/main").place == "redis+sentinel://a:26379,b:26379/main/0"


def opened(url: str, **options: object) -> RedisStore:
    config = Config(store=StoreConfig(hot=Secret(url), redis=RedisOptions(deadline_ms=NEVER_LATE, **options)))  # type: ignore[arg-type]
    assert open_store(config, None).warning is None
    return RedisStore(parse_address(url), config.store)


async def refused(store: RedisStore, *words: str) -> RedisStore:
    """A store whose server answers, and does not take it."""
    await store.start()
    await until(lambda: any(word in str(store.health().away) for word in words))
    return store


async def test_a_user_with_few_rights_is_enough(tmp_path: Path) -> None:
    """The commands that the guide names, on the keys of the prefix."""
    server = RedisServer()
    rules = "on >pass-word ~dragoman:* -@all +@read +@write +@scripting +@connection +info +time"
    server.client().execute_command("ACL", "SETUSER", "gate", *rules.split())
    try:
        store = await reached(opened(f"redis://gate:pass-word@127.0.0.1:{server.port}"))
        assert await store.limits.reserve("k", KeyLimits(requests_per_minute=5)) == Allowed(4)
        await store.aclose()
        stranger = await refused(opened(f"redis://gate:wrong-word@127.0.0.1:{server.port}"), "WRONGPASS")
        assert await stranger.limits.reserve("k", KeyLimits(requests_per_minute=5)) == Allowed(4)
        await stranger.aclose()
    finally:
        server.close()


@pytest.mark.slow
async def test_tls_with_an_own_authority_and_none_without(tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = authority.issue_cert("localhost")
    files = {name: tmp_path / name for name in ("ca.pem", "cert.pem", "key.pem")}
    authority.cert_pem.write_to_path(files["ca.pem"])
    certificate.cert_chain_pems[0].write_to_path(files["cert.pem"])
    certificate.private_key_pem.write_to_path(files["key.pem"])
    port = free_port()
    names = {"tls-port": port, "tls-cert-file": files["cert.pem"], "tls-key-file": files["key.pem"]}
    names |= {"tls-ca-cert-file": files["ca.pem"], "tls-auth-clients": "no"}
    try:
        server = RedisServer(*(str(word) for name, value in names.items() for word in (f"--{name}", value)))
    except AssertionError:
        pytest.skip("this redis-server was built without TLS")
    try:
        store = await reached(opened(f"rediss://localhost:{port}", ca_file=str(files["ca.pem"])))
        await store.aclose()
        stranger = await refused(opened(f"rediss://localhost:{port}"), "certificate")
        await stranger.aclose()
    finally:
        server.close()


async def test_a_socket_of_this_machine() -> None:
    server = RedisServer("--unixsocket", "./r.sock")
    try:
        store = await reached(opened(f"redis+unix://{server.folder}/r.sock"))
        await store.aclose()
    finally:
        server.close()


@pytest.mark.slow
async def test_a_failover_is_followed(tmp_path: Path) -> None:
    """Sentinels promote a replica when the master dies; limits go on, exact as far as the new master knows."""
    master, replica = RedisServer(), RedisServer()
    replica.client().replicaof("127.0.0.1", str(master.port))
    port, program = free_port(), server_program()
    assert program is not None
    settings = tmp_path / "sentinel.conf"
    settings.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {tmp_path}\nsentinel monitor main 127.0.0.1 {master.port} 1\n"
        "sentinel down-after-milliseconds main 200\nsentinel failover-timeout main 1000\n"
    )
    sentinel = _started([program, str(settings), "--sentinel"])
    limits = KeyLimits(requests_per_minute=100)
    try:
        await until(lambda: replica.client().info("replication")["master_link_status"] == "up")
        await until(lambda: _sentinel_knows(port))
        store = await reached(opened(f"redis+sentinel://127.0.0.1:{port}/main"))
        for _ in range(5):
            await store.limits.reserve("k", limits)
        await store.replicas.beat()
        await until(lambda: replica.client().exists("dragoman:replicas") == 1)
        master.kill()
        await until(lambda: bool(store.health().away))
        await until(lambda: not store.health().away)
        await store.flush()
        assert replica.client().info("replication")["role"] == "master"
        assert await store.limits.reserve("k", limits) == Allowed(94)
        await store.aclose()
    finally:
        sentinel.kill()
        sentinel.wait()
        master.close()
        replica.close()


@pytest.mark.slow
async def test_a_cluster_keeps_all_of_a_gateway_on_one_server_and_a_failover_is_followed() -> None:
    """Counts, values, lessons and budgets; then the server that keeps them dies, and its replica takes its place."""
    cluster = RedisNodes("{dragoman}:replicas")
    limits = KeyLimits(requests_per_minute=100)
    periods = periods_at(Budget(total=10), 1_800_000_000.0)
    try:
        one, two = await reached(opened(cluster.url)), await reached(opened(cluster.url))
        await one.vault.put(OWNER, {"call_1": parts()})
        assert await two.vault.find(OWNER, ["call_1"]) == {"call_1": parts()}
        for store in (one, two) * 3:
            assert isinstance(await store.limits.reserve("k", limits), Allowed)
            assert isinstance(await store.budgets.reserve("k", periods, 1.0), tuple)
        assert await one.limits.reserve("k", limits) == Allowed(93)
        await one.lessons.put(lesson("a", Time()))
        assert {len(one.client().keys("*")) > 0 for one in cluster.masters if one is not cluster.keeper} == {False}
        await until(
            lambda: cluster.replica.client().execute_command("DBSIZE") == len(cluster.keeper.client().keys("*"))
        )
        await one.replicas.beat()
        cluster.keeper.kill()
        for store in (one, two):
            await until(lambda store=store: bool(store.health().away))  # type: ignore[misc]
        for store in (one, two):
            await until(lambda store=store: not store.health().away)  # type: ignore[misc]
        await one.flush()
        assert cluster.replica.client().info("replication")["role"] == "master"
        assert await one.limits.reserve("k", limits) == Allowed(92)
        assert (await two.budgets.reserve("k", periods, 1.0))[0] == 7.0  # type: ignore[index]
        assert await two.forget("anna") == 1
        for store in (one, two):
            await store.aclose()
    finally:
        cluster.close()


async def test_one_server_of_a_cluster_is_not_taken_for_a_server_by_itself() -> None:
    server = RedisServer("--cluster-enabled", "yes")
    try:
        store = await refused(opened(server.url), "CLUSTER", "CROSSSLOT")
        assert await store.limits.reserve("k", KeyLimits(requests_per_minute=5)) == Allowed(4)
        await store.aclose()
    finally:
        server.close()


def _started(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, preexec_fn=dies_with_us())


def _sentinel_knows(port: int) -> bool:
    import redis

    try:
        masters = redis.Redis(port=port).execute_command("SENTINEL", "MASTERS")
    except redis.ConnectionError:
        return False
    found = masters[0] if isinstance(masters, list) else next(iter(masters.values()))
    flat = found if isinstance(found, dict) else dict(zip(found[::2], found[1::2], strict=True))
    count = flat.get("num-slaves", flat.get(b"num-slaves", 0))
    return int(count) >= 1
