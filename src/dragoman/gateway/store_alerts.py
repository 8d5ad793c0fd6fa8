"""What could not be written down. No request fails for it, so somebody must say so."""

from __future__ import annotations

from dragoman.config.schema import LogLevel
from dragoman.gateway.services import Services
from dragoman.store.store import Health


class Losses:
    """Looks now and then how the ledger and the file of refusals are doing, and tells each new loss once."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._seen: dict[str, int] = {}

    def look(self) -> None:
        self._compare("store", self._services.store.health())
        self._compare("log.provider_errors", self._services.failures.health())

    def _compare(self, what: str, health: Health) -> None:
        lost, seen = health.failed + health.dropped, self._seen.get(what, 0)
        self._seen[what] = lost
        if lost > seen:
            why = health.last_error or "too many were waiting"
            line = {"event": "not-written", "what": what, "entries": lost - seen, "error": why}
            self._services.lines.add(LogLevel.ERROR, line)
