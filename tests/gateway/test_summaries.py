"""B17: old turns are summarised beside the answer, for the turns that follow."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.gateway.running import QUICK, Running, gateway, provider, wait_for

from dragoman.emulators.serving.background_server import RunningEmulator
from dragoman.store.ledger_entry import Viewer
from dragoman.testing import emulator


class World:
    def __init__(self, running: Running, talker: RunningEmulator, writer: RunningEmulator) -> None:
        self.running = running
        self.talker = talker
        self.writer = writer

    def ask(self, messages: list[Any]) -> Any:
        answer = self.running.post("/v1/chat/completions", {"model": "talker", "messages": messages})
        assert answer.status_code == 200, answer.text
        self.settle()
        return answer

    def settle(self) -> None:
        """Wait until no summary is under way."""
        assert self.running.loop is not None
        waiting = asyncio.run_coroutine_threadsafe(
            self.running.services.conversations.summaries.wait(), self.running.loop
        )
        waiting.result(60)

    def tried(self) -> int:
        """How often the writer was to be asked, whether or not it heard of it in time."""
        ledger = self.running.services.store.ledger
        page = self.running.do(lambda: ledger.recent(Viewer("", True)))
        return sum(entry.asked != "talker" for entry in page.entries)

    def sent(self) -> list[Any]:
        found: list[Any] = self.talker.requests[-1].body["messages"]
        return found


@contextmanager
def summaries(folder: Path, **more: Any) -> Iterator[World]:
    with ExitStack() as stack:
        talker, writer = (stack.enter_context(emulator("openai")) for _ in range(2))
        config = {
            "providers": {
                "talker": provider("openai", talker.base_url),
                "writer": provider("openai", writer.base_url, retries={**QUICK, "attempts": 1}),
            },
            "models": {"talker": {"target": "talker/gpt-4o"}},
            "history": {"compact": {"model": "writer/gpt-4o-mini", "above_tokens": 1000, "chunk_size": 8, **more}},
        }
        yield World(stack.enter_context(gateway(config, folder)), talker, writer)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with summaries(tmp_path) as made:
        yield made


def exchanges(first: int, last: int) -> list[Any]:
    return [
        message
        for turn in range(first, last)
        for message in (
            {"role": "user", "content": f"question {turn} " * 20},
            {"role": "assistant", "content": f"answer {turn} " * 20},
        )
    ]


SYSTEM = {"role": "system", "content": "Be brief."}
NOW = {"role": "user", "content": "And now?"}


def test_B17_the_next_turn_has_a_summary_in_place_of_old_turns(world: World) -> None:
    world.writer.script("Sum A.", "Sum B.", "Sum C.")
    first = [SYSTEM, *exchanges(0, 12), NOW]
    world.ask(first)
    assert world.sent() == first
    asked = [one.body["messages"][0]["content"] for one in world.writer.requests]
    assert len(asked) == 3
    assert "A summary of what came before:\nSum B." in asked[2]
    second = [*first, {"role": "assistant", "content": "Now this."}, {"role": "user", "content": "Go on."}]
    answer = world.ask(second)
    sent = world.sent()
    assert sent[0] == SYSTEM
    assert sent[1]["content"].startswith("[Context Summary of ")
    assert sent[1]["content"].endswith("\nSum C.")
    assert sent[2:] == second[len(second) - len(sent) + 2 :]
    assert len(sent) < 10
    assert "history-summary" in answer.headers["x-dragoman-changes"]
    assert len(world.writer.requests) == 3


def test_B17_a_summary_is_carried_on_and_the_prefix_stays_between_two(world: World) -> None:
    world.writer.script(*[f"Sum {number}." for number in range(40)])
    messages: list[Any] = [SYSTEM]
    before: list[Any] = []
    breaks = 0
    for turn in range(40):
        messages += exchanges(turn, turn + 1)
        world.ask([*messages, NOW])
        sent = world.sent()[:-1]
        breaks += sent[: len(before)] != before
        before = sent
    assert 1 < breaks <= 10
    assert sum(len(str(one)) for one in before) < 12_000


def test_B17_a_summary_that_fails_leaves_the_history_whole_and_is_tried_smaller(world: World) -> None:
    world.writer.fault("500")
    messages = [SYSTEM, *exchanges(0, 12), NOW]
    world.ask(messages)
    world.ask(messages)
    assert world.sent() == messages
    assert len(world.writer.requests) == 6
    world.ask(messages)
    assert len(world.writer.requests) == 9
    world.ask(messages)
    assert len(world.writer.requests) == 9, "after three failures the model is left alone"
    wait_for(lambda: world.running.log.getvalue().count('"failed":true') == 3)


@pytest.mark.parametrize("answer", [{"refusal": "I cannot."}, {"text": " \n "}, {"fault": "stall"}])
def test_B17_an_answer_without_words_is_no_summary(tmp_path: Path, answer: dict[str, Any]) -> None:
    with summaries(tmp_path, timeout=0.5 if "fault" in answer else 60, retries=1) as world:
        world.writer.script(*[answer] * 20)
        messages = [SYSTEM, *exchanges(0, 12), NOW]
        world.ask(messages)
        world.ask(messages)
        assert world.sent() == messages
        assert world.tried() == 4


def test_B17_a_summary_without_end_is_cut(world: World) -> None:
    world.writer.script(*[{"text": "word " * 200_000}] * 20)
    messages = [SYSTEM, *exchanges(0, 12), NOW]
    world.ask(messages)
    world.ask(messages)
    assert len(world.sent()) < len(messages)
    assert len(world.sent()[1]["content"]) < 9_000
    assert all(len(request.body["messages"][0]["content"]) < 50_000 for request in world.writer.requests)
