"""C23 to C30: which model answers, decided without I/O; every decision has its reason."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from dragoman.conversation.failures import Failure, FailureKind
from dragoman.engine.library.adapt import read
from dragoman.engine.routing import sessions
from dragoman.engine.routing.cache_prices import CacheHabits
from dragoman.engine.routing.candidates import Candidate, Decision
from dragoman.engine.routing.decide import LastUse, RoutePolicy, RouterQuestion, Routing
from dragoman.engine.routing.router_model import PLACES, PROMPT, parse_choice, question
from dragoman.engine.routing.sessions import session_key, starts_anew
from dragoman.engine.routing.strategies import Strategy
from dragoman.errors import NoHealthyModel

SMALL = Candidate(name="small", target="a/s", weight=1, scores={"coding": 1000.0}, price=1.0, context_window=8_000)
LARGE = Candidate(name="large", target="b/l", weight=3, scores={"coding": 1300.0}, price=9.0, context_window=200_000)
OTHER = Candidate(name="other", target="c/o", weight=2, scores={"coding": 1250.0}, price=4.0, context_window=100_000)
ALL = (SMALL, LARGE, OTHER)
HI: Any = {"model": "auto", "messages": [{"role": "user", "content": "Hi"}]}


def with_(candidate: Candidate, **more: Any) -> Candidate:
    fields = {name: getattr(candidate, name) for name in candidate.__struct_fields__}
    return Candidate(**{**fields, **more})


def conversation(body: Any = HI) -> Any:
    return read(body, source="openai-chat").conversation


def decided(
    candidates: tuple[Candidate, ...] = ALL, policy: RoutePolicy | None = None, body: Any = HI, **more: Any
) -> Decision:
    found = Routing(conversation(body), candidates, policy or RoutePolicy(), **more).settle()
    assert isinstance(found, Decision)
    return found


@pytest.mark.parametrize(
    ("strategy", "more", "models"),
    [
        ("order", {}, ("small", "other", "large")),
        ("weighted", {"chance": 0.1}, ("small", "large", "other")),
        ("weighted", {"chance": 0.2}, ("large", "other", "small")),
        ("weighted", {"chance": 0.999}, ("other", "large", "small")),
        ("cheapest", {}, ("small", "other", "large")),
        ("rating", {}, ("large", "other", "small")),
        ("size", {}, ("small", "other", "large")),
    ],
)
def test_a_strategy_orders_the_models(strategy: str, more: dict[str, float], models: tuple[str, ...]) -> None:
    found = decided(policy=RoutePolicy(strategy=Strategy(strategy)), **more)
    assert set(found.models) == set(models)
    assert found.chosen == models[0]
    assert found.reason


def test_fastest_measures_the_unknown_first_and_least_busy_counts_by_weight() -> None:
    fast = (with_(SMALL, latency=0.9), with_(LARGE, latency=0.2), with_(OTHER, latency=0.5))
    assert decided(fast, RoutePolicy(strategy=Strategy.FASTEST)).models == ("large", "other", "small")
    assert decided((*fast[:2], OTHER), RoutePolicy(strategy=Strategy.FASTEST)).chosen == "other"
    busy = (with_(SMALL, busy=2), with_(LARGE, busy=3), with_(OTHER, busy=4))
    assert decided(busy, RoutePolicy(strategy=Strategy.LEAST_BUSY)).chosen == "large"


def test_C30_others_step_in_by_closeness_of_rating_and_at_most_three_are_asked() -> None:
    many = (*ALL, with_(SMALL, name="tiny", scores={"coding": 900.0}))
    found = decided(many, RoutePolicy(strategy=Strategy.ORDER), pinned="large")
    assert found.models == ("large", "other", "small")


def test_a_model_that_cannot_hold_the_conversation_or_see_is_left_out() -> None:
    long = {"model": "auto", "messages": [{"role": "user", "content": "word " * 20_000}]}
    found = decided(body=long)
    assert found.chosen == "large"
    assert [(one.name, one.why.split(",")[0]) for one in found.left_out] == [("small", "holds 8000 tokens")]
    seeing = (SMALL, with_(LARGE, inputs=frozenset({"image"})))
    blind = (with_(SMALL, inputs=frozenset({"document"})), seeing[1])
    image = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    assert decided(blind, body={"model": "auto", "messages": [{"role": "user", "content": [image]}]}).chosen == "large"


def test_C23_a_pinned_turn_stays_with_its_model_unless_that_is_unhealthy() -> None:
    found = decided(pinned="other")
    assert (found.chosen, found.skipped) == ("other", "the turn is pinned")
    assert decided((SMALL, LARGE, with_(OTHER, healthy=False)), pinned="other").chosen == "small"


def test_C28_a_warm_cache_is_left_only_for_a_higher_rating() -> None:
    warm = (SMALL, with_(LARGE, cache_minutes=5.0), with_(OTHER, cache_minutes=5.0))
    cheap = RoutePolicy(strategy=Strategy.CHEAPEST)
    assert decided(warm, cheap, last=LastUse("large", 60)).chosen == "large"
    assert decided(warm, cheap, last=LastUse("large", 271)).chosen == "small"
    best = RoutePolicy(strategy=Strategy.RATING)
    assert decided(warm, best, last=LastUse("other", 60)).chosen == "large"


CACHING = {"price": 13.0, "input_price": 10.0, "cache_minutes": 6.0}
PRICES = [
    # of `large`, last use of it in seconds, price of `other`, who is the cheapest
    ({"price": 13.0, "input_price": 10.0}, None, 9.0, "other"),  # no cache: 13
    (CACHING, None, 8.0, "large"),  # three turns: 12.5, 1 and 1, and 3 for output: 7.83
    (CACHING, None, 7.8, "other"),
    (CACHING, 60, 4.1, "large"),  # warm: 1 and 3
    (CACHING, 60, 3.9, "other"),
    (CACHING, 331, 7.8, "other"),  # 29 seconds before its end it counts as cold
    ({**CACHING, "cached_price": 5.0, "written_price": 10.0}, None, 9.6, "other"),  # by its own prices 9.67
    ({**CACHING, "cached_price": 5.0, "written_price": 10.0}, None, 9.7, "large"),
    ({**CACHING, "cached_price": 5.0}, 60, 7.9, "other"),  # warm: 5 and 3
    ({**CACHING, "cached_price": 5.0}, 60, 8.1, "large"),
    ({**CACHING, "cache_minutes": 1.0}, None, 15.4, "other"),  # written once and never read: 12.5 and 3
    ({"price": None, "cache_minutes": 6.0}, 60, 99.0, "large"),  # never leave what is warm for no reason
]


@pytest.mark.parametrize(("large", "seconds", "price", "chosen"), PRICES)
def test_C28_what_a_cache_saves_is_part_of_the_price(
    large: dict[str, Any], seconds: float | None, price: float, chosen: str
) -> None:
    """`other` is rated higher, so that a warm cache alone does not hold the session."""
    two = (with_(LARGE, **large), with_(OTHER, price=price, scores={"coding": 1400.0}))
    last = None if seconds is None else LastUse("large", seconds)
    if large["price"] is None:
        two = (two[0], with_(two[1], scores={"coding": 1000.0}))
    assert decided(two, RoutePolicy(strategy=Strategy.CHEAPEST), last=last).chosen == chosen


def test_C28_the_router_model_is_told_the_price_with_the_cache() -> None:
    two = (with_(LARGE, **CACHING), with_(OTHER, price=4.0, scores={"coding": 1400.0}))
    cold, warm = asked(two)[1], asked(two, last=LastUse("large", 60))[1]
    assert "7.83333 per million tokens" in cold["messages"][0]["content"]
    assert "(coding 1300, 4 per million tokens)" in warm["messages"][0]["content"]


def test_C28_what_is_assumed_of_caches_can_be_set() -> None:
    two = (with_(LARGE, **CACHING), with_(OTHER, price=4.1, scores={"coding": 1400.0}))
    dear = RoutePolicy(strategy=Strategy.CHEAPEST, caches=CacheHabits(hit_multiplier=0.5, buffer_seconds=0))
    assert decided(two, dear, last=LastUse("large", 60)).chosen == "other"
    quick = RoutePolicy(strategy=Strategy.CHEAPEST, caches=CacheHabits(minutes_per_message=0.01))
    assert decided((two[0], with_(two[1], price=4.2)), quick).chosen == "large"


def test_C29_no_healthy_model_is_503() -> None:
    with pytest.raises(NoHealthyModel, match="No healthy models available") as caught:
        decided(tuple(with_(one, healthy=False) for one in ALL))
    assert caught.value.status == 503


MODEL = RoutePolicy(strategy=Strategy.MODEL, default="other")


def asked(candidates: tuple[Candidate, ...] = ALL, **more: Any) -> tuple[Routing, Any]:
    routing = Routing(conversation(), candidates, MODEL, **more)
    found = routing.settle()
    assert isinstance(found, RouterQuestion)
    return routing, found.body


def test_C25_a_router_model_is_asked_by_schema_and_its_reason_is_told() -> None:
    routing, body = asked()
    schema = body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["model"]["enum"] == ["small", "large", "other"]
    found = routing.answered('{"reasoning": "It is hard.", "model": "large"}')
    assert (found.chosen, found.reason) == ("large", "It is hard.")


@pytest.mark.parametrize(
    ("text", "model"),
    [
        ('Sure: ```json\n{"model": "large"}\n```', "large"),
        ("large", "large"),
        ('{"model": "b/l"}', "large"),
        ('{"model": "nobody"}', "other"),
        ('{"model": 7}', "other"),
        ("I cannot decide between large and small.", "other"),
        ("{" * 50_000, "other"),
        (Failure(FailureKind.TIMEOUT, "no answer within 10 s", 504), "other"),
    ],
)
def test_C25_nonsense_takes_the_default(text: str | Failure, model: str) -> None:
    routing, _ = asked()
    assert routing.answered(text).chosen == model


@pytest.mark.parametrize(
    ("failure", "why"),
    [
        (Failure(FailureKind.TIMEOUT, "no answer within 10 s", 504), "the router model did not answer in time"),
        (Failure(FailureKind.OVERLOADED, "Busy.", 503), "the router model failed (overloaded 503)"),
        (Failure(FailureKind.NETWORK, "Connection refused"), "the router model failed (network)"),
        (Failure(FailureKind.QUOTA, "Spent.", 429), "there is no budget left for the router model"),
    ],
)
def test_C25_the_reason_says_what_happened_to_the_router_model(failure: Failure, why: str) -> None:
    routing, _ = asked()
    assert routing.answered(failure).reason == f"{why}: the default is taken"


def test_C25_shortcuts_ask_no_model() -> None:
    assert decided((SMALL,), MODEL).skipped == "there is one candidate"
    warm = (SMALL, with_(LARGE, cache_minutes=5.0))
    assert decided(warm, MODEL, last=LastUse("large", 10)).skipped == "the cache is warm"


def test_C25_the_prompt_holds_models_context_and_request_and_nothing_is_filled_twice() -> None:
    body = {
        "model": "auto",
        "messages": [
            {"role": "system", "content": "secret"},
            {"role": "user", "content": "First."},
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": "Use large for {context}."},
        ],
    }
    made = question(conversation(body), ALL, PROMPT, 2)["messages"][0]["content"]
    assert "- large: " in made
    assert "user: First.\nassistant: Yes." in made
    assert "user: Use large for {context}." in made
    assert "secret" not in made
    assert all(place not in made.replace("for {context}.", "") for place in PLACES)


def test_parse_choice_reads_nothing_beyond_its_bound() -> None:
    assert parse_choice(" " * 30_000 + "large", ALL) is None


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ({"session_id": "s1"}, "s1"),
        ({"metadata": {"thread_id": "t" * 200}}, "t" * 128),
        ({"chat_id": 17}, "17"),
        ({"messages": [{"role": "user", "content": "telegram chat id: 123456789 says hello"}]}, "telegram:123456789"),
        ({"messages": [{"role": "user", "content": "[Telegram Anna id:-100123456 +5m] hi"}]}, "telegram:-100123456"),
        ({"messages": [{"role": "user", "content": "Telegram Anna (@anna) id:6894812299: hi"}]}, "telegram:6894812299"),
    ],
)
def test_C27_sessions_are_known_by_their_ids(more: dict[str, Any], key: str) -> None:
    assert session_key(read({**HI, **more}, source="openai-chat")) == key


@pytest.mark.parametrize(
    ("headers", "more", "key"),
    [
        ({"x-claude-code-session-id": "s" * 200}, {}, "s" * 128),
        ({"session-id": "codex"}, {}, "codex"),
        ({"x-claude-code-session-id": "header"}, {"metadata": {"session_id": "member"}}, "member"),
        ({}, {"metadata": {"user_id": '{"device_id":"d","session_id":"inside"}'}}, "inside"),
        ({}, {"metadata": {"user_id": "{no json"}}, None),
        ({"x-claude-code-session-id": ""}, {}, None),
    ],
)
def test_agents_name_their_session_in_a_header(headers: dict[str, str], more: dict[str, Any], key: str | None) -> None:
    found = session_key(read({**HI, "max_tokens": 9, **more}, source="anthropic", headers=headers))
    assert found == key if key is not None else found.startswith("auto:")


def test_the_metadata_of_a_session_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part of a turn that asks for its session gets what was read before."""
    searched: list[Any] = []
    search = sessions._find_given

    def note(fields: Mapping[str, Any]) -> str:
        searched.append(fields)
        return search(fields)

    monkeypatch.setattr(sessions, "_find_given", note)
    body = {**HI, "max_tokens": 9, "metadata": {"user_id": '{"session_id":"read once"}'}}
    asks = [read(body, source="anthropic") for _ in range(3)]
    assert [session_key(ask) for ask in asks] == ["read once"] * 3
    assert searched == [body["metadata"], {"session_id": "read once"}]


def test_C27_a_session_without_an_id_is_known_by_its_first_words() -> None:
    first = session_key(read(HI, source="openai-chat"))
    later = {
        **HI,
        "messages": [*HI["messages"], {"role": "assistant", "content": "a"}, {"role": "user", "content": "b"}],
    }
    assert first.startswith("auto:")
    assert len(first) == 21
    assert session_key(read(later, source="openai-chat")) == first
    other = json.loads(json.dumps(HI).replace("Hi", "Ho"))
    assert session_key(read(other, source="openai-chat")) != first


@pytest.mark.parametrize(("words", "anew"), [("/new", True), (" /RESET ", True), ("/newer", False), ("hi /new", False)])
def test_C27_new_and_reset_forget_the_session(words: str, anew: bool) -> None:
    assert starts_anew(conversation({**HI, "messages": [{"role": "user", "content": words}]})) is anew
