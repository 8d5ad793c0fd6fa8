"""What is too old or too much leaves the ledger."""

from __future__ import annotations

from dragoman.config.schema.store import StoreConfig
from dragoman.store.postgres.connection import DatabaseConnection
from dragoman.store.postgres.rows import Shelves, shelf_of_partition

FEWEST = 256
_PARTITIONS = """
SELECT child.relname AS name FROM pg_inherits JOIN pg_class child ON child.oid = inhrelid
WHERE inhparent = 'dragoman_requests'::regclass"""
_TOO_OLD = "DELETE FROM dragoman_requests WHERE shelf <= $1 AND time < $2"
_TOO_MANY = """
DELETE FROM dragoman_requests WHERE (time, id) <= (
    SELECT time, id FROM dragoman_requests ORDER BY time DESC, id DESC OFFSET $1 LIMIT 1)"""


def sweep_interval(keep_requests: int) -> int:
    """Entries between two sweeps: the larger the ledger, the longer it takes to find its end."""
    return max(FEWEST, keep_requests // 20)


async def sweep(connection: DatabaseConnection, now: float, config: StoreConfig) -> int:
    """Remove what is too old, whole days at once, and what is too much; how many days and entries."""
    shelves = Shelves(now, config.keep_days)
    names = [row["name"] for row in await connection.fetch(_PARTITIONS)]
    days = {name: shelf_of_partition(name) for name in names}
    old = [name for name, day in days.items() if day is not None and day < shelves.first]
    async with connection.transaction():
        await connection.execute("SET LOCAL lock_timeout = '1s'")  # a long question goes before
        for name in old:
            await connection.execute(f'DROP TABLE IF EXISTS "{name}"')
    aged = await connection.execute(_TOO_OLD, shelves.first, now - config.keep_days * 86_400.0)
    beyond = await connection.execute(_TOO_MANY, config.keep_requests)
    return len(old) + count_affected(aged) + count_affected(beyond)


def count_affected(status: str) -> int:
    """The number in the status of a statement, such as `DELETE 3`."""
    count = status.rpartition(" ")[2]
    return int(count) if count.isdigit() else 0
