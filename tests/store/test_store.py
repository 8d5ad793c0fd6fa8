"""One interface, two stores: every test here runs on both."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from dragoman.config.schema import ClientKey, Config, ServerConfig, StoreConfig, StoreKind, Vault
from dragoman.store import (
    Allowed,
    By,
    Caller,
    Entry,
    Kept,
    Limited,
    Limits,
    MemoryStore,
    Redactor,
    Shelf,
    SqliteStore,
    Store,
    StoreError,
    open_store,
    pin_key,
    workers_need_sqlite,
)
from dragoman.store.background_writer import Background

ADMIN = Caller("boss", admin=True)
ANNA, BERT = Caller("anna"), Caller("bert")


class Time:
    """A clock that stands still until told otherwise."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


Make = Callable[..., Store]


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture(params=["memory", "sqlite", "sqlite alone"])
def make(request: pytest.FixtureRequest, tmp_path: Path, clock: Time) -> Iterator[Make]:
    made: list[Store] = []

    def build(**settings: object) -> Store:
        config = StoreConfig(path=str(tmp_path / "sub" / "s.sqlite3"), **settings)  # type: ignore[arg-type]
        redactor = Redactor(["configured-secret"])
        if request.param == "memory":
            made.append(MemoryStore(config, clock, redactor))
        else:
            made.append(SqliteStore(config, clock, redactor, shared=request.param == "sqlite"))
        return made[-1]

    yield build
    for store in made:
        store.close()


def entry(number: int, clock: Time, **fields: object) -> Entry:
    return Entry(id=f"r{number}", time=clock.now + number, **{"caller": "anna", **fields})  # type: ignore[arg-type]


def test_a_report_is_its_callers_own(make: Make, clock: Time) -> None:
    store = make()
    store.record(entry(1, clock))
    store.record(entry(2, clock, caller=""))
    store.flush()
    assert store.report("r1", ANNA) == entry(1, clock)
    assert store.report("r1", BERT) is None
    assert store.report("r1", Caller("")) is None
    assert store.report("r1", ADMIN) == entry(1, clock)
    assert store.report("r2", ANNA) is None
    assert store.report("none", ADMIN) is None


def test_recent_and_totals_are_the_callers_own(make: Make, clock: Time) -> None:
    store = make()
    for number in range(6):
        caller = "anna" if number % 2 else "bert"
        status = 500 if number == 1 else 200
        store.record(entry(number, clock, caller=caller, target="a/x", status=status, input_tokens=10, output_tokens=1))
    store.flush()
    clock.now += 10
    assert [e.id for e in store.recent(ANNA)] == ["r5", "r3", "r1"]
    assert [e.id for e in store.recent(ADMIN, limit=2)] == ["r5", "r4"]
    assert [e.id for e in store.recent(ADMIN, limit=2, before=clock.now - 10 + 4)] == ["r3", "r2"]
    (anna,) = store.totals(ANNA, By.TARGET)
    assert (anna.name, anna.requests, anna.errors, anna.input_tokens, anna.output_tokens) == ("a/x", 3, 1, 30, 3)
    assert {t.name: t.requests for t in store.totals(ADMIN, By.CALLER)} == {"anna": 3, "bert": 3}
    assert [t.requests for t in store.totals(ADMIN, By.TARGET, since=clock.now - 10 + 4)] == [2]


def test_E17_what_is_kept_holds_no_secret_and_bodies_only_if_asked(make: Make, clock: Time) -> None:
    said = "401 for configured-secret, Bearer abcdefghijkl"
    bodies = {"request": b'{"api_key":"abc","model":"m"}', "answer": b"no json: sk-1234567890abcdef"}
    plain, keeping = make(), make(keep_bodies=True)
    for store in (plain, keeping):
        store.record(entry(1, clock, error=said, error_kind="auth", **bodies))
        store.flush()
    report = keeping.report("r1", ANNA)
    assert report is not None
    text = report.report().decode()
    assert [secret for secret in ("configured-secret", "abcdefghijkl", "sk-123", '"abc"') if secret in text] == []
    assert json.loads(text)["request"] == {"api_key": "[REDACTED]", "model": "m"}
    without = plain.report("r1", ANNA)
    assert without is not None
    assert (without.request, without.answer) == (None, None)


def test_kept_bodies_do_not_fill_the_memory(monkeypatch: pytest.MonkeyPatch, clock: Time) -> None:
    monkeypatch.setattr("dragoman.store.memory.MOST_BYTES", 1000)
    store = MemoryStore(StoreConfig(keep_bodies=True), clock)
    for number in range(20):
        store.record(entry(number, clock, request=json.dumps("x" * 200).encode()))
    assert len(store.recent(ADMIN)) == 5
    assert store.report("r19", ADMIN) is not None


def test_too_much_that_waits_is_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.store.background_writer.MOST_BYTES", 100)
    gate, done = threading.Event(), []

    def work(batch: list[bytes]) -> None:
        gate.wait(5)
        done.extend(batch)

    jobs: Background[bytes] = Background(work, size=100, name="test", weigh=len)
    taken = [jobs.put(b"x" * 30) for _ in range(10)]
    gate.set()
    assert jobs.flush(5)
    assert (sum(taken), len(done), jobs.health().dropped) == (3, 3, 7)
    assert jobs.put(b"x" * 100), "room again once it is written"
    jobs.close()


def test_a_report_is_json_with_its_changes(make: Make, clock: Time) -> None:
    store = make()
    store.record(entry(1, clock, changes=b'[{"rule":"late-system"}]', ttfb=0.5))
    found = store.report("r1", ANNA)
    assert found is not None
    assert json.loads(found.report())["changes"] == [{"rule": "late-system"}]


def test_the_ledger_forgets_what_is_old(make: Make, clock: Time) -> None:
    store = make(keep_days=1)
    store.record(entry(1, clock))
    store.flush()
    clock.now += 2 * 86_400
    assert store.report("r1", ADMIN) is None
    assert store.recent(ADMIN) == ()
    assert store.totals(ADMIN, By.CALLER) == ()


def test_Q5_the_vault_is_kept_by_caller_provider_scope_and_key(make: Make) -> None:
    store = make()
    store.keep("anna", "google", "gemini-3", "call_1", b"\x00signature", "signature")
    store.flush()
    wanted = ["call_1", "call_2"]
    assert store.fetch("anna", "google", "gemini-3", wanted) == {"call_1": Kept(b"\x00signature", "signature")}
    others = [
        ("bert", "google", "gemini-3"),
        ("", "google", "gemini-3"),
        ("anna", "anthropic", "gemini-3"),
        ("anna", "google", "gemini-2"),
        ("annagoogle", "", "gemini-3"),
        ("anna' OR '1'='1", "google", "gemini-3"),
    ]
    assert [store.fetch(*place, wanted) for place in others] == [{}] * len(others)


def test_the_vault_replaces_and_can_be_off(make: Make) -> None:
    store, off = make(), make(vault=Vault(enabled=False))
    store.keep("a", "p", "s", "k", b"1", "x")
    store.keep("a", "p", "s", "k", b"2", "x")
    assert store.fetch("a", "p", "s", ["k"])["k"].value == b"2"
    off.keep("b", "p", "s", "k", b"1", "x")
    assert off.fetch("b", "p", "s", ["k"]) == {}


def test_the_vault_forgets_after_its_time_since_last_use(make: Make, clock: Time) -> None:
    store = make(vault=Vault(ttl=100))
    store.keep("a", "p", "s", "k", b"1", "x")
    store.flush()
    for _ in range(3):
        clock.now += 90
        assert "k" in store.fetch("a", "p", "s", ["k"])
        store.flush()
    clock.now += 101
    assert store.fetch("a", "p", "s", ["k"]) == {}


@pytest.mark.parametrize("limits", [Vault(per_caller=3), Vault(entries=3), Vault(max_bytes=1024)], ids=repr)
def test_the_vault_is_bounded_and_the_least_used_goes_first(clock: Time, limits: Vault) -> None:
    store = MemoryStore(StoreConfig(vault=limits), clock)
    for number in range(3):
        store.keep("a", "p", "s", f"k{number}", b"x" * 100, "x")
    store.fetch("a", "p", "s", ["k0"])
    store.keep("a", "p", "s", "k3", b"x" * 100, "x")
    assert set(store.fetch("a", "p", "s", [f"k{n}" for n in range(4)])) == {"k0", "k2", "k3"}


def test_one_caller_cannot_push_out_anothers_state_within_its_bound(clock: Time) -> None:
    store = MemoryStore(StoreConfig(vault=Vault(per_caller=5, entries=100)), clock)
    store.keep("anna", "p", "s", "k", b"1", "x")
    for number in range(1000):
        store.keep("mallory", "p", "s", f"k{number}", b"1", "x")
    assert "k" in store.fetch("anna", "p", "s", ["k"])
    assert len(store.vault) == 6


def test_limits_slide_over_a_minute(make: Make, clock: Time) -> None:
    store = make()
    limits = Limits(requests_per_minute=3)
    start = clock.now
    verdicts = [store.allow("k", limits, start + second) for second in (0, 10, 20, 30)]
    assert verdicts[:3] == [Allowed(2), Allowed(1), Allowed(0)]
    assert verdicts[3] == Limited(30.0, "requests", 3)
    assert isinstance(store.allow("k", limits, start + 59.7), Limited)
    assert store.allow("k", limits, start + 60) == Allowed(0)
    assert store.allow("other", limits, start + 60) == Allowed(2)


def test_a_client_that_keeps_to_its_limit_is_never_refused(make: Make, clock: Time) -> None:
    store = make()
    for second in range(200):
        assert isinstance(store.allow("k", Limits(requests_per_minute=60), clock.now + second), Allowed)


def test_tokens_are_counted_when_they_are_known(make: Make, clock: Time) -> None:
    store = make()
    limits = Limits(tokens_per_minute=1000)
    assert store.allow("k", limits, clock.now, tokens=200) == Allowed(None, 800)
    store.spend("k", 900, clock.now + 1)
    assert store.allow("k", limits, clock.now + 2) == Limited(58.0, "tokens", 1000)
    store.spend("k", -500, clock.now + 3)
    assert store.allow("k", limits, clock.now + 4, tokens=100) == Allowed(None, 300)


def test_a_request_larger_than_the_limit_goes_when_nothing_else_counts(make: Make, clock: Time) -> None:
    store = make()
    assert isinstance(store.allow("k", Limits(tokens_per_minute=10), clock.now, tokens=50), Allowed)
    refused = store.allow("k", Limits(tokens_per_minute=10), clock.now + 1, tokens=50)
    assert refused == Limited(59.0, "tokens", 10)


def test_no_limit_is_no_limit(make: Make, clock: Time) -> None:
    assert make().allow("k", Limits.of(ClientKey(sha256="x")), clock.now) == Allowed(None, None)


def test_lessons_and_pins_are_remembered(make: Make) -> None:
    store = make()
    store.remember(Shelf.LESSONS, "groq/x", b'{"a":1}')
    store.remember(Shelf.PINS, "call", b"groq/x")
    store.flush()
    assert store.recall(Shelf.LESSONS, "groq/x") == b'{"a":1}'
    assert store.recall(Shelf.PINS, "groq/x") is None
    assert store.remembered(Shelf.LESSONS) == {"groq/x": b'{"a":1}'}
    store.forget(Shelf.LESSONS, "groq/x")
    store.flush()
    assert store.recall(Shelf.LESSONS, "groq/x") is None


def test_C23_pins_are_at_most_4096(clock: Time) -> None:
    store = MemoryStore(StoreConfig(), clock)
    for number in range(5000):
        store.remember(Shelf.PINS, f"call{number}", b"m")
    assert len(store.remembered(Shelf.PINS)) == 4096
    assert store.recall(Shelf.PINS, "call0") is None
    assert store.recall(Shelf.PINS, "call4999") == b"m"


@pytest.mark.parametrize(
    ("call_id", "session", "pinned"),
    [("call_0", "", False), ("call_0", "s1", True), ("0", "", False), ("", "", False), ("toolu_01AbC9x", "", True),
     ("call_9f86d081884c7d65", "", True), ("function-12", "", False)],
)  # fmt: skip
def test_C23_generic_ids_are_not_trusted_alone(call_id: str, session: str, pinned: bool) -> None:
    assert (pin_key("anna", call_id, session=session) is not None) is pinned
    assert pin_key("anna", call_id, session=session) != pin_key("bert", call_id, session=session) or not pinned


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config(), None),
        (Config(server=ServerConfig(workers=2)), "the vault"),
        (Config(server=ServerConfig(workers=2), store=StoreConfig(kind=StoreKind.SQLITE)), None),
        (Config(server=ServerConfig(workers=2), store=StoreConfig(vault=Vault(enabled=False))), None),
        (
            Config(
                server=ServerConfig(workers=2),
                store=StoreConfig(vault=Vault(enabled=False)),
                keys={"ci": ClientKey(sha256="x", requests_per_minute=1)},
            ),
            "the limits per minute of ci",
        ),
    ],
)
def test_Q34_several_workers_need_sqlite(config: Config, reason: str | None) -> None:
    said = workers_need_sqlite(config)
    assert said is None if reason is None else reason in (said or "")


def test_the_configured_store_is_opened(tmp_path: Path, clock: Time) -> None:
    assert isinstance(open_store(Config(), clock), MemoryStore)
    path = str(tmp_path / "s.sqlite3")
    store = open_store(Config(store=StoreConfig(kind=StoreKind.SQLITE, path=path)), clock)
    assert isinstance(store, SqliteStore)
    store.close()
    assert Path(path).stat().st_mode & 0o777 == 0o600


def test_a_file_that_is_no_store_is_refused_in_words(tmp_path: Path, clock: Time) -> None:
    path = tmp_path / "s.sqlite3"
    path.write_bytes(b"this is no database, and long enough to be looked at as one" * 20)
    with pytest.raises(StoreError, match="cannot be used as a store"):
        SqliteStore(StoreConfig(path=str(path)), clock)


def test_an_entry_survives_its_encoding(clock: Time) -> None:
    whole = entry(1, clock, ttfb=0.1, lessons=("a",), changes=b"[1]", error="x")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(whole), type=Entry) == whole
