"""Shared secrets: random bytes that all workers and replicas agree on."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from dragoman.store.contracts.expiring_table import NO_CALLER, ONLY, ExpiringTable


class SharedSecrets:
    """Secrets by name. What is sealed with one can be opened by every process of the same store.

    Atomicity: of several that propose one at once, the first is kept, and all get it.

    Expiry and bounds: a secret is kept for as long as it is used at least once in ten years.

    What may be lost: with the file or the server all secrets are; what was sealed with them can be opened no more. The
    memory store loses them at a restart. `secret` in the configuration takes the place of a kept one.

    What a failure means: the caller gets its own proposal, and the failure counts. `health().is_state_away` tells it.
    """

    def __init__(self, table: ExpiringTable[bytes]) -> None:
        self._table = table

    def agree(self, name: str, proposed: bytes) -> Coroutine[Any, Any, bytes]:
        """The secret of this name; the proposed one if there was none."""
        return self._table.put_first(NO_CALLER, name, ONLY, proposed)
