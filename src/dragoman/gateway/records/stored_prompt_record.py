"""What is written down of a prompt that is stored at a provider: an entry of its own, since no request waits for it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from dragoman.config.schema.keys import ClientKey
from dragoman.config.schema.log import LogLevel
from dragoman.conversation.changes import Change, Loss
from dragoman.engine.history.stored_prompts import STORED_PROMPT
from dragoman.engine.library.report_summary import write_report
from dragoman.gateway.records.records import Records
from dragoman.store.clock import Clocks
from dragoman.store.contracts.budgets import Budgets, periods_at
from dragoman.store.ledger_entry import Entry
from dragoman.store.store import Store
from dragoman.upstream.stored_prompts import StoredBooking


def record_stored(records: Records, store: Store, id: str, booked: StoredBooking) -> None:
    """Put it into the ledger, the counts and the log, under an id of its own."""
    destination = booked.destination
    report = write_report((Change(STORED_PROMPT, "", booked.did, str(Loss.NOTHING), "added"),))
    entry = Entry(
        id=id,
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


def book_stored(budgets: Budgets, keys: Mapping[str, ClientKey], clocks: Clocks, booked: StoredBooking) -> None:
    """Count it against the budget of its key."""
    key = keys.get(booked.caller)
    if key is not None and key.budget is not None:
        budgets.settle(booked.caller, periods_at(key.budget, clocks.wall()), booked.cost)
