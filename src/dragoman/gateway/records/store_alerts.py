"""What the store lost or could not read. No request fails for it, so the log must say so."""

from __future__ import annotations

from dragoman.config.schema.log import LogLevel
from dragoman.gateway.records.records import Records
from dragoman.store.contracts.health import StoreHealth
from dragoman.store.store import Store


class StoreAlerts:
    """Compares the health of the store and of the files of lines with what it was, and logs each new loss once."""

    def __init__(self, store: Store, records: Records) -> None:
        self._store = store
        self._records = records
        self._seen: dict[str, StoreHealth] = {}
        self._away = False

    def check(self) -> None:
        self._tell_away(self._store.health())
        self._compare("store", self._store.health())
        self._compare("log.provider_errors", self._records.failures.health())
        self._compare("log.exchanges", self._records.exchanges.health())

    def _tell_away(self, health: StoreHealth) -> None:
        """One line when shared state goes away, and one when it is back."""
        is_away = health.away is not None
        if is_away is self._away:
            return
        self._away = is_away
        redact = self._records.redactor.text
        if is_away:
            what = f"limits are shared out among {health.replicas}; state is what this process knows"
            self._log({"event": "shared-state-away", "error": redact(health.away or ""), "effect": what})
        else:
            line = {"event": "shared-state-back", "place": self._store.place}
            self._records.lines.add(LogLevel.WARNING, {**line, "decided_alone": health.local})

    def _compare(self, what: str, health: StoreHealth) -> None:
        seen = self._seen.get(what, StoreHealth())
        self._seen[what] = health
        lost = health.failed + health.dropped - seen.failed - seen.dropped
        if lost > 0:
            why = health.last_error or "too many were waiting"
            self._log({"event": "not-written", "what": what, "entries": lost, "error": why})
        if health.unread > seen.unread:
            unread = health.unread - seen.unread
            self._log({"event": "not-read", "what": what, "reads": unread, "error": health.last_error})
        if health.replaced > seen.replaced:
            why = f"{self._store.place} was deleted or replaced while in use; a new one was begun"
            self._log({"event": "store-replaced", "what": what, "error": why})

    def _log(self, line: dict[str, object]) -> None:
        self._records.lines.add(LogLevel.ERROR, line)
