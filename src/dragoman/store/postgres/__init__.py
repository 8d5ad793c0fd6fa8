"""The ledger in PostgreSQL, for replicas that share it."""

from dragoman.store.postgres.inspection import inspect
from dragoman.store.postgres.part import PostgresPart, open_part

__all__ = ["PostgresPart", "inspect", "open_part"]
