"""What shared state costs: CPU and latency of each need in Redis, commands and bytes per request.

    python bench/shared_state.py [--count 20000] [--url redis://…]

Without an address it starts a redis-server of its own. CPU is that of this process; what Redis itself uses is told by
Redis. `redis-py` runs the same script with the usual client, for comparison.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import redis.asyncio

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.store.contract.backends import OWNER, parts
from tests.store.redis_server import RedisServer

from dragoman.config.schema.keys import Budget
from dragoman.config.schema.store import RedisOptions, StoreConfig
from dragoman.store.contracts.budgets import periods_at
from dragoman.store.contracts.pins import Pin, PinOwner
from dragoman.store.contracts.rate_limits import KeyLimits
from dragoman.store.redis_store import RedisStore, parse_address

AT_ONCE = 16
LIMITS = KeyLimits(requests_per_minute=100_000_000, tokens_per_minute=100_000_000_000)
PERIODS = periods_at(Budget(total=1e12, day=1e12), time.time())
Work = Callable[[int], Awaitable[object]]


class Cost:
    """µs of CPU of this process and of Redis, and milliseconds that a caller waits, for one call."""

    def __init__(self, count: int, own: float, server: tuple[float, float], waits: list[float]) -> None:
        self.own, self.server, self.bytes = own / count * 1e6, server[0] / count * 1e6, server[1] / count
        cut = statistics.quantiles(waits, n=100)
        self.p50, self.p99 = cut[49] * 1e3, cut[98] * 1e3

    def __str__(self) -> str:
        return f"{self.own:8.1f} {self.server:10.1f} {self.bytes:8.0f} {self.p50:10.3f} {self.p99:10.3f}"


async def measure(client: Any, count: int, work: Work, at_once: int = AT_ONCE) -> Cost:
    """Let several tasks do it, as requests would."""
    waits: list[float] = []

    async def one(first: int) -> None:
        for number in range(first, count, at_once):
            started = time.perf_counter()
            await work(number)
            waits.append(time.perf_counter() - started)

    before, cpu = await used(client), time.process_time()
    await asyncio.gather(*(one(first) for first in range(at_once)))
    own = time.process_time() - cpu
    after = await used(client)
    return Cost(count, own, (after[0] - before[0], after[1] - before[1]), waits)


async def used(client: Any) -> tuple[float, float]:
    """Seconds of CPU of Redis, and bytes that went in and out of it."""
    info = await client.info("cpu") | await client.info("stats")
    seconds = float(info["used_cpu_sys"]) + float(info["used_cpu_user"])
    return seconds, float(info["total_net_input_bytes"]) + float(info["total_net_output_bytes"])


async def run(url: str, count: int) -> None:
    store = RedisStore(parse_address(url), StoreConfig(redis=RedisOptions(prefix="bench", deadline_ms=1000)))
    await store.start()
    client: Any = redis.asyncio.Redis.from_url(url)
    print(f"{'':26} µs here   µs Redis    bytes     ms p50     ms p99")
    needs: dict[str, Work] = {
        "limits.reserve": lambda n: store.limits.reserve(f"k{n % 100}", LIMITS, 100),
        "budgets.reserve": lambda n: store.budgets.reserve(f"k{n % 100}", PERIODS, 0.01),
        "vault.put": lambda n: store.vault.put(OWNER, {f"call_{n}": parts("s" * 400)}),
        "vault.find, known here": lambda n: store.vault.find(OWNER, [f"call_{count - 1 - n % 1000}"]),
        "vault.find, not there": lambda n: store.vault.find(OWNER, [f"none_{n}"]),
        "pins.put": lambda n: store.pins.put(PinOwner("anna"), {f"call_{n}": Pin("groq/x", 1.0)}),
    }
    for name, work in needs.items():
        print(f"{name:26} {await measure(client, count, work)}")
    alone = await measure(client, count // 4, needs["limits.reserve"], 1)
    print(f"{'limits.reserve, one by one':26} {alone}")
    sha = store._scripts.count.decode()
    keys = ("bench:x", "bench:x:order")
    print(f"{'redis-py, limits.reserve':26} ", end="")
    print(
        await measure(
            client, count, lambda n: client.evalsha(sha, 2, *keys, 10**8, 10**11, 1, 100, 0.0, 1, "b", 10**12)
        )
    )
    await sizes(client, store)
    await store.aclose()
    await client.aclose()


async def sizes(client: Any, store: RedisStore) -> None:
    """Bytes of what one request leaves behind, as Redis counts them."""
    for need in ("reasoning", "pins"):
        entries = await client.zcard(f"bench:{need}:used")
        total = 0
        async for key in client.scan_iter(f"bench:{need}:*", count=1000):
            total += await client.memory_usage(key, samples=0) or 0
        print(f"{need}: {total / max(entries, 1):.0f} bytes for each of {entries} entries")
    print(f"counts of one key over a minute: {await client.memory_usage('bench:x', samples=0)} bytes at most so far")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=20_000)
    options.add_argument("--url")
    given = options.parse_args()
    server = RedisServer() if given.url is None else None
    url = given.url or (server.url if server is not None else "")
    try:
        try:
            import uvloop

            uvloop.run(run(url, given.count))
        except ImportError:
            asyncio.run(run(url, given.count))
    finally:
        if server is not None:
            server.close()


if __name__ == "__main__":
    main()
