"""What is told of the servers of a store that are away, and what requests are refused for it."""

from __future__ import annotations

import asyncio
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from dragoman.config.schema.log import Log
from dragoman.gateway.callers.caller import Refused
from dragoman.gateway.http.client_errors import as_failure
from dragoman.gateway.records.request_log import RequestLog
from dragoman.gateway.records.store_alerts import StoreAlerts
from dragoman.gateway.services import Services, open_services
from dragoman.gateway.state.carried_summaries import _find_seals
from dragoman.store.contracts.health import Absence, StoreHealth
from dragoman.store.errors import StoreUnavailable

STATE = Absence("redis://one", "refused", "limits are shared out among 2")
LEDGER = Absence("postgresql://two", "refused", "entries wait on the disk", is_ledger=True)
STEPS = [
    ((), []),
    ((LEDGER,), [("ledger-away", "entries wait on the disk")]),
    ((LEDGER, STATE), [("shared-state-away", "limits are shared out among 2")]),
    ((LEDGER, STATE), []),
    ((STATE,), [("ledger-back", None)]),
    ((), [("shared-state-back", None)]),
]


@pytest.fixture
def services(tmp_path: Path) -> Services:
    file = tmp_path / "dragoman.yaml"
    file.write_text("providers: {openai: {api_key: k}}\nstore: {kind: memory}\n")
    return open_services(file)


def keep_away(monkeypatch: pytest.MonkeyPatch, services: Services, *away: Absence) -> None:
    monkeypatch.setattr(type(services.store), "health", lambda store: StoreHealth(away=away))


def test_each_server_is_told_when_it_goes_and_when_it_is_back(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    alerts = StoreAlerts(services.store, services.records)
    for away, told in STEPS:
        stream = StringIO()
        services.records.lines = RequestLog(Log(), stream)
        keep_away(monkeypatch, services, *away)
        alerts.check()
        lines: list[dict[str, Any]] = [json.loads(line) for line in stream.getvalue().splitlines()]
        assert [(line["event"], line.get("effect")) for line in lines] == told


def test_a_question_for_a_store_that_is_away_may_be_asked_again() -> None:
    failure = as_failure(StoreUnavailable("the ledger cannot be read"))
    assert (failure.status, failure.retry_after) == (503, 1.0)


def test_a_summary_waits_for_the_secret_and_not_for_the_ledger(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_away(monkeypatch, services, STATE, LEDGER)
    with pytest.raises(Refused, match="secret"):
        asyncio.run(_find_seals(services))
    keep_away(monkeypatch, services, LEDGER)
    assert asyncio.run(_find_seals(services)).seal("anna", b"words")
