"""A real PostgreSQL for tests, started once and ended with the process."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.child_processes import at_end, dies_with_us

USER = "dragoman"
_UNPRIVILEGED = "nobody"
_FAST = ("-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=60")


class PostgresServer:
    """A server in a folder of its own, on a socket in it. PostgreSQL does not run as root: then it is `nobody`'s."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._user = _UNPRIVILEGED if os.getuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="dragoman-pg-", dir="/tmp"))
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self._run("initdb", "-D", "data", "-U", USER, "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C")
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        command = [self._programs / "postgres", "-D", "data", "-k", self.folder, "-c", "listen_addresses=", *_FAST]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(
            command,
            cwd=self.folder,
            user=self._user,
            stdout=quiet,
            stderr=quiet,
            preexec_fn=dies_with_us(signal.SIGQUIT),
        )
        for _ in range(300):
            if self._ready():
                return
            time.sleep(0.1)
        raise RuntimeError("PostgreSQL did not start")

    @contextmanager
    def standing_still(self) -> Iterator[None]:
        """All its processes stopped: connections stay open, and nothing is answered."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        family = [self.pid, *map(int, children)]
        for one in family:
            os.kill(one, signal.SIGSTOP)
        try:
            yield
        finally:
            for one in family:
                os.kill(one, signal.SIGCONT)

    def kill(self) -> None:
        """As a crash does it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)  # at once
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, schema: str) -> str:
        return f"postgresql://{USER}@/postgres?host={quote(str(self.folder))}&search_path={schema}"

    def new_schema(self) -> str:
        """The address of a schema that has nothing in it."""
        name = f"t{uuid.uuid4().hex[:12]}"
        self.execute(f"CREATE SCHEMA {name}")
        return self.url(name)

    def execute(self, statement: str) -> str:
        command = ["psql", "-h", self.folder, "-U", USER, "-d", "postgres", "-qAtc", statement]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd=self.folder).stdout

    def _run(self, program: str, *arguments: str) -> None:
        command = [self._programs / program, *arguments]
        subprocess.run(
            command, check=True, cwd=self.folder, user=self._user, capture_output=True, preexec_fn=dies_with_us()
        )

    def _ready(self) -> bool:
        command = [self._programs / "pg_isready", "-q", "-h", self.folder]
        return subprocess.run(command, check=False).returncode == 0


def programs() -> Path | None:
    """Where the newest server's programs are."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found else None


@cache
def running_postgres() -> PostgresServer:
    """The one server of this process; the test is skipped if there is none."""
    pytest.importorskip("asyncpg", reason="pip install asyncpg")
    folder = programs()
    if folder is None:
        pytest.skip("no PostgreSQL server here: apt-get install postgresql")
    server = PostgresServer(folder)
    at_end(server.stop)
    return server
