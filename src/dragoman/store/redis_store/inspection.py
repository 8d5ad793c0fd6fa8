"""What an operator should know about the Redis that replicas share.

Nothing is changed there, except for one key that ends by itself after a second: it proves that scripts may write.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Iterator, Mapping

from redis.exceptions import AuthenticationError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError

from dragoman.store.contracts.server_findings import Gravity, ServerFinding
from dragoman.store.redis_store.address import RedisAddress, parse_address
from dragoman.store.redis_store.connection import RedisAway, RedisConnection, RedisRefused, describe_error, pack
from dragoman.store.redis_store.keys import RedisKeys
from dragoman.store.redis_store.servers import RedisDialer
from dragoman.store.shared_backends import StoreOpening

OLDEST = (5, 0)
"""Before it a script that reads the time may not write."""
PINGS = 5
_NEARLY_FULL = 0.9
_WRITE = "return redis.call('SET', KEYS[1], '1', 'PX', 1000)"
_WRITE_CURES = {
    "READONLY": "name the master in store.hot, or let sentinels find it: redis+sentinel://HOST,HOST/NAME",
    "MISCONF": "Redis cannot save to its disk; its log says why",
    "OOM": "give Redis more maxmemory",
    "NOPERM": "allow the user all commands, scripts included, on keys that begin with store.redis.prefix",
    "MOVED": "it is one of a cluster: redis+cluster://HOST:PORT",
    "CLUSTERDOWN": "the cluster lacks a server for the keys of this gateway",
}

Info = Mapping[str, str]


async def inspect(opening: StoreOpening, seconds: float) -> tuple[ServerFinding, ...]:
    """Ask the Redis of `store.hot` how it is. Raises StoreError if the address is wrong."""
    assert opening.config.hot is not None
    address = parse_address(opening.config.hot.reveal())
    options = opening.config.redis
    try:
        async with asyncio.timeout(seconds):
            keys = RedisKeys(options.prefix, address.cluster)
            connection = RedisConnection(await RedisDialer(address, options.ca_file, keys.replicas).connect())
            try:
                findings = [await _speed(connection, address, options.deadline_ms)]
                findings.append(await _writing(connection, keys))
                return (*findings, *await _settings(connection))
            finally:
                await connection.aclose()
    except (OSError, RedisAway, RedisError) as error:
        return (_report_unreached(address, error, seconds),)


def _report_unreached(address: RedisAddress, error: Exception, seconds: float) -> ServerFinding:
    cause = error.__context__ if isinstance(error, RedisConnectionError) else error  # what the system said
    if isinstance(error, TimeoutError):
        reason = f"did not answer within {seconds:g} s"
    elif isinstance(cause, OSError) and cause.errno:
        reason = f"cannot be reached: {os.strerror(cause.errno)}"
    else:
        reason = f"cannot be used: {describe_error(error)}"
    cure = "is it running, and does store.hot name its address? Until it answers, each replica goes by itself"
    if isinstance(error, AuthenticationError):
        cure = "check user and password of store.hot"
    return ServerFinding("", Gravity.FAULT, f"{address.place} {reason}", cure)


async def _speed(connection: RedisConnection, address: RedisAddress, deadline_ms: float) -> ServerFinding:
    taken = []
    for _ in range(PINGS):
        started = time.perf_counter()
        await connection.ask(pack(("PING",)))
        taken.append((time.perf_counter() - started) * 1000)
    median = statistics.median(taken)
    text = f"{address.place} answers in {median:.2g} ms"
    if median * 2 < deadline_ms:
        return ServerFinding("", Gravity.GOOD, text)
    cure = f"raise store.redis.deadline_ms: a request waits {deadline_ms:g} ms, then this replica decides by itself"
    return ServerFinding("", Gravity.RISK, text, cure)


async def _writing(connection: RedisConnection, keys: RedisKeys) -> ServerFinding:
    try:
        sha = await connection.ask(pack(("SCRIPT", "LOAD", _WRITE)))
        await connection.ask(pack(("EVALSHA", sha, "1", keys.named("doctor"))))
    except RedisRefused as error:
        words = describe_error(error)
        cure = next((cure for word, cure in _WRITE_CURES.items() if word in words), "")
        return ServerFinding("writing", Gravity.FAULT, f"a script cannot write: {words}", cure)
    return ServerFinding("writing", Gravity.GOOD, "scripts can write")


async def _settings(connection: RedisConnection) -> list[ServerFinding]:
    try:
        info = _parse_info(await connection.ask(pack(("INFO",))))
    except RedisRefused:
        text = "version, memory and persistence are not shown to this user"
        return [ServerFinding("settings", Gravity.UNKNOWN, text, "allow it the command INFO to have them checked")]
    return [_version(info), *_memory(info), *_persistence(info, await _snapshots(connection))]


def _parse_info(reply: bytes) -> dict[str, str]:
    lines = reply.decode("utf-8", "replace").splitlines()
    return {name: value for line in lines for name, colon, value in (line.partition(":"),) if colon}


async def _snapshots(connection: RedisConnection) -> str | None:
    """When Redis saves everything: empty for never, None if it does not tell. Hosted ones often do not."""
    try:
        found = await connection.ask(pack(("CONFIG", "GET", "save")))
    except RedisRefused:
        return None
    return found[1].decode() if len(found) > 1 else None


def _version(info: Info) -> ServerFinding:
    version = info.get("redis_version", "?")
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if numbers < OLDEST:
        return ServerFinding("version", Gravity.FAULT, f"Redis {version}", "use Redis 5 or later")
    return ServerFinding("version", Gravity.GOOD, f"Redis {version}, {info.get('redis_mode', 'standalone')}")


def _memory(info: Info) -> Iterator[ServerFinding]:
    """A Redis that evicts forgets budgets; one that is full refuses to count."""
    policy, most = info.get("maxmemory_policy", "?"), int(info.get("maxmemory", 0))
    used, evicted = int(info.get("used_memory", 0)), int(info.get("evicted_keys", 0))
    text = f"{policy}, {_megabytes(used)} of {_megabytes(most) if most else 'any size'} used"
    if evicted:
        text += f"; {evicted:,} keys were evicted since its start"
    if policy != "noeviction" and (most or evicted):
        cure = "set maxmemory-policy to noeviction: what is evicted, such as what a key has spent, is forgotten"
        yield ServerFinding("eviction", Gravity.RISK, text, cure)
    elif most and used > most * _NEARLY_FULL:
        yield ServerFinding(
            "eviction", Gravity.RISK, text, "give it more maxmemory: when it is full it takes no writes"
        )
    else:
        yield ServerFinding("eviction", Gravity.GOOD, text)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.0f} MB"


def _persistence(info: Info, snapshots: str | None) -> Iterator[ServerFinding]:
    """What a restart of Redis forgets."""
    broken = [name for name in ("aof_last_write_status", "rdb_last_bgsave_status") if info.get(name, "ok") != "ok"]
    if broken:
        text = f"Redis could not save: {', '.join(f'{name} is {info[name]}' for name in broken)}"
        yield ServerFinding("persistence", Gravity.FAULT, text, "is its disk full? Its log says why")
    elif info.get("aof_enabled") == "1":
        yield ServerFinding("persistence", Gravity.GOOD, "append-only file: a crash loses about a second")
    elif snapshots is None:
        text = "no append-only file; Redis does not tell whether it takes snapshots"
        yield ServerFinding("persistence", Gravity.UNKNOWN, text, "set appendonly yes, or ask who hosts it")
    elif snapshots:
        text = f"snapshots only (save {snapshots}): a crash forgets what was spent since the last one"
        yield ServerFinding("persistence", Gravity.RISK, text, "set appendonly yes, to lose a second at most")
    else:
        text = "none: a restart forgets budgets, limits and reasoning state that no running gateway holds"
        yield ServerFinding("persistence", Gravity.RISK, text, "set appendonly yes")
