"""An exchange with a long history: earlier cuts are recalled, a refusal is answered with a shorter conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.engine.test_exchange import GOOD, Driver, destination, exchange, refused

from dragoman.conversation.failures import FailureKind
from dragoman.engine.exchange.destination import Destination
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.steps import Answered, GaveUp, Recall, Recalled, Send, Step
from dragoman.engine.history.trim_policy import TrimPolicy

TRIM = TrimPolicy(max_history_tokens=1_000)
TURNS: list[Any] = [
    message
    for turn in range(30)
    for message in (
        {"role": "user", "content": f"question {turn} " * 20},
        {"role": "assistant", "content": f"answer {turn} " * 20},
    )
]
LONG = [*TURNS, {"role": "user", "content": "And now?"}]


class TrimDriver(Driver):
    """Keeps cuts between requests."""

    def __init__(self, asked: Exchange[Destination], cuts: dict[str, Any], **limits: int) -> None:
        super().__init__(asked, self._judge)
        self.cuts = cuts
        self.limit = limits.get("limit", 0)

    def _judge(self, send: Send[Destination]) -> Any:
        tokens = len(send.request.body) // 3
        if self.limit and tokens > self.limit:
            said = f"This model's maximum context length is {self.limit} tokens. However, your messages resulted in"
            return refused(f"{said} {tokens} tokens.", code="context_length_exceeded")
        return 200, GOOD

    def _next(self, step: Step[Destination]) -> Step[Destination]:
        if isinstance(step, Recall) and step.cuts is not None:
            found = next((self.cuts[key] for key in step.cuts(None) if key in self.cuts), None)
            return self.exchange.recalled(Recalled(cut=found))
        return super()._next(step)

    def keep(self) -> None:
        kept = self.exchange.state_to_keep()
        if kept is not None and kept.cut is not None:
            self.cuts[kept.cut[0]] = kept.cut[1]


def asked(messages: list[Any], *route: Destination, **more: Any) -> Exchange[Destination]:
    return exchange(*route, messages=messages, **more)


def test_a_cut_is_kept_once_and_recalled_by_the_next_turn() -> None:
    cuts: dict[str, Any] = {}
    bodies = []
    for messages in (LONG, [*LONG, {"role": "assistant", "content": "Fine."}, {"role": "user", "content": "More?"}]):
        driver = TrimDriver(asked(messages, destination(history=TRIM)), cuts)
        assert isinstance(driver.run(), Answered)
        driver.keep()
        bodies.append(driver.sent()[0]["messages"])
    assert len(cuts) == 1
    assert bodies[1][: len(bodies[0])] == bodies[0]


def test_a_short_request_recalls_nothing() -> None:
    driver = TrimDriver(asked([{"role": "user", "content": "Hi"}], destination(history=TRIM)), {})
    driver.run()
    assert "Recall" not in driver.names()


def test_a_conversation_that_is_too_long_is_trimmed_to_what_the_provider_says_once() -> None:
    unlimited = TrimPolicy(max_history_tokens=0)
    driver = TrimDriver(asked(LONG, destination(history=unlimited)), {}, limit=2_000)
    assert isinstance(driver.run(), Answered)
    first, second = driver.sent()
    assert len(second["messages"]) < len(first["messages"])
    assert second["messages"][-1] == LONG[-1]
    assert "history-trim" in {change.rule for change in driver.exchange.changes}
    kept = driver.exchange.state_to_keep()
    assert kept is not None
    assert kept.cut is None


@pytest.mark.parametrize("policy", [None, TrimPolicy(max_history_tokens=0, on_refusal=False)])
def test_a_refusal_stands_if_trimming_is_not_wanted(policy: TrimPolicy | None) -> None:
    driver = TrimDriver(asked(LONG, destination(history=policy)), {}, limit=2_000)
    ended = driver.run()
    assert isinstance(ended, GaveUp)
    assert ended.failure.kind is FailureKind.CONTEXT_LENGTH
    assert len(driver.sent()) == 1


def test_what_cannot_be_made_to_fit_is_refused_with_the_providers_words() -> None:
    huge = [{"role": "user", "content": "word " * 4_000}]
    driver = TrimDriver(asked(huge, destination(history=TRIM)), {}, limit=2_000)
    ended = driver.run()
    assert isinstance(ended, GaveUp)
    assert "maximum context length is 2000 tokens" in ended.failure.message
    assert len(driver.sent()) == 1


def test_a_target_that_the_configuration_names_for_long_conversations_goes_first() -> None:
    other = destination("openai/gpt-4.1")
    first = destination(history=TrimPolicy(max_history_tokens=0))
    reserved = {FailureKind.CONTEXT_LENGTH: (other,)}
    driver = TrimDriver(asked(LONG, first, other, reserved=reserved), {})
    driver.provider = lambda send: (
        (200, GOOD) if send.destination is other else refused("too long", code="context_length_exceeded")
    )
    assert isinstance(driver.run(), Answered)
    assert driver.exchange.destination is other
    assert json.loads(driver.exchange.request.body)["messages"] == LONG  # type: ignore[union-attr]
