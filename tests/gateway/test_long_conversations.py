"""Agents that run for hours: their history is trimmed to the window, on every model, from every client."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import gateway, provider
from tests.gateway.test_vault import MODELS, Agent, Chat, Gemini, Messages, Responses, Stage

from dragoman.emulators.usage import CLAUDE, count_tokens
from dragoman.engine.history.sizes import estimate_tokens
from dragoman.engine.library.adapt import read
from dragoman.testing import emulator

FULL = bool(os.environ.get("DRAGOMAN_FULL"))
TURNS, WINDOW = (200, 8_000) if FULL else (20, 1_500)
MOST_BREAKS = 10 if FULL else 3
"""At least so many turns for each break of the provider's cache. The small window has few turns in it."""
ONCE = {"retries": {"attempts": 1}, "timeouts": {"connect": 20, "first_byte": 60, "idle": 60, "total": 90}}
"""A request that a busy machine makes slow must not be sent again: the second one would find the script used up."""
TARGETS = ("anthropic", "gemini", "openai", "openai-responses")
TASK = "Mend the roof, and count the tiles."
PROMPT = ("system", "systemInstruction", "instructions", "messages", "contents", "input", "tools")


def window_of(name: str) -> int:
    """The window, with room for what the service puts into a prompt itself."""
    return WINDOW + (CLAUDE.tools if "claude" in MODELS[name] else 0)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with ExitStack() as stack:
        emulators = {name: stack.enter_context(emulator(name, window=window_of(name))) for name in TARGETS}
        config = {
            "providers": {name: provider(name, one.base_url, **ONCE) for name, one in emulators.items()},
            "models": {
                name: {"target": f"{name}/{MODELS[name]}", "context_window": window_of(name)} for name in TARGETS
            },
            "history": {"trim": {"max_history_tokens": 0, "on_refusal": False}},
        }
        yield Stage(stack.enter_context(gateway(config, tmp_path_factory.mktemp("long"))), emulators)


def tiles(turn: int) -> str:
    return f"Row {turn} has tiles. " * 24


class LongChat(Chat):
    def results(self) -> list[Any]:
        return [{**one, "content": tiles(len(self.turns))} for one in super().results()]


class LongMessages(Messages):
    def body(self, model: str) -> Any:
        return {key: value for key, value in super().body(model).items() if key != "thinking"}

    def results(self) -> list[Any]:
        blocks = [{**block, "content": tiles(len(self.turns))} for block in super().results()[0]["content"]]
        return [{"role": "user", "content": blocks}]


class LongResponses(Responses):
    def body(self, model: str) -> Any:
        return {key: value for key, value in super().body(model).items() if key != "reasoning"}

    def results(self) -> list[Any]:
        return [{**one, "output": tiles(len(self.turns))} for one in super().results()]


class LongGemini(Gemini):
    def results(self) -> list[Any]:
        (turn,) = super().results()
        for part in turn["parts"]:
            part["functionResponse"]["response"] = {"output": tiles(len(self.turns))}
        return [turn]


CLIENTS: list[type[Agent]] = [LongChat, LongMessages, LongResponses, LongGemini]


def turns_of(body: Any) -> list[str]:
    found = next(body[name] for name in ("messages", "contents", "input") if name in body)
    return [json.dumps(_without_hints(turn)) for turn in found]


CACHED = 1_024
"""Tokens of the shortest prompt that a provider of these caches. None is broken if a shorter one is written anew."""
HINTS = ("cache_control", "cachePoint", "prompt_cache_breakpoint")


def _without_hints(value: Any) -> Any:
    """Hints move along with the last turns; a provider finds a prefix without them."""
    if isinstance(value, list):
        return [_without_hints(one) for one in value]
    if isinstance(value, dict):
        return {name: _without_hints(one) for name, one in value.items() if name not in HINTS}
    return value


@pytest.mark.sampled(5)
@pytest.mark.parametrize("model", TARGETS)
@pytest.mark.parametrize("client", CLIENTS)
def test_C31_an_agent_works_on_beyond_the_window(stage: Stage, client: type[Agent], model: str) -> None:
    """The emulators refuse what is longer than the window, and calls without results or results without calls.

    Nothing is tried again after such a refusal: it would be the client's answer. With `DRAGOMAN_FULL=1` these are the
    figures of the guide.
    """
    agent = client(stage)
    received = len(stage.emulators[model].requests)
    agent.turns.append(agent.said(f"{TASK} I am {client.__name__}."))  # else they would share their cuts
    sent: list[str] = []
    breaks = tokens = 0
    for turn in range(TURNS):
        call = {
            "name": "weather",
            "arguments": {"city": f"Row {turn}"},
            "id": f"call_{client.__name__}{model}{turn:04}",
        }
        stage.emulators[model].script({"calls": [call]})
        agent.turns.append(agent.kept(agent.send(model)))
        agent.turns += agent.results()
        body = stage.sent(model)
        breaks += tokens >= CACHED and turns_of(body)[: len(sent)] != sent
        tokens, sent = count_tokens([body[name] for name in PROMPT if name in body]), turns_of(body)
        assert tokens <= WINDOW
        assert TASK in sent[0] or TASK in sent[1]
    assert "history-trim" in agent.headers["x-dragoman-changes"]
    verdicts = [record.verdict for record in stage.emulators[model].requests[received:]]
    assert verdicts == ["accepted"] * TURNS
    print(f"{client.__name__} to {model}: {breaks} cache breaks in {TURNS} turns")
    assert 0 < breaks <= TURNS / MOST_BREAKS


def test_a_short_conversation_is_not_touched(stage: Stage) -> None:
    stage.emulators["openai"].script("Hi.")
    agent = Chat(stage)
    agent.ask("openai", "Hello")
    assert "x-dragoman-changes" not in agent.headers


def test_C37_the_report_the_log_and_the_metrics_have_the_figures(tmp_path: Path) -> None:
    turns = [{"role": role, "content": f"{at} " + "word " * 400} for at in range(20) for role in ("user", "assistant")]
    asked = {"model": "m", "messages": [*turns, {"role": "user", "content": "So?"}]}
    with emulator("openai") as provided:
        config = {
            "providers": {"openai": provider("openai", provided.base_url)},
            "models": {"m": {"target": "openai/gpt-4o"}},
            "history": {"trim": {"max_history_tokens": 3000, "keep_recent_exchanges": 2}},
        }
        with gateway(config, tmp_path) as running:
            shown = running.post("/dragoman/adapt", {"request": asked, "from": "openai-chat", "to": "m"}).json()
            answered = running.post("/v1/chat/completions", asked)
            report = running.get(f"/dragoman/requests/{answered.headers['x-dragoman-request-id']}").json()
            metrics = running.get("/metrics").text
    lines = [json.loads(line) for line in running.log.getvalue().splitlines()]
    figures = report["trimmed"]
    assert [figures] == [line["trimmed"] for line in lines if line["event"] == "request"]
    assert figures == shown["trimmed"]
    assert figures["original_tokens"] - figures["kept_tokens"] == figures["saved_tokens"] > 10_000
    assert figures["dropped"] > 0
    assert f'dragoman_trimmed_tokens_total{{target="openai/gpt-4o",how="saved"}} {figures["saved_tokens"]}' in metrics
    assert f'dragoman_trimmed_messages_total{{target="openai/gpt-4o",how="dropped"}} {figures["dropped"]}' in metrics


def test_what_providers_report_corrects_the_estimates_and_is_kept(tmp_path: Path) -> None:
    """The emulators count four bytes as one token, whatever stands there; an estimate counts words."""
    words = "responsibilities " * 40
    with emulator("openai") as provided:
        config = {
            "providers": {"openai": provider("openai", provided.base_url)},
            "models": {"m": {"target": "openai/gpt-4o"}},
            "history": {"trim": {"max_history_tokens": 100_000}},
            "store": {"path": str(tmp_path / "store.sqlite3")},
        }
        turns: list[Any] = []
        with gateway(config, tmp_path) as running:
            assert running.services.exchange_state.token_scale("openai/gpt-4o").per_estimate == 1.0
            for _ in range(10):
                turns += [{"role": "user", "content": words}]
                provided.script("Fine.")
                answer = running.post("/v1/chat/completions", {"model": "m", "messages": turns}).json()
                turns += [answer["choices"][0]["message"]]
            learnt = running.services.exchange_state.token_scale("openai/gpt-4o")
            reported = answer["usage"]["prompt_tokens"]
            estimate = estimate_tokens(read({"messages": turns[:-1]}, source="openai-chat").conversation, "gpt-4o")
        assert abs(estimate - reported) > reported * 0.2
        assert estimate * learnt.per_estimate + learnt.fixed == pytest.approx(reported, rel=0.05)
        with gateway(config, tmp_path) as again:
            assert again.services.exchange_state.token_scale("openai/gpt-4o") == learnt


def test_a_model_without_trimming_is_calibrated_for_those_who_ask_for_a_count(tmp_path: Path) -> None:
    with emulator("openai") as provided:
        config = {"providers": {"openai": provider("openai", provided.base_url)}}
        with gateway(config, tmp_path) as running:
            body = {"model": "openai/gpt-4o", "messages": [{"role": "user", "content": "word " * 900}]}
            assert running.post("/v1/chat/completions", body).status_code == 200
            assert running.services.store.calibrations.find("openai/gpt-4o") is not None
