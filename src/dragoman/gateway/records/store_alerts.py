"""What the store lost or could not read. No request fails for it, so the log must say so."""

from __future__ import annotations

from dragoman.config.schema.log import LogLevel
from dragoman.gateway.records.records import Records
from dragoman.store.contracts.health import Absence, StoreHealth
from dragoman.store.store import Store


class StoreAlerts:
    """Compares the health of the store and of the files of lines with what it was, and logs each new loss once."""

    def __init__(self, store: Store, records: Records) -> None:
        self._store = store
        self._records = records
        self._seen: dict[str, StoreHealth] = {}
        self._away: dict[str, Absence] = {}

    def check(self) -> None:
        self._tell_away(self._store.health())
        self._compare("store", self._store.health())
        self._compare("log.provider_errors", self._records.failures.health())
        self._compare("log.exchanges", self._records.exchanges.health())

    def _tell_away(self, health: StoreHealth) -> None:
        """One line when a server goes away, and one when it is back."""
        before, self._away = self._away, {one.place: one for one in health.away}
        for place in self._away.keys() - before.keys():
            one = self._away[place]
            what = "ledger-away" if one.is_ledger else "shared-state-away"
            self._log({"event": what, "error": self._records.redactor.text(str(one)), "effect": one.effect})
        for place in before.keys() - self._away.keys():
            back: dict[str, object] = {"event": "shared-state-back", "place": place, "decided_alone": health.local}
            if before[place].is_ledger:
                back = {"event": "ledger-back", "place": place}
            self._records.lines.add(LogLevel.WARNING, back)

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
