"""Every entrance gives the same status, body, report and memory, as far as a situation applies to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.entrances.entrances import Entrance, Gateway, Question, Stage, all_entrances, plain
from tests.entrances.entrances import Seen as Shown
from tests.entrances.situations import SITUATIONS, Situation
from tests.gateway.upstream import Upstream, upstream

from dragoman.store.ledger_entry import Viewer

CASES = [
    pytest.param(situation, stream, id=f"{situation.name}, {'streamed' if stream else 'whole'}")
    for situation in SITUATIONS
    for stream in situation.streams
]
FALLBACK = "together"


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def test_the_table_leaves_no_entrance_out(tmp_path: Path) -> None:
    with all_entrances(Stage("openai/gpt-4o", "http://127.0.0.1:9/v1", folder=tmp_path)) as opened:
        assert set(opened) == {name for situation in SITUATIONS for name in situation.where}


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("situation", "stream"), CASES)
def test_every_entrance_gives_the_same(situation: Situation, stream: bool, tmp_path: Path, stack: ExitStack) -> None:
    behind = stack.enter_context(upstream())
    opened = stack.enter_context(all_entrances(_stage(situation, behind, tmp_path, stack)))
    bodies: dict[str, str] = {}
    messages: dict[str, str] = {}
    compiled: dict[str, str] = {}
    for entrance in (opened[name] for name in situation.where if not stream or opened[name].streams):
        behind.answer = situation.new_judge()
        shown, sent = _asked(entrance, situation, stream, behind)
        if shown.body is not None and entrance.sends:
            bodies[entrance.name] = plain(shown.body)
        if shown.status is not None and situation.status != 200:  # the command line says where it read, too
            messages[entrance.name] = shown.message
        if shown.compiled is not None:
            compiled[entrance.name] = json.dumps(shown.compiled)
        if sent and situation.sends == 1:
            compiled[f"sent by {entrance.name}"] = json.dumps(sent[0])
    assert len(set(bodies.values())) <= 1, bodies
    assert len(set(messages.values())) <= 1, messages
    assert len(set(compiled.values())) <= 1, compiled


def _stage(situation: Situation, behind: Upstream, folder: Path, stack: ExitStack) -> Stage:
    if situation.fallback is None:
        return Stage(situation.target, behind.url, situation.dialect, folder)
    providers = {FALLBACK: stack.enter_context(upstream(situation.fallback)).url}
    models = {situation.target: {"target": situation.target, "fallbacks": [f"{FALLBACK}/y"]}}
    return Stage(situation.target, behind.url, situation.dialect, folder, models, providers)


def _asked(entrance: Entrance, situation: Situation, stream: bool, behind: Upstream) -> tuple[Shown, list[Any]]:
    """Ask, and ask again if memory matters; what was shown and sent the first time."""
    question = situation.question(stream)
    shown, sent = _ask(entrance, question, behind)
    _check(entrance, shown, sent, situation)
    if entrance.name == "gateway" and isinstance(entrance, Gateway):
        _check_report(entrance, shown, situation)
    if situation.again is not None and entrance.sends:
        _, again = _ask(entrance, question, behind)
        assert len(again) == situation.again, (entrance.name, again)
    return shown, sent


def _ask(entrance: Entrance, question: Question, behind: Upstream) -> tuple[Shown, list[Any]]:
    before = len(behind.seen)
    shown = entrance.ask(question)
    return shown, behind.bodies()[before:]


def _check(entrance: Entrance, shown: Shown, sent: list[Any], situation: Situation) -> None:
    where = (entrance.name, shown)
    assert shown.status in (None, situation.status), where
    assert len(sent) == (situation.sends if entrance.sends else 0), (entrance.name, sent)
    assert situation.says in shown.message, where
    if situation.status == 200 and entrance.name != "replay":
        assert shown.changes == situation.changes, where


def _check_report(entrance: Gateway, shown: Shown, situation: Situation) -> None:
    """The ledger counts every send, and names the lessons that were tried."""
    ledger = entrance.running.services.store.ledger
    entry = entrance.running.do(lambda: ledger.report(shown.request_id, Viewer("", True)))
    assert entry is not None
    assert (entry.status, entry.lessons) == (situation.status, situation.lessons)
    assert entry.attempts == situation.sends + (situation.fallback is not None)
