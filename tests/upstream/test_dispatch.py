"""Destinations and their health: where a name leads, who is left alone, which key goes first."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.config.known_names import KnownNames
from dragoman.config.load import parse
from dragoman.config.variables import Environment
from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.exchange.attempts import RetryPolicy
from dragoman.profiles.profile import Profiles
from dragoman.store.memory.cooldowns import MemoryCooldowns
from dragoman.upstream.cooldowns import Health
from dragoman.upstream.destinations import HttpDestination, Routes

FILE = """
providers:
  a: {profile: openai, base_url: "http://a.test/v1/", api_keys: [k1, k2, k3], headers: {X-Title: demo},
      retries: {attempts: 4, base: 0.5, factor: 1, cap: 9, jitter: none}, cooldown: {failures: 2, seconds: 10},
      timeouts: {first_byte: 180}}
  b: {profile: anthropic, api_key: secret}
  local: {profile: vllm, base_url: "http://l.test/v1", auth: none}
models:
  smart: {target: a/gpt-4o, fallbacks: [b/claude-sonnet-4-5, cheap],
          fallbacks_on: {context_length: [local/long, a/gpt-4o]}}
  cheap: {target: local/qwen, options: {temperature: 0.2}, max_loss: metadata, synthetic: refuse}
"""


@pytest.fixture
def routes() -> Routes:
    return Routes(parse(FILE, known=KnownNames(), variables=_nothing()).config, Profiles())


def _nothing() -> Environment:
    return Environment({})


def found(routes: Routes, name: str) -> tuple[HttpDestination, ...]:
    route = routes.find(name)
    assert route is not None
    return route.destinations


def failed(kind: FailureKind, **more: Any) -> Failure:
    return Failure(kind, "oh", **more)


def test_where_names_lead(routes: Routes) -> None:
    assert [one.name for one in found(routes, "smart")] == ["a/gpt-4o", "b/claude-sonnet-4-5", "local/qwen"]
    assert [one.name for one in found(routes, "b/any-claude")] == ["b/any-claude"]
    assert routes.find("nobody") is routes.find("nobody/x") is None


def test_one_place_is_one_object(routes: Routes) -> None:
    assert found(routes, "smart")[2] is found(routes, "cheap")[0]
    assert routes.find("smart") is routes.find("smart")
    assert found(routes, "b/x")[0] is found(routes, "b/x")[0]


def test_a_reason_leads_elsewhere_but_never_back(routes: Routes) -> None:
    smart, other = routes.find("smart"), routes.find("a/x")
    assert smart is not None
    assert other is not None
    assert {kind: [one.name for one in others] for kind, others in smart.reserved.items()} == {
        FailureKind.CONTEXT_LENGTH: ["local/long"]
    }
    assert other.reserved == {}


@pytest.mark.slow
def test_names_of_clients_do_not_pile_up(routes: Routes) -> None:
    smart = found(routes, "smart")
    for number in range(4_500):
        routes.find(f"b/claude-{number}")
    assert len(routes._leads) <= 4098
    assert len(routes._destinations) <= 4110
    assert found(routes, "smart")[0] is smart[0]


def test_all_that_the_file_says_of_a_place(routes: Routes) -> None:
    smart, claude, local = found(routes, "smart")
    assert smart.url("/chat/completions") == "http://a.test/v1/chat/completions"
    assert dict(smart.signed(0)) == {"X-Title": "demo", "authorization": "Bearer k1"}
    assert dict(smart.signed(4))["authorization"] == "Bearer k2"
    assert dict(claude.signed(0))["x-api-key"] == "secret"
    assert "authorization" not in dict(local.signed(0))
    assert smart.policy == RetryPolicy(4, 0.5, 1, 9, False)
    assert (local.options, local.synthetic, str(local.max_loss)) == ({"temperature": 0.2}, False, "metadata")


def test_A22_timeouts_and_cooldown_can_be_set(routes: Routes) -> None:
    smart = found(routes, "smart")[0]
    assert (smart.timeouts.first_byte, smart.failures, smart.pause) == (180, 2, 10)


def _smart(routes: Routes) -> HttpDestination:
    return found(routes, "smart")[0]


def test_A22_only_failures_of_the_service_count(routes: Routes) -> None:
    health, one = Health(), _smart(routes)
    for kind in FailureKind:
        fresh = Health()
        for _ in range(9):
            fresh.failed(one, failed(kind), 0)
        counted = kind in ("server", "overloaded", "timeout", "network", "broken-stream")
        assert fresh.open(one, 1) is not counted, kind
    assert health.open(one, 0)


def test_after_its_pause_one_request_goes_first(routes: Routes) -> None:
    health, one = Health(), _smart(routes)
    health.failed(one, failed(FailureKind.SERVER), 0)
    assert health.open(one, 1)
    health.failed(one, failed(FailureKind.SERVER), 1)
    assert not health.open(one, 10)
    assert health.resting(5) == {"a/gpt-4o": 6}
    assert health.open(one, 11)
    assert not health.open(one, 11)
    health.failed(one, failed(FailureKind.TIMEOUT), 12)
    assert not health.open(one, 13)
    assert health.open(one, 22)
    health.succeeded(one)
    assert health.open(one, 22)
    assert health.open(one, 22)


def test_one_goes_first_in_a_process_too_that_others_have_told(routes: Routes) -> None:
    """Or all its requests wait for a server that is slow, each time that the pause is over."""
    now = 0.0
    shared = MemoryCooldowns(lambda: now)
    health, one = Health(shared), _smart(routes)
    shared.rest(one.name, 10)
    assert not health.open(one, now)
    assert health.resting(now) == {"a/gpt-4o": 10}
    now = 4.0
    shared.rest(one.name, 10)  # another process has tried in vain
    now = 11.0
    assert not health.open(one, now)
    now = 15.0
    assert health.open(one, now)
    assert not health.open(one, now)
    health.failed(one, failed(FailureKind.TIMEOUT), now)
    assert not health.open(one, now)
    assert shared.remaining(one.name) == 10
    now = 26.0
    assert health.open(one, now)
    health.succeeded(one)
    assert all(health.open(one, now) for _ in range(3))


def test_a_pause_that_others_have_ended_is_over_at_once(routes: Routes) -> None:
    shared = MemoryCooldowns(lambda: 0.0)
    health, one = Health(shared), _smart(routes)
    shared.rest(one.name, 10)
    assert not health.open(one, 0)
    shared.clear(one.name)
    assert health.resting(0) == {}
    assert all(health.open(one, 1) for _ in range(3))


@pytest.mark.parametrize("outcome", ["answered", "abandoned", "refused"])
def test_the_one_that_goes_first_never_blocks_the_others_for_ever(routes: Routes, outcome: str) -> None:
    health, one = Health(), _smart(routes)
    for _ in range(2):
        health.failed(one, failed(FailureKind.SERVER), 0)
    assert health.open(one, 10)
    if outcome == "answered":
        health.began(one)
    elif outcome == "abandoned":
        health.released(one)
    else:
        health.failed(one, failed(FailureKind.BAD_REQUEST), 11)
    assert health.open(one, 12)


def test_a_stream_that_began_is_not_yet_a_success(routes: Routes) -> None:
    health, one = Health(), _smart(routes)
    for now in range(2):
        health.began(one)
        health.failed(one, failed(FailureKind.BROKEN_STREAM), now)
    assert not health.open(one, 2)


def test_keys_take_turns_as_they_spoil(routes: Routes) -> None:
    health, one = Health(), _smart(routes)
    assert health.key(one, 0) == 0
    health.pause_key(one, 0, failed(FailureKind.AUTH), 0)
    assert health.key(one, 1) == 1
    health.pause_key(one, 1, failed(FailureKind.RATE_LIMIT, retry_after=5.0), 1)
    assert health.key(one, 2) == 2
    health.pause_key(one, 5, failed(FailureKind.RATE_LIMIT), 2)
    assert health.key(one, 3) == 1
    assert health.key(one, 7) == 1
    assert health.key(one, 700) == 0
