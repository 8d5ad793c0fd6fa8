"""The books: what the ledger says was used is what the emulators say. `make accounting` runs ten thousand requests."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from statistics import median

import pytest
from tests.gateway.accounting import (
    HOMES,
    KEYS,
    KINDS,
    CountingProvider,
    Outcome,
    Played,
    Used,
    count_all,
    models,
    play,
)
from tests.gateway.running import QUICK, Running, gateway, provider, wait_for

from dragoman.store.contracts.budgets import Exhausted, periods_at
from dragoman.store.ledger_entry import Entry
from dragoman.testing import emulator

COUNT = int(os.environ.get("DRAGOMAN_ACCOUNTING", "256"))
STATED = 0.25
"""Nine of ten estimates of answers are within this (docs/guide/tokens.md)."""
BUDGET = {"total": 1_000_000}


class Books:
    """What was played, what the ledger has of it, and what the emulators counted."""

    def __init__(self, running: Running, played: Played, counted: dict[str, CountingProvider]) -> None:
        self.running = running
        self.played = played
        self.entries = {one.id: running.entry(_Answer(one.id)) for one in played.outcomes}
        self.counted: dict[int, list[Used]] = {}
        for one in counted.values():
            for number, used in one.answered.items():
                self.counted.setdefault(number, []).extend(used)

    def entry(self, outcome: Outcome) -> Entry:
        return self.entries[outcome.id]

    def own(self, outcome: Outcome) -> list[Used]:
        return self.counted.get(outcome.job.number, [])


class _Answer:
    def __init__(self, identity: str) -> None:
        self.headers = {"x-dragoman-request-id": identity}


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Books]:
    with ExitStack() as stack:
        emulators = {name: stack.enter_context(emulator(home)) for name, home in HOMES.items()}
        counted = {name: count_all(one, name) for name, one in emulators.items()}
        retries = {**QUICK, "attempts": 2}
        cooldown = {"failures": 1_000_000, "seconds": 0}
        config = {
            "providers": {
                name: provider(HOMES[name], one.base_url, retries=retries, cooldown=cooldown)
                for name, one in emulators.items()
            },
            "models": models(),
            "keys": {
                name: {"sha256": hashlib.sha256(name.encode()).hexdigest(), "admin": name == "anna"} for name in KEYS
            },
            "log": {"level": "error", "provider_errors": {"path": None}},
            "store": {"keep_requests": 100_000, "queue": 100_000},
        }
        config["keys"]["chris"]["budget"] = BUDGET  # type: ignore[index]
        running = stack.enter_context(gateway(config, tmp_path_factory.mktemp("books")))
        played = asyncio.run(play(running.url, COUNT))
        wait_for(lambda: running.busy() == (0, 0))
        assert running.do(lambda: running.services.store.flush(60))
        yield Books(running, played, counted)


@pytest.mark.slow
def test_every_kind_of_request_was_played(books: Books) -> None:
    assert len(books.entries) == len(books.played.outcomes) == COUNT
    assert set(books.played.kinds()) == set(KINDS)
    wrong = [one for one in books.played.outcomes if (one.status == 200) is (one.job.kind == "failed")]
    assert wrong == []


def test_what_from_others_is_booked_exactly(books: Books) -> None:
    told = [one for one in books.played.outcomes if not books.entry(one).estimated and one.job.kind != "failed"]
    for one in told:
        entry, (used,) = books.entry(one), books.own(one)
        assert (entry.input_tokens, entry.output_tokens, entry.cached_tokens) == (used.input, used.output, used.cached)
        assert entry.cost == pytest.approx(used.cost, rel=1e-9)
    kinds = {one.job.kind for one in told}
    assert kinds >= {"whole", "stream", "usage", "retried", "fallback"}
    booked = sum(books.entry(one).input_tokens + books.entry(one).output_tokens for one in told)
    counted = sum(books.own(one)[0].input + books.own(one)[0].output for one in told)
    assert booked == counted
    print(f"\n{len(told)} requests told their usage: {booked} tokens booked, {counted} counted, no difference")


def test_only_what_was_not_told_is_estimated(books: Books) -> None:
    """Whole answers tell, and streams do unless they are Chat streams that nobody asked, or were cut."""
    for one in books.played.outcomes:
        if books.entry(one).estimated:
            assert one.job.streams, one
            silent = one.job.home == "gpt" and one.job.key != "chris"
            assert silent or one.job.kind in ("left", "cut"), one


def test_a_request_that_failed_costs_nothing(books: Books) -> None:
    for one in books.played.of("failed"):
        entry = books.entry(one)
        assert (entry.input_tokens, entry.output_tokens, entry.cost, books.own(one)) == (0, 0, None, [])
        assert entry.attempts >= 2


def test_retries_and_fallbacks_are_booked_once_and_to_who_answered(books: Books) -> None:
    homes = list(HOMES)
    for one in books.played.of("retried", "fallback"):
        entry = books.entry(one)
        steps = 1 if one.job.kind == "fallback" else 0
        assert entry.target.partition("/")[0] == homes[(homes.index(one.job.home) + steps) % len(homes)]
        assert entry.attempts >= 2
        assert len(books.own(one)) == 1


def test_streams_that_tell_nothing_are_estimated_within_the_stated_error(books: Books) -> None:
    silent = [one for one in books.played.of("stream", "usage", "retried") if books.entry(one).estimated]
    assert silent
    errors = [_error(books.entry(one).output_tokens, books.own(one)[0].output) for one in silent]
    near = sum(error <= STATED for error in errors)
    booked = sum(books.entry(one).output_tokens for one in silent)
    counted = sum(books.own(one)[0].output for one in silent)
    print(f"\n{len(silent)} silent streams: {booked} tokens of output booked, {counted} counted, {near} within 25 %")
    print(f"half are within {median(errors):.1%}, all together {_error(booked, counted):.1%}")
    assert near >= 0.9 * len(silent)
    assert _error(booked, counted) <= STATED


def _error(booked: int, counted: int) -> float:
    return abs(booked - counted) / max(counted, 10)


def test_what_was_cut_is_booked_between_what_came_and_what_would_have_come(books: Books) -> None:
    cut = [one for one in books.played.of("left", "cut") if books.entry(one).estimated]
    assert {one.job.kind for one in cut} == {"left", "cut"}
    for one in cut:
        entry, (whole,) = books.entry(one), books.own(one)
        seen = _words_seen(one)
        assert entry.output_tokens <= whole.output * (1 + STATED), (one.job, entry.output_tokens, whole)
        assert entry.output_tokens >= min(seen, whole.output) * (1 - STATED) - 10, (one.job, entry.output_tokens, seen)
        assert entry.input_tokens > 0
    booked, whole = sum(books.entry(one).output_tokens for one in cut), sum(books.own(one)[0].output for one in cut)
    print(f"\n{len(cut)} streams were cut: {booked} tokens of output booked; {whole} would have come")


def _words_seen(one: Outcome) -> int:
    """The words that a client got. Events that repeat the text, such as the failure at the end of Responses, do not
    count twice."""
    lines = one.text.splitlines()
    if one.job.dialect == "openai-responses":
        lines = [line for line in lines if "response.output_text.delta" in line]
    return sum(len(_COUNTED.findall(line)) for line in lines) * 8 // 3


_COUNTED = re.compile(r"(?<![\w-])(?:sun|sea|big)(?![\w-])")
"""Three of the eight words, but not the letters of an id."""


def test_totals_metrics_and_budgets_say_what_the_ledger_says(books: Books) -> None:
    entries, running = list(books.entries.values()), books.running
    report = running.get("/dragoman/usage?by=key", "anna").json()
    for group in report["groups"]:
        own = [entry for entry in entries if entry.caller == group["name"]]
        assert group["requests"] == len(own)
        assert group["input_tokens"] == sum(entry.input_tokens for entry in own)
        assert group["output_tokens"] == sum(entry.output_tokens for entry in own)
        assert group["cost"] == pytest.approx(sum(entry.cost or 0.0 for entry in own), rel=1e-9)
    assert {group["name"] for group in report["groups"]} == set(KEYS)
    assert _metric(running, "dragoman_tokens_total") == sum(one.input_tokens + one.output_tokens for one in entries)
    assert _metric(running, "dragoman_cost_total") == pytest.approx(sum(one.cost or 0.0 for one in entries), rel=1e-9)
    budget = running.services.live.config.keys["chris"].budget
    assert budget is not None
    periods = periods_at(budget, running.services.clocks.wall())
    spent = running.do(lambda: running.services.store.budgets.reserve("chris", periods, 0.0))
    assert not isinstance(spent, Exhausted)
    paid = sum(entry.cost or 0.0 for entry in entries if entry.caller == "chris")
    assert spent[0] == pytest.approx(paid, rel=1e-6)
    print(f"\n{len(entries)} requests, {report['total']['cost']:.6f} in all")


def _metric(running: Running, name: str) -> float:
    lines = running.get("/metrics", "anna").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name}{{"))
