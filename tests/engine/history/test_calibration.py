"""Estimates are corrected by what providers report; the recorded traffic says how well."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.corpus import exchanges
from tests.engine.history.conversations import agent_loop, user

from dragoman.conversation.collect import merge_usage
from dragoman.conversation.conversation import Ask, Conversation
from dragoman.conversation.events import Started, Used
from dragoman.conversation.literals import quote
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.parts import Text
from dragoman.conversation.replies import Usage
from dragoman.conversation.tools import NativeTool, Tool
from dragoman.dialects.registry import dialect
from dragoman.engine.history.calibration import (
    AS_ESTIMATED,
    Calibration,
    CountedTokens,
    TokenScale,
    calibration_key,
    can_be_estimated,
    observe_count,
)
from dragoman.engine.history.sizes import BYTES_PER_TOKEN, estimate_bytes_per_token, estimate_tokens
from dragoman.engine.history.trim_policy import TrimPolicy
from dragoman.engine.history.trimming import TrimRequest, trim
from dragoman.engine.library.adapt import read
from dragoman.errors import RequestError

DIALECTS = ("openai-chat", "openai-responses", "anthropic", "gemini")
TURNS = 10
SMALLEST = 10
"""An error is measured against the reported count, and against ten if that is smaller."""
LARGE = 1_000
"""Requests of so many tokens are judged by themselves, too: only long conversations are cut."""
FETCHED = ("mcp_servers", "venice_parameters", "search_parameters", "web_search_options", "plugins")
"""Fields with which a provider reads more than the request holds."""


def known(*counts: tuple[float, int]) -> Calibration:
    made: Calibration | None = None
    for estimated, reported in counts:
        made = observe_count(made, CountedTokens(estimated, reported))
    assert made is not None
    return made


def test_nothing_is_corrected_before_anything_is_reported() -> None:
    assert Calibration().scale() == AS_ESTIMATED == TokenScale(1.0, 0.0)


def test_a_growing_conversation_tells_slope_and_what_is_added_to_every_request() -> None:
    scale = known(*[(size, round(size * 1.3 + 350)) for size in range(200, 8_000, 700)]).scale()
    assert scale.per_estimate == pytest.approx(1.3, abs=0.1)
    assert scale.fixed == pytest.approx(350, abs=100)
    assert 20_000 * scale.per_estimate + scale.fixed == pytest.approx(20_000 * 1.3 + 350, rel=0.06)


def test_a_single_count_is_right_where_it_was_made() -> None:
    scale = known((1_000, 1_500)).scale()
    assert 1_000 * scale.per_estimate + scale.fixed == pytest.approx(1_500)


def test_a_model_that_counts_less_has_nothing_added() -> None:
    scale = known(*[(size, round(size * 0.7)) for size in range(200, 4_000, 400)]).scale()
    assert scale.fixed == pytest.approx(0, abs=5)
    assert scale.per_estimate == pytest.approx(0.7, abs=0.06)


def test_old_counts_fade() -> None:
    counts = [(1_000.0 + 40 * turn, 1_000 + 40 * turn) for turn in range(60)]
    changed = [(estimated, reported * 2) for estimated, reported in counts]
    scale = known(*counts, *changed, *changed).scale()
    assert 2_000 * scale.per_estimate + scale.fixed == pytest.approx(4_000, rel=0.05)


@settings(deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1e7), st.integers(0, 10**9)), min_size=1, max_size=40))
def test_whatever_is_reported_the_scale_stays_within_bounds(counts: list[tuple[float, int]]) -> None:
    scale = known(*counts).scale()
    assert 0.5 <= scale.per_estimate <= 2.5
    largest = max(max(1.0, estimated) for estimated, _ in counts)
    assert 0 <= scale.fixed <= 4 * largest + 4_000
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(known(*counts)), type=Calibration) == known(*counts)


def test_requests_with_tools_are_counted_by_themselves() -> None:
    talk = Conversation((user("Hi"),))
    assert calibration_key("anthropic/x", talk) == "anthropic/x"
    assert calibration_key("anthropic/x", replace(talk, tools=(Tool("look"),))) == "anthropic/x +tools"


def test_what_the_provider_adds_by_itself_says_nothing_about_estimates() -> None:
    talk = Conversation((user("Hi"),))
    assert can_be_estimated(talk)
    assert can_be_estimated(Conversation(agent_loop(3)))
    searching = NativeTool("web_search", b'{"type":"web_search"}', "openai-responses")
    assert not can_be_estimated(replace(talk, tools=(searching,)))
    picture = read(
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}]}
            ],
        },
        source="openai-chat",
    )
    assert not can_be_estimated(picture.conversation)
    stored = {"model": "m", "input": "Hi", "previous_response_id": "resp_1"}
    assert not can_be_estimated(read(stored, source="openai-responses").conversation)


@pytest.mark.parametrize(
    ("words", "least", "most"),
    [("plain words of people ", 4.5, 6.5), ('{"a":[1,22,{"b":null}]},', 1.0, 3.0), ("\u4f60\u597d", 3.0, 4.5)],
    ids=["prose", "json", "dense script"],
)
def test_how_many_bytes_a_token_has_follows_from_the_text(words: str, least: float, most: float) -> None:
    messages = (Message(Role.USER, (Text(quote(words * 500)),)),)
    assert least <= estimate_bytes_per_token(messages, "") <= most


def test_a_beginning_that_is_long_enough_decides() -> None:
    beginning = (user("plain words of people " * 500),)
    later = (*beginning, user('{"a":[1,22,{"b":null}]},' * 5_000))
    assert estimate_bytes_per_token(beginning, "") == estimate_bytes_per_token(later, "")
    assert estimate_bytes_per_token((), "") == BYTES_PER_TOKEN


def test_what_is_added_to_every_request_is_taken_from_the_window() -> None:
    policy = TrimPolicy(max_history_tokens=0, window=8_000)
    conversation = Conversation(agent_loop(20))
    assert trim(conversation, TrimRequest(policy)).cut is None
    done = trim(conversation, TrimRequest(policy, fixed_tokens=3_000.0))
    assert done.statistics is not None
    assert done.statistics.kept_tokens + 3_000 <= 8_000 * policy.context_budget


# The recorded traffic.


class _Counted(msgspec.Struct, frozen=True):
    """One recorded request. `source` is the recording that it stands in: its other requests are of the same agent."""

    key: str
    source: str
    identity: str
    count: CountedTokens


def _usage(name: str, response: dict[str, Any]) -> tuple[Usage | None, str]:
    body, codec = response["body"], dialect(name).answers
    if response["kind"] == "json" and not isinstance(body, list):
        events = codec.parse(orjson.dumps(body), None, seed="a")
    elif isinstance(body, str) and response["kind"] != "ndjson":
        parser = codec.stream_parser(None, seed="a")
        events = [*parser.feed(body.encode()), *parser.close()]
    else:
        return None, ""
    usage: Usage | None = None
    for event in events:
        if isinstance(event, Used):
            usage = merge_usage(usage, event.usage)
    return usage, next((event.model for event in events if isinstance(event, Started)), "")


def _ask(name: str, body: Any) -> Ask | None:
    try:
        ask = read(orjson.dumps(body), source=name)
    except RequestError:  # recorded with a mistake of its own
        return None
    extras = ask.conversation.extras
    if not can_be_estimated(ask.conversation) or (extras and any(field in extras.fields for field in FETCHED)):
        return None
    return ask


def _recorded() -> Iterator[_Counted]:
    for name in DIALECTS:
        for exchange in exchanges(f"*.{name}.jsonl"):
            if exchange["request"] is None or exchange["response"]["status"] >= 400:
                continue
            usage, model = _usage(name, exchange["response"])
            ask = _ask(name, exchange["request"]["body"]) if usage is not None and usage.input else None
            if ask is None or usage is None:
                continue
            model = model or ask.model or ""
            key = calibration_key(f"{exchange['provider']} {name} {model}", ask.conversation)
            count = CountedTokens(estimate_tokens(ask.conversation, model), usage.input)
            yield _Counted(key, exchange["repo"] + exchange["path"], exchange["id"], count)


def _order(seed: int, text: str) -> bytes:
    return blake2b(f"{seed} {text}".encode(), digest_size=8).digest()


def _error(scale: TokenScale, count: CountedTokens) -> float:
    estimate = count.estimated * scale.per_estimate + scale.fixed
    return abs(estimate - count.reported) / max(count.reported, SMALLEST)


def _judged(models: dict[str, list[_Counted]], seed: int) -> Iterator[tuple[CountedTokens, float, float]]:
    """Errors before and after ten requests. Those come from half of the recordings, the other half is judged."""
    for requests in models.values():
        taught = [one for one in requests if _order(seed, one.source)[0] % 2]
        held_out = [one for one in requests if not _order(seed, one.source)[0] % 2]
        if len(taught) < TURNS:
            continue
        taught.sort(key=lambda one: _order(seed, one.identity))
        learnt: Calibration | None = None
        for one in taught[:TURNS]:
            learnt = observe_count(learnt, one.count)
        assert learnt is not None
        for one in held_out:
            yield one.count, _error(AS_ESTIMATED, one.count), _error(learnt.scale(), one.count)


def _percentiles(errors: list[float]) -> tuple[float, float]:
    errors = sorted(errors)
    return errors[len(errors) // 2], errors[len(errors) * 9 // 10]


@pytest.mark.slow
def test_ten_turns_make_estimates_better_on_requests_that_were_not_learnt_from() -> None:
    """The figures that `docs/guide/tokens.md` states."""
    models: dict[str, list[_Counted]] = defaultdict(list)
    for one in _recorded():
        models[one.key].append(one)
    judged = [errors for seed in range(8) for errors in _judged(models, seed)]
    for name, least in (("all", 0), ("large", LARGE)):
        before = _percentiles([first for count, first, _ in judged if count.reported >= least])
        after = _percentiles([second for count, _, second in judged if count.reported >= least])
        number = sum(count.reported >= least for count, _, _ in judged)
        print(f"{name}: {number} judged; before p50 {before[0]:.3f} p90 {before[1]:.3f}", end="; ")
        print(f"after p50 {after[0]:.3f} p90 {after[1]:.3f}")
        assert number > 300
        assert after[0] <= 0.15
        assert after[0] <= before[0]
        assert after[1] < before[1]
