"""What is written down of a prompt that is stored at a provider: an entry of its own, since no request waits for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dragoman.config.schema.log import LogLevel
from dragoman.conversation.changes import Change, Loss
from dragoman.engine.history.stored_prompts import STORED_PROMPT
from dragoman.engine.library.report_summary import write_report
from dragoman.store.contracts.budgets import periods_at
from dragoman.store.ledger_entry import Entry
from dragoman.upstream.stored_prompts import StoredBooking

if TYPE_CHECKING:
    from dragoman.gateway.services import Services


def record_stored(services: Services, booked: StoredBooking) -> None:
    """Put it into the ledger, the counts and the log, and count it against the budget of its key."""
    records, store, destination = services.records, services.store, booked.destination
    report = write_report((Change(STORED_PROMPT, "", booked.did, str(Loss.NOTHING), "added"),))
    entry = Entry(
        id=next(services.traffic.ids),
        time=time.time(),
        caller=booked.caller,
        client_dialect=destination.target.dialect,
        upstream_dialect=destination.target.dialect,
        asked=booked.model,
        target=destination.name,
        upstream_model=destination.target.model,
        changes=report.json,
        input_tokens=booked.tokens,
        written_tokens=booked.tokens,
        cost=booked.cost,
        session=booked.session,
        cache_saved=-booked.cost,
    )
    store.ledger.record(entry)
    records.recent.note(entry)
    records.metrics.add(entry, report.counts)
    line = {"event": STORED_PROMPT, "id": entry.id, "key": entry.caller, "target": entry.target, "did": booked.did}
    records.lines.add(LogLevel.INFO, {**line, "cost": round(booked.cost, 9)})
    key = services.live.config.keys.get(booked.caller)
    if key is not None and key.budget is not None:
        store.budgets.settle(booked.caller, periods_at(key.budget, services.clocks.wall()), booked.cost)
