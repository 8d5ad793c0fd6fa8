"""`store`: what outlives a request."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from dragoman.config.schema.start_keys import at_start
from dragoman.config.secret import Secret


class StoreKind(StrEnum):
    """Where a single machine keeps its state."""

    MEMORY = "memory"
    SQLITE = "sqlite"


class Vault(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Opaque provider state that the client's dialect cannot carry, kept for the next turn."""

    enabled: Annotated[bool, Meta(description="Keep it at all.")] = True
    per_caller: Annotated[int, at_start("Entries of one key.", ge=1)] = 4096
    entries: Annotated[int, at_start("Entries of all keys together.", ge=1)] = 65_536
    max_bytes: Annotated[int, at_start("Bytes of all entries together.", ge=1024)] = 268_435_456
    ttl: Annotated[float, at_start("Seconds after its last use that an entry is forgotten.", gt=0)] = 86_400.0


class RedisOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How replicas share their state in Redis."""

    prefix: Annotated[
        str,
        Meta(min_length=1, max_length=100, description="What all keys begin with. Replicas share what has the same."),
    ] = "dragoman"
    deadline_ms: Annotated[
        float,
        Meta(
            gt=0,
            le=10_000,
            description="Milliseconds that a request waits for limits and budgets in Redis; then what this replica "
            "knows decides. State of conversations is waited for a second at least.",
        ),
    ] = 5.0
    replicas: Annotated[
        Annotated[int, Meta(ge=1)] | None,
        Meta(
            description="How many processes share the limits. While Redis is away each allows its share. By default "
            "those that Redis last knew.",
        ),
    ] = None
    ca_file: Annotated[
        str | None, Meta(description="PEM certificates that are trusted for `rediss://`, in addition to the system's.")
    ] = None


class PostgresOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How replicas share the ledger in PostgreSQL."""

    connections: Annotated[
        int, Meta(ge=1, le=100, description="Connections for questions; each process has one more that writes.")
    ] = 4
    timeout: Annotated[
        float, Meta(gt=0, le=600, description="Seconds after which a statement is given up, or a wait for a lock.")
    ] = 10.0
    spool_mb: Annotated[
        int,
        Meta(
            ge=0,
            description="Megabytes on the disk, for each process, in which entries wait while PostgreSQL is away. "
            "Beyond it they are counted as dropped; with 0 they wait in memory, within `queue`.",
        ),
    ] = 256


_REDIS = (
    *("redis", "rediss", "redis+sentinel", "rediss+sentinel"),
    *("redis+cluster", "rediss+cluster", "redis+unix"),
)
HOT_SCHEMES = dict.fromkeys(_REDIS, "redis_store")
LEDGER_SCHEMES = dict.fromkeys(("postgresql", "postgres"), "postgres")
"""How the address of a server begins, and the package of `store/` that knows it."""


class StoreConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What outlives a request."""

    kind: Annotated[
        StoreKind,
        at_start("`sqlite` survives a restart and is shared by several workers; `memory` does neither."),
    ] = StoreKind.SQLITE
    path: Annotated[
        str | None,
        at_start(
            "The SQLite file, relative to this file's folder; by default `dragoman.sqlite3` beside this "
            "file, and without a configuration file in the user's state directory.",
            examples=["/var/lib/dragoman/store.sqlite3"],
        ),
    ] = None
    hot: Annotated[
        Secret | None,
        at_start(
            "Where replicas share limits, budgets, reasoning state, pins, lessons and conversations: "
            "`redis://`, `rediss://` (TLS), `redis+sentinel://HOST,HOST/NAME` or `redis+unix://`. By default they are "
            "in the SQLite file.",
            examples=["rediss://dragoman:${REDIS_PASSWORD}@redis.internal:6379/0"],
        ),
    ] = None
    ledger: Annotated[
        Secret | None,
        at_start(
            "Where replicas share the ledger: `postgresql://`. By default it is in the SQLite file.",
            examples=["postgresql://dragoman:${PG_PASSWORD}@db.internal/dragoman"],
        ),
    ] = None
    redis: Annotated[RedisOptions, at_start("Options of `hot`.")] = RedisOptions()
    postgres: Annotated[PostgresOptions, at_start("Options of `ledger`.")] = PostgresOptions()
    durable_ledger: Annotated[
        bool,
        Meta(
            description="End an answer when its request is in the ledger, for which it waits two seconds at most: a "
            "killed process loses none that was answered. An answer takes a few milliseconds longer."
        ),
    ] = False
    keep_requests: Annotated[int, Meta(ge=0, description="Requests in the ledger.")] = 10_000
    keep_days: Annotated[float, Meta(gt=0, description="Days after which a request leaves the ledger.")] = 30.0
    keep_bodies: Annotated[
        bool,
        Meta(
            description="Keep request and answer bodies too, of a streamed answer the first mebibyte: conversations "
            "are then on the disk."
        ),
    ] = False
    queue: Annotated[
        int, at_start("Entries that may wait to be written; beyond it they are counted as dropped.", ge=1)
    ] = 10_000
    vault: Annotated[Vault, Meta(description="Opaque provider state.")] = Vault()
