"""Tokens in every dialect that can ask for them, of models behind every dialect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest
from tests.gateway.stage import Stage, stage

from dragoman.engine.history.calibration import CountedTokens, observe_count

HI = [{"role": "user", "content": "How many words has this sentence of a few words?"}]
ASKED: dict[str, tuple[str, Any, str]] = {
    "anthropic": ("/v1/messages/count_tokens", {"messages": HI}, "input_tokens"),
    "responses": ("/v1/responses/input_tokens", {"input": HI[0]["content"]}, "input_tokens"),
    "gemini": (
        "/v1beta/models/{model}:countTokens",
        {"contents": [{"role": "user", "parts": [{"text": HI[0]["content"]}]}]},
        "totalTokens",
    ),
    "bedrock": (
        "/model/{model}/count-tokens",
        {"input": {"converse": {"messages": [{"role": "user", "content": [{"text": HI[0]["content"]}]}]}}},
        "inputTokens",
    ),
}
COUNTING = ("claude", "gemini", "thinker", "bedrock", "invoked")
"""Models whose providers count."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("counting")) as one:
        yield one


@pytest.mark.parametrize("client", ASKED)
@pytest.mark.parametrize("model", ["claude", "gemini", "thinker", "bedrock", "invoked", "gpt", "command", "qwen"])
def test_the_provider_counts_if_it_can_and_an_estimate_says_so(world: Stage, client: str, model: str) -> None:
    path, body, figure = ASKED[client]
    world.script(model)
    told = world.gateway.post(path.format(model=model), {"model": model, **body})
    assert told.status_code == 200, told.text
    assert 5 < told.json()[figure] < 30
    assert ("x-dragoman-estimate" in told.headers) is (model not in COUNTING)
    assert len(world.asked(model)) == (1 if model in COUNTING else 0)


def test_what_an_id_stands_for_is_counted(world: Stage) -> None:
    client = world.gateway.openai()
    first = client.responses.create(model="gpt", input="A long story of a dragon. " * 100)
    bare = client.responses.input_tokens.count(model="gpt", input="Go on.").input_tokens
    for model in ("gpt", "claude", "thinker"):
        asked: Any = {"model": model, "input": "Go on.", "previous_response_id": first.id}
        assert client.responses.input_tokens.count(**asked).input_tokens > bare + 400, model
    own = client.responses.create(model="thinker", input="A long story of a dragon. " * 100)
    counted = client.responses.input_tokens.count(model="thinker", input="Go on.", previous_response_id=own.id)
    assert counted.input_tokens > bare + 400, "also if the provider has it itself"
    with pytest.raises(openai.BadRequestError, match="not found"):
        client.responses.input_tokens.count(model="gpt", input="Go on.", previous_response_id="resp_unknown")


def test_counts_are_learnt_from_answers_without_any_setting(world: Stage) -> None:
    """Of providers that do not count beforehand; after the first ones, of one in many."""
    services = world.gateway.services
    world.gateway.openai().chat.completions.create(model="deepseek", messages=[{"role": "user", "content": "Hi"}])
    known = services.store.calibrations.find("deepseek/deepseek-v4-flash")
    assert known is not None
    assert known.count == 1
    world.gateway.anthropic().messages.create(
        model="claude", max_tokens=9, messages=[{"role": "user", "content": "Hi"}]
    )
    assert services.store.calibrations.find("claude/claude-sonnet-4-5") is None
    place = services.live.routes.find("deepseek")
    assert place is not None
    assert sum(services.exchange_state.wants_count(place.first) for _ in range(512)) == 33


def test_an_estimate_is_calibrated_by_what_was_reported(world: Stage) -> None:
    path, body, figure = ASKED["anthropic"]
    before = world.gateway.post(path, {"model": "gpt", **body}).json()[figure]
    known = None
    for size in (10, 100, 1000):
        known = observe_count(known, CountedTokens(float(size), size * 2))
    assert known is not None
    world.gateway.services.store.calibrations.put("gpt/gpt-4o", known)
    after = world.gateway.post(path, {"model": "gpt", **body}).json()[figure]
    assert 1.5 < after / before < 2.6
