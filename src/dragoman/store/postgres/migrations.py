"""The tables, and what takes a database from each version to the next.

Migrations only go forward. During a roll-out two versions of the program write the same tables, so a migration adds:
tables, indexes, columns with a default. If one must do more, it sets `oldest`: programs before that version then
stop using the database and say so.
"""

from __future__ import annotations

from msgspec import Struct

from dragoman.store.errors import StoreError
from dragoman.store.postgres.connection import DatabaseConnection

LOCK = 7_205_759_403
"""Of the advisory lock that replicas hold while they change tables."""
_VERSIONS = """
CREATE TABLE IF NOT EXISTS dragoman_schema (
    version integer PRIMARY KEY,
    oldest integer NOT NULL,
    applied timestamptz NOT NULL DEFAULT now()
)"""
_CURRENT = "SELECT max(version) AS version, max(oldest) AS oldest FROM dragoman_schema"
_APPLIED = "INSERT INTO dragoman_schema (version, oldest) VALUES ($1, $2)"


class Migration(Struct, frozen=True):
    """Statements, and the oldest version of the program that may go on using the tables after them."""

    statements: tuple[str, ...]
    oldest: int = 1


_FIRST = Migration(
    (
        """
CREATE TABLE dragoman_requests (
    shelf date NOT NULL,
    id text COLLATE "C" NOT NULL,
    time double precision NOT NULL,
    day text COLLATE "C" NOT NULL,
    caller text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    asked text COLLATE "C" NOT NULL,
    failed boolean NOT NULL,
    input bigint NOT NULL,
    output bigint NOT NULL,
    cached bigint NOT NULL,
    reasoning bigint NOT NULL,
    seconds double precision NOT NULL,
    cost double precision NOT NULL,
    estimated boolean NOT NULL,
    estimated_cost double precision NOT NULL,
    unpriced boolean NOT NULL,
    entry bytea NOT NULL,
    PRIMARY KEY (shelf, id)
) PARTITION BY RANGE (shelf)""",
        "CREATE INDEX dragoman_requests_by_id ON dragoman_requests (id)",
        "CREATE INDEX dragoman_requests_by_time ON dragoman_requests (time, id)",
        "CREATE INDEX dragoman_requests_by_caller ON dragoman_requests (caller, time)",
    )
)
MIGRATIONS = (_FIRST,)


class TablesVersion(Struct, frozen=True):
    """The version of the tables, 0 if there are none, and the oldest version of the program that may use them."""

    version: int
    oldest: int

    @property
    def too_new(self) -> str | None:
        """Why this program must not use the tables; None if it may."""
        if self.oldest <= len(MIGRATIONS):
            return None
        return (
            f"the tables in PostgreSQL are of version {self.version}, which needs a newer dragoman; this one knows "
            f"{len(MIGRATIONS)}. Upgrade it"
        )


async def tables_version(connection: DatabaseConnection) -> TablesVersion:
    """The version as it is. `dragoman_schema` must be there."""
    [row] = await connection.fetch(_CURRENT)
    return TablesVersion(row["version"] or 0, row["oldest"] or 0)


async def migrate(connection: DatabaseConnection) -> int:
    """Bring the tables to this program's version; how many migrations that took. Raises StoreError."""
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
        await connection.execute(_VERSIONS)
        found = await tables_version(connection)
        if (why := found.too_new) is not None:
            raise StoreError(why)
        version = found.version
        for number, migration in enumerate(MIGRATIONS[version:], version + 1):
            for statement in migration.statements:
                await connection.execute(statement)
            await connection.execute(_APPLIED, number, migration.oldest)
        return max(len(MIGRATIONS) - version, 0)
