"""Caches hold so many bytes and no more, whatever clients send, and keep what is used."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator

import msgspec
import pytest
from tests.by_dialect import write_request

from dragoman.conversation.bounded_cache import (
    BUDGET,
    POOL,
    BoundedCache,
    CacheEntry,
    CachePool,
    IdentityCache,
    size_of,
)
from dragoman.conversation.dialect_names import DIALECT_NAMES, DialectName
from dragoman.conversation.parts import Text
from dragoman.dialects.registry import dialect
from dragoman.engine.library.adapt import adapt

TARGETS = (
    "openai/gpt-4o",
    "openai-responses/gpt-5",
    "anthropic/claude-sonnet-4-5",
    "gemini/gemini-2.5-flash",
    "gemini-compatible/gemini-2.5-flash",
)
SMALL = 1024 * 1024


@pytest.fixture
def small_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[CachePool]:
    """The process's own pool, emptied and with room for little."""
    POOL.clear()
    monkeypatch.setattr(POOL, "budget", SMALL)
    yield POOL
    POOL.clear()


def request(number: int, text: str = "Hi") -> bytes:
    """Two kilobytes of tools and settings that no other number has."""
    schema = {
        "type": "object",
        "properties": {f"p{number}_{index}": {"type": "string", "format": "zip"} for index in range(30)},
    }
    tool = {"type": "function", "function": {"name": f"tool_{number}", "strict": True, "parameters": schema}}
    message = {"role": "user", "content": text}
    return msgspec.json.encode({"messages": [message], "tools": [tool], "metadata": {"number": str(number)}})


def counted(pool: CachePool) -> int:
    return sum(entry.size for cache in pool.caches for entry in cache.entries())


@pytest.mark.slow
def test_other_tools_with_every_request_do_not_fill_the_memory(small_pool: CachePool) -> None:
    most = 0
    for number in range(120):
        for target in TARGETS:
            adapt(request(number), target=target)
            most = max(most, small_pool.held)
    assert SMALL // 4 < most <= SMALL
    assert small_pool.held == counted(small_pool)


@pytest.mark.slow
def test_what_is_counted_is_what_is_held(small_pool: CachePool) -> None:
    for target in TARGETS:
        adapt(request(-1), target=target)  # what is loaded on first use
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(120):
            for target in TARGETS:
                adapt(request(number), target=target)
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert held < 1.5 * SMALL


def test_every_cache_draws_on_the_one_budget() -> None:
    adapt(request(0), target=TARGETS[0])
    assert POOL.budget == BUDGET
    assert {cache.name for cache in POOL.caches} >= {
        "dragoman.dialects.openai_chat.tools._parse_list",
        "dragoman.dialects.openai_chat.settings.parse_settings",
        "dragoman.engine.compile.plan.TopLevelEntry",
        "dragoman.rules.schema.compiler._compile_tool",
    }


def test_what_is_used_outlives_what_is_not() -> None:
    pool = CachePool(1000)
    cache: BoundedCache[int] = BoundedCache("some", pool)
    cache.put(0, CacheEntry("used", 20))
    for number in range(1, 500):
        cache.put(number, CacheEntry("passing", 20))
        assert cache.get(0) is not None
        assert pool.held <= pool.budget
    assert cache.get(1) is None
    assert cache.misses == 1


def test_caches_of_one_pool_share_its_room() -> None:
    pool = CachePool(1000)
    first: BoundedCache[int] = BoundedCache("first", pool)
    second: BoundedCache[int] = BoundedCache("second", pool)
    first.put(0, CacheEntry("unused", 50))
    for number in range(50):
        second.put(number, CacheEntry("passing", 50))
    assert first.get(0) is None
    assert pool.held == counted(pool) <= pool.budget


def test_what_is_too_large_is_not_kept() -> None:
    pool = CachePool(1000)
    cache: BoundedCache[str] = BoundedCache("some", pool)
    cache.put("large", CacheEntry("x", 63))
    cache.put("small", CacheEntry("x", 62))
    assert cache.get("large") is None
    assert cache.get("small") is not None


def test_an_object_is_known_by_its_identity_and_kept_with_what_was_made() -> None:
    made: list[Text] = []

    def make(text: Text) -> int:
        made.append(text)
        return len(made)

    known = IdentityCache(make)
    first, equal = Text(literal=b'"a"'), Text(literal=b'"a"')
    assert [known(first), known(equal), known(first)] == [1, 2, 1]
    (cache,) = [cache for cache in POOL.caches if cache.name.endswith("make")]
    assert {id(entry.held) for entry in cache.entries()} == {id(first), id(equal)}


def test_the_size_of_a_value_is_that_of_all_it_holds() -> None:
    large = b"x" * 10_000
    assert size_of(Text(literal=large)) > 10_000
    assert size_of({"a": (large, [large])}) > 20_000


def test_a_value_that_cannot_be_measured_is_not_kept() -> None:
    assert size_of({"a": 2**70}) > BUDGET


SCHEMA = {"type": "object", "properties": {"city": {"type": "string", "format": "zip"}}}


TURN = f"""@temperature 0.5
@max_tokens 700
@tool weather {msgspec.json.encode(SCHEMA).decode()}
system: Be brief.
user: Turn 0"""
every_client = pytest.mark.parametrize("client", DIALECT_NAMES)


def write_turns(client: DialectName) -> list[bytes]:
    """Turns of an agent, which differ in their last message."""
    first = msgspec.json.encode(write_request(client, TURN))
    return [first.replace(b"Turn 0", b"Turn %d" % number) for number in range(51)]


def count_misses() -> dict[str, int]:
    """How often each cache was asked in vain, by its name."""
    return {cache.name: cache.misses for cache in POOL.caches}


@pytest.mark.parametrize("target", TARGETS)
@every_client
def test_the_same_tools_settings_and_system_text_are_parsed_once(
    client: DialectName, target: str, small_pool: CachePool
) -> None:
    """All but the last message is found again 50 times in 51."""
    turns = write_turns(client)
    before = count_misses()
    for turn in turns:
        adapt(turn, source=client, target=target)
    package = f"dragoman.dialects.{client.replace('-', '_')}."
    misses = {name: missed - before.get(name, 0) for name, missed in count_misses().items() if package in name}
    parsed = {name.removeprefix(package): missed for name, missed in misses.items() if missed and "parse" in name}
    assert set(parsed.values()) == {1}, parsed
    assert "settings.parse_settings" in parsed
    assert any("tool" in name for name in parsed)
    apart = "Be brief." not in str(msgspec.json.decode(turns[0])[dialect(client).list_name])
    assert ("message_parse.parse_system" in parsed) is apart, "among the messages it is read with them"


@pytest.mark.parametrize("target", TARGETS)
@every_client
def test_no_cache_is_asked_in_vain_turn_after_turn(client: DialectName, target: str, small_pool: CachePool) -> None:
    """Over all caches together: what the first turn made serves all the others."""
    first, *others = write_turns(client)
    adapt(first, source=client, target=target)
    before = count_misses()
    for turn in others:
        adapt(turn, source=client, target=target)
    misses = {name: missed - before[name] for name, missed in count_misses().items()}
    assert {name: missed for name, missed in misses.items() if missed} == {}
