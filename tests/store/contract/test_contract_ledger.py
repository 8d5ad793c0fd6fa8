"""The ledger's promises."""

from __future__ import annotations

import json
import math

import msgspec
import pytest
from tests.store.contract.backends import ADMIN, ANNA, BERT, LEDGERS, SECRET, Backend, entry

from dragoman.store.contracts.ledger import LedgerQuery
from dragoman.store.ledger_entry import MOST_TOKENS, By, Viewer

PLACES = LEDGERS


def ids(page: object) -> list[str]:
    return [one.id for one in page.entries]  # type: ignore[attr-defined]


async def test_a_report_is_its_callers_own(backend: Backend) -> None:
    ledger, time = (await backend.open()).ledger, backend.time
    ledger.record(entry(1, time))
    ledger.record(entry(2, time, caller=""))
    assert await ledger.report("r1", ANNA) == entry(1, time)
    assert await ledger.report("r1", ADMIN) == entry(1, time)
    assert await ledger.report("r1", BERT) is None
    assert await ledger.report("r1", Viewer("")) is None
    assert await ledger.report("r2", ANNA) is None
    assert await ledger.report("none", ADMIN) is None


async def test_pages_are_newest_first_and_do_not_shift(backend: Backend) -> None:
    store = await backend.open()
    numbers = [3, 1, 4, 1.5, 9, 2.6, 5, 3.5, 8]
    for number in numbers:
        store.ledger.record(entry(0, backend.time, id=f"r{number}", time=backend.time.wall + number))
    first = await store.ledger.recent(ADMIN, LedgerQuery(limit=4))
    assert ids(first) == ["r9", "r8", "r5", "r4"]
    store.ledger.record(entry(10, backend.time))
    await store.flush()
    second = await store.ledger.recent(ADMIN, LedgerQuery(limit=4, after=first.next))
    third = await store.ledger.recent(ADMIN, LedgerQuery(limit=4, after=second.next))
    assert (ids(second), ids(third)) == (["r3.5", "r3", "r2.6", "r1.5"], ["r1"])
    assert third.next is None


async def test_requests_of_the_same_moment_are_ordered_by_id(backend: Backend) -> None:
    store = await backend.open()
    for letter in "badce":
        store.ledger.record(entry(0, backend.time, id=letter))
    await store.flush()
    seen, after = [], None
    for _ in range(5):
        page = await store.ledger.recent(ADMIN, LedgerQuery(limit=1, after=after))
        seen += ids(page)
        after = page.next
    assert (seen, after) == (list("edcba"), None)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, "76543210"),
        ({"since": 3.0}, "76543"),
        ({"until": 3.0}, "210"),
        ({"since": 2.0, "until": 5.0}, "432"),
        ({"caller": "anna"}, "6420"),
        ({"target": "a/x"}, "630"),
        ({"asked": "smart"}, "7654"),
        ({"failed": True}, "61"),
        ({"failed": False, "target": "a/x"}, "30"),
        ({"caller": "anna", "asked": "smart", "limit": 1}, "6"),
        ({"limit": 0}, "7"),
        ({"limit": 10**9}, "76543210"),
        ({"after": "nonsense"}, "76543210"),
        ({"target": "a/x' OR '1'='1"}, ""),
    ],
)
async def test_filters(backend: Backend, query: dict[str, object], found: str, written: bool) -> None:
    store, time = await backend.open(), backend.time
    for number in range(8):
        fields = {"caller": "bert" if number % 2 else "anna", "target": "b/y" if number % 3 else "a/x"}
        more = {"asked": "smart" if number > 3 else "cheap", "status": 500 if number == 1 else 200}
        error = {"error_kind": "network"} if number == 6 else {}
        store.ledger.record(entry(number, time, **fields, **more, **error))
    if written:
        await store.flush()
    start = time.wall
    moved = {name: start + value if name in ("since", "until") else value for name, value in query.items()}
    page = await store.ledger.recent(ADMIN, LedgerQuery(**moved))  # type: ignore[arg-type]
    assert "".join(ids(page)).replace("r", "") == found
    assert all(one.caller == "bert" for one in (await store.ledger.recent(BERT, LedgerQuery(caller="anna"))).entries)


async def test_nobody_reads_what_is_anothers(backend: Backend) -> None:
    store = await backend.open()
    for number in range(6):
        store.ledger.record(entry(number, backend.time, caller="anna" if number % 2 else "bert"))
    await store.flush()
    assert ids(await store.ledger.recent(ANNA)) == ["r5", "r3", "r1"]
    assert ids(await store.ledger.recent(ANNA, LedgerQuery(caller="bert"))) == []
    assert ids(await store.ledger.recent(Viewer("anna' OR '1'='1"))) == []
    assert [one.name for one in await store.ledger.totals(ANNA, By.CALLER)] == ["anna"]
    assert await store.ledger.totals(ANNA, By.CALLER, LedgerQuery(caller="bert")) == ()


async def test_totals_are_summed_by_group_the_largest_first(backend: Backend) -> None:
    store, time = await backend.open(), backend.time
    for number in range(6):
        tokens = {"input_tokens": 10, "output_tokens": 1, "cached_tokens": 2, "reasoning_tokens": 3, "duration": 0.5}
        fields = {"target": "a/x" if number else "b/y", "asked": "m", "status": 500 if number == 1 else 200}
        store.ledger.record(entry(number, time, time=time.wall + number * 43_200, **fields, **tokens))
    large, small = await store.ledger.totals(ADMIN, By.TARGET)
    assert (large.name, large.requests, large.errors) == ("a/x", 5, 1)
    assert (large.input_tokens, large.output_tokens, large.cached_tokens, large.reasoning_tokens) == (50, 5, 10, 15)
    assert (small.name, small.requests, small.seconds) == ("b/y", 1, 0.5)
    assert [one.requests for one in await store.ledger.totals(ADMIN, By.ASKED)] == [6]
    days = await store.ledger.totals(ADMIN, By.DAY)
    assert [(one.name, one.requests) for one in days] == [("2027-01-15", 2), ("2027-01-16", 2), ("2027-01-17", 2)]
    (some,) = await store.ledger.totals(ADMIN, By.TARGET, LedgerQuery(since=time.wall + 3 * 43_200, limit=1))
    assert some.requests == 3


async def test_totals_add_up_what_requests_cost_and_what_of_it_is_estimated(backend: Backend) -> None:
    store, time = await backend.open(), backend.time
    used = {"input_tokens": 10, "output_tokens": 1}
    store.ledger.record(entry(1, time, cost=0.25, **used))
    store.ledger.record(entry(2, time, cost=0.5, estimated=True, **used))
    store.ledger.record(entry(3, time, cost=1.0, estimated=True, reported_cost=True, **used))
    store.ledger.record(entry(4, time, cost=None, **used))
    store.ledger.record(entry(5, time, cost=None, status=500, input_tokens=0, output_tokens=0))
    (total,) = await store.ledger.totals(ADMIN, By.ASKED)
    assert (total.cost, total.estimated, total.estimated_cost, total.unpriced) == (1.75, 2, 0.5, 1)


async def test_E17_what_is_kept_holds_no_secret_and_bodies_only_if_asked(backend: Backend) -> None:
    said = f"401 for {SECRET}, Bearer abcdefghijkl"
    bodies = {"request": b'{"api_key":"abc","model":"m"}', "answer": b"no json: sk-1234567890abcdef"}
    plain = await backend.open()
    plain.ledger.record(entry(1, backend.time, error=said, error_kind="auth", **bodies))
    without = await plain.ledger.report("r1", ANNA)
    assert without is not None
    assert (without.request, without.answer) == (None, None)
    await plain.aclose()
    store = await backend.open(keep_bodies=True)
    store.ledger.record(entry(2, backend.time, error=said, error_kind="auth", **bodies))
    report = await store.ledger.report("r2", ANNA)
    assert report is not None
    text = report.report().decode()
    assert [secret for secret in (SECRET, "abcdefghijkl", "sk-123", '"abc"') if secret in text] == []
    assert json.loads(text)["request"] == {"api_key": "[REDACTED]", "model": "m"}


async def test_a_report_is_json_with_its_changes(backend: Backend) -> None:
    ledger = (await backend.open()).ledger
    ledger.record(entry(1, backend.time, changes=b'[{"rule":"late-system"}]', ttfb=0.5))
    found = await ledger.report("r1", ANNA)
    assert found is not None
    assert json.loads(found.report())["changes"] == [{"rule": "late-system"}]


async def test_what_is_old_is_not_shown(backend: Backend) -> None:
    store = await backend.open(keep_days=1)
    store.ledger.record(entry(1, backend.time))
    await store.flush()
    backend.time.advance(2 * 86_400)
    assert await store.ledger.report("r1", ADMIN) is None
    assert ids(await store.ledger.recent(ADMIN)) == []
    assert await store.ledger.totals(ADMIN, By.CALLER) == ()


async def test_the_oldest_leave_when_there_are_too_many(backend: Backend) -> None:
    store = await backend.open(keep_requests=50)
    count = 500 + 2 * backend.slack
    for number in range(count):
        store.ledger.record(entry(number, backend.time))
    await store.flush()
    (total,) = await store.ledger.totals(ADMIN, By.CALLER)
    assert 50 <= total.requests <= 50 + backend.slack
    assert await store.ledger.report(f"r{count - 1}", ADMIN) is not None
    assert await store.ledger.report("r0", ADMIN) is None


async def test_an_id_that_comes_again_replaces_its_entry(backend: Backend) -> None:
    store = await backend.open(keep_bodies=True)
    for status in (500, 200):
        store.ledger.record(entry(1, backend.time, status=status, request=b"{}"))
    await store.flush()
    assert [one.status for one in (await store.ledger.recent(ADMIN)).entries] == [200]
    assert [one.requests for one in await store.ledger.totals(ADMIN, By.CALLER)] == [1]


HOSTILE = [
    {"input_tokens": 2**63},
    {"output_tokens": 2**200},
    {"cached_tokens": -1, "reasoning_tokens": -(2**70)},
    {"attempts": 2**64, "overhead_us": -(2**64)},
    {"duration": math.inf},
    {"duration": math.nan},
    {"duration": -1e300},
    {"asked": "é😀\x00'; DROP TABLE requests; --"},
    {"error": "x" * 1_000_000, "error_kind": "\x00"},
    {"changes": b"[" + b"1," * 100_000 + b"1]"},
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("fields", HOSTILE, ids=lambda fields: ",".join(fields))
async def test_no_value_stops_the_ledger(backend: Backend, fields: dict[str, object]) -> None:
    store = await backend.open()
    for number in range(3):
        store.ledger.record(entry(number, backend.time, **(fields if number == 1 else {})))
    assert await store.flush()
    store.ledger.record(entry(3, backend.time, input_tokens=5))
    assert await store.flush()
    (total,) = await store.ledger.totals(ADMIN, By.CALLER)
    assert total.requests == 4
    assert 5 <= total.input_tokens <= MOST_TOKENS + 5
    assert all(value >= 0 for value in msgspec.structs.astuple(total)[1:])
    assert math.isfinite(total.seconds)
    health = store.health()
    assert (health.failed, health.dropped) == (0, 0)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf, -1e9, 1e300])
async def test_a_broken_clock_stops_nothing(backend: Backend, time: float) -> None:
    store = await backend.open()
    store.ledger.record(entry(1, backend.time, time=time))
    store.ledger.record(entry(2, backend.time))
    await store.flush()
    assert await store.ledger.report("r2", ADMIN) is not None
    assert "r2" in ids(await store.ledger.recent(ADMIN))
    assert await store.ledger.totals(ADMIN, By.DAY) != ()


async def test_half_a_surrogate_pair_costs_at_most_its_own_entry_and_is_counted(backend: Backend) -> None:
    store = await backend.open()
    for number in range(5):
        store.ledger.record(entry(number, backend.time, asked="\ud800" if number == 2 else "m"))
    await store.flush()
    totals = await store.ledger.totals(ADMIN, By.CALLER)
    assert totals[0].requests + store.health().failed == 5
    assert totals[0].requests >= 4


async def test_sums_of_many_hostile_entries_do_not_overflow(backend: Backend) -> None:
    store = await backend.open()
    for number in range(1000):
        store.ledger.record(entry(number, backend.time, input_tokens=2**63, duration=1e308))
    (total,) = await store.ledger.totals(ADMIN, By.CALLER)
    assert total.input_tokens == 1000 * MOST_TOKENS


async def test_other_workers_read_what_is_written(shared: Backend) -> None:
    one, two = await shared.open(), await shared.open()
    one.ledger.record(entry(1, shared.time))
    await one.flush()
    assert await two.ledger.report("r1", ANNA) == entry(1, shared.time)
    assert await two.ledger.report("r1", BERT) is None
    assert ids(await two.ledger.recent(ADMIN)) == ["r1"]


async def test_the_ledger_is_there_after_a_restart(lasting: Backend) -> None:
    whole = entry(1, lasting.time, ttfb=0.1, lessons=("a",), changes=b"[1]", error="x", estimated=True)
    first = await lasting.open()
    first.ledger.record(whole)
    await first.aclose()
    second = await lasting.open()
    assert await second.ledger.report("r1", ANNA) == whole
    assert ids(await second.ledger.recent(ANNA)) == ["r1"]


@pytest.mark.slow
async def test_a_page_of_large_entries_is_short_and_nothing_is_left_out(backend: Backend) -> None:
    """Bodies may have megabytes: a page is bounded by its bytes too, wherever it is read from."""
    store = await backend.open(keep_bodies=True)
    body = json.dumps({"x": "y" * 9_000_000}).encode()
    for number in range(3):
        store.ledger.record(entry(number, backend.time, time=backend.time.wall + number, request=body))
        await store.flush()
    seen: list[str] = []
    after = None
    for _ in range(4):
        page = await store.ledger.recent(ADMIN, LedgerQuery(limit=1000, after=after))
        seen += ids(page)
        after = page.next
        if after is None:
            break
    assert seen == [f"r{number}" for number in (2, 1, 0)]
