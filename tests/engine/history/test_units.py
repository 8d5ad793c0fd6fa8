"""A conversation as units: what may only stay together or leave together."""

from __future__ import annotations

from hypothesis import given, settings
from tests.engine.history.conversations import assistant, calls, results, system, user
from tests.strategies import Asked, conversations

from dragoman.conversation.pairs import pair
from dragoman.engine.history.units import UnitKind, units_of
from dragoman.engine.library.adapt import read


def test_a_call_stands_with_its_results() -> None:
    messages = (system(), user("Hi"), calls("a", "b"), results("1", "a"), results("2", "b"), assistant("Done."))
    units = units_of(messages)
    assert [(unit.kind, unit.start, unit.end) for unit in units] == [
        (UnitKind.SYSTEM, 0, 1),
        (UnitKind.USER, 1, 2),
        (UnitKind.ASSISTANT, 2, 5),
        (UnitKind.ASSISTANT, 5, 6),
    ]
    assert [unit.continues for unit in units] == [False, False, True, False]


def test_a_result_that_comes_late_is_still_in_the_unit() -> None:
    messages = (calls("a"), user("Wait."), calls("b"), results("1", "a"), user("Go on."), results("2", "b"))
    assert [(unit.start, unit.end) for unit in units_of(messages)] == [(0, 6)]


def test_ids_that_every_turn_uses_again_join_no_turns() -> None:
    messages = (calls("call_0"), results("1", "call_0"), calls("call_0"), results("2", "call_0"))
    assert [(unit.start, unit.end) for unit in units_of(messages)] == [(0, 2), (2, 4)]


def test_blocks_of_a_tool_that_the_client_runs_stay_together() -> None:
    call = {"type": "shell_call", "call_id": "a", "action": {"commands": ["ls"]}}
    asked = {
        "input": [{"role": "user", "content": "Hi"}, call, {"type": "shell_call_output", "call_id": "a", "output": []}]
    }
    units = units_of(read(asked, source="openai-responses").conversation.messages)
    assert [(unit.start, unit.end, unit.continues) for unit in units] == [(0, 1, False), (1, 3, True)]


@settings(deadline=None, max_examples=100)
@given(conversations())
def test_every_message_is_in_one_unit_and_no_pair_in_two(asked: Asked) -> None:
    messages = read(asked.body, source=asked.dialect).conversation.messages
    units = units_of(messages)
    assert [at for unit in units for at in range(unit.start, unit.end)] == list(range(len(messages)))
    home = {at: place for place, unit in enumerate(units) for at in range(unit.start, unit.end)}
    for (call, _), (result, _) in pair(messages).answers.items():
        assert home[call] == home[result]
