"""Where Redis is: the address of `store.hot`.

redis://USER:PASSWORD@HOST:PORT/DATABASE
rediss://…                                     the same over TLS
redis+sentinel://HOST:PORT,HOST:PORT/NAME/0    the master that sentinels know by this name; rediss+sentinel over TLS
redis+cluster://HOST:PORT,HOST:PORT            a cluster that these servers are some of; rediss+cluster over TLS
redis+unix:///path/to/socket?db=0
"""

from __future__ import annotations

from functools import partial
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import Struct

from dragoman.store.errors import StoreError

Host = tuple[str, int]
PORT, SENTINEL_PORT = 6379, 26379


class RedisAddress(Struct, frozen=True):
    """One server, a socket, sentinels that know the server by its `master` name, or some servers of a cluster."""

    hosts: tuple[Host, ...] = ()
    unix: str | None = None
    master: str | None = None
    cluster: bool = False
    database: int = 0
    user: str | None = None
    password: str | None = None
    tls: bool = False

    @property
    def place(self) -> str:
        """The address in words for people: without the password."""
        kind = "+sentinel" if self.master else "+unix" if self.unix else "+cluster" if self.cluster else ""
        scheme = ("rediss" if self.tls else "redis") + kind
        where = self.unix or ",".join(f"{host}:{port}" for host, port in self.hosts)
        return f"{scheme}://{where}/" + (f"{self.master}/" if self.master else "") + str(self.database)


def parse_address(url: str) -> RedisAddress:
    """Read an address. Raises StoreError, which does not show the password."""
    try:
        return _parse(url)
    except ValueError:
        forms = "redis://HOST:PORT/0, rediss://…, redis+sentinel://HOST:PORT/NAME/0, redis+cluster://HOST:PORT or "
        forms += "redis+unix:///PATH"
        raise StoreError(f"store.hot is no address of Redis; write {forms}") from None


def _parse(url: str) -> RedisAddress:
    scheme, _, rest = url.partition("://")
    scheme = scheme.lower()
    parts = urlsplit("redis://" + rest)
    user, password = _credentials(parts.netloc)
    known = partial(RedisAddress, user=user, password=password, tls=scheme.startswith("rediss"))
    steps = [unquote(step) for step in parts.path.split("/") if step]
    if scheme == "redis+unix":
        database = int(parse_qs(parts.query).get("db", ["0"])[0])
        return known(unix=unquote(parts.path), database=database)
    if scheme.endswith("+sentinel"):
        hosts = _hosts(parts.netloc, SENTINEL_PORT)
        return known(hosts=hosts, master=_take_only(steps[:1]), database=_database(steps[1:]))
    hosts = _hosts(parts.netloc, PORT)
    if scheme.endswith("+cluster"):
        return known(hosts=hosts, cluster=_no_more(steps))
    return known(hosts=hosts[:1], database=_database(steps))


def _credentials(netloc: str) -> tuple[str | None, str | None]:
    before, at, _ = netloc.rpartition("@")
    if not at:
        return None, None
    user, colon, password = before.partition(":")
    return unquote(user) or None, unquote(password) if colon else None


def _hosts(netloc: str, usual: int) -> tuple[Host, ...]:
    found = []
    for one in netloc.rpartition("@")[2].split(","):
        parts = urlsplit(f"//{one}")
        if not parts.hostname:
            raise ValueError("no host")
        found.append((parts.hostname, parts.port or usual))
    return tuple(found)


def _database(steps: list[str]) -> int:
    return int(_take_only(steps)) if steps else 0


def _take_only(steps: list[str]) -> str:
    if len(steps) != 1:
        raise ValueError("one step is wanted")
    return steps[0]


def _no_more(steps: list[str]) -> bool:
    """A cluster has one database."""
    if steps not in ([], ["0"]):
        raise ValueError("a cluster has one database")
    return True
