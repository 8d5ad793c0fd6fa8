"""`parallel-calls`: several calls in one turn."""

from __future__ import annotations

import pytest
from tests.rules.runs import facts, leaves_alone, run, sent

from dragoman.profiles.profile import Layer, Profiles
from dragoman.rules.shape.parallel_calls import parallel_calls

REFUSES = facts(parallel_calls="refuses")
TALK = "user: Hi\nassistant: One moment.\ncall f(a) {}\ncall g(b) {}\nresult a: 1\nresult b: 2"


def test_each_call_becomes_a_turn_with_its_result() -> None:
    done = run(parallel_calls, TALK, REFUSES)
    assert done.script == ("user: Hi\nassistant: One moment.\ncall f(a) {}\nresult a: 1\ncall g(b) {}\nresult b: 2")
    assert [message.role.value for message in done.conversation.messages] == [
        "user",
        "assistant",
        "tool",
        "assistant",
        "tool",
    ]
    assert done.changes == [("/messages/1", "order", False)]
    assert done.did == ["made each of its calls a turn of its own"]


def test_results_in_another_order_and_of_other_calls() -> None:
    done = run(
        parallel_calls, "call f(a) {}\ncall g(b) {}\ncall h(c) {}\nresult c: 3\nresult a: 1\nresult x: 9", REFUSES
    )
    turns = [
        [getattr(part, "id", getattr(part, "call_id", "")) for part in one.parts] for one in done.conversation.messages
    ]
    assert turns == [["a"], ["a"], ["b"], ["c"], ["c"], ["x"]]


def test_thinking_stays_with_the_first_call_and_turns_without_results() -> None:
    done = run(parallel_calls, "user: Hi\n~ Hm.\ncall f(a) {}\ncall g(b) {}\nuser: Well?", REFUSES)
    kinds = [[type(part).__name__ for part in one.parts] for one in done.conversation.messages]
    assert kinds == [["Text"], ["Reasoning", "Call"], ["Call"], ["Text"]]
    last = run(parallel_calls, "user: Hi\ncall f(a) {}\ncall g(b) {}", REFUSES)
    assert [len(one.parts) for one in last.conversation.messages] == [1, 1, 1]


def test_more_calls_than_a_turn_may_have_become_several_turns() -> None:
    calls = "".join(f"\ncall f(c{at}) {{}}" for at in range(5))
    results = "".join(f"\nresult c{at}: {at}" for at in (3, 1, 0, 4, 2))
    done = run(parallel_calls, f"user: Hi\nassistant: One moment.{calls}{results}", facts(calls_max=2))
    turns = [
        [getattr(part, "id", getattr(part, "call_id", "")) for part in one.parts]
        for one in done.conversation.messages[1:]
    ]
    assert turns == [["", "c0", "c1"], ["c0", "c1"], ["c2", "c3"], ["c2", "c3"], ["c4"], ["c4"]]
    assert done.changes == [("/messages/1", "order", False)]
    assert done.did == ["made 3 turns of its calls"]


@pytest.mark.parametrize("target", ["openai/gpt-4o", "azure-openai/gpt-4o", "openrouter/openai/gpt-4o"])
@pytest.mark.parametrize("count", [128, 129, 300])
def test_adapt_for_a_provider_that_counts_the_calls_of_a_turn(target: str, count: int) -> None:
    """https://github.com/pydantic/pydantic-ai/issues/1105"""
    names = [f"call_{at}" for at in range(count)]
    calls = [{"id": name, "type": "function", "function": {"name": "f", "arguments": "{}"}} for name in names]
    results = [{"role": "tool", "tool_call_id": name, "content": name} for name in names]
    hi = {"role": "user", "content": "Hi"}
    done = sent({"messages": [hi, {"role": "assistant", "content": None, "tool_calls": calls}, *results, hi]}, target)
    turns = done.json["messages"]
    assert [call["id"] for turn in turns for call in turn.get("tool_calls", ())] == names
    assert [turn["content"] for turn in turns if turn["role"] == "tool"] == names
    sizes = [len(turn["tool_calls"]) for turn in turns if "tool_calls" in turn]
    assert sizes == [128] * (count // 128) + ([count % 128] if count % 128 else [])
    assert bool(done.changes) == (count > 128)


UNTOUCHED = {
    "one call": ("user: Hi\ncall f(a) {}\nresult a: 1\ncall f(b) {}\nresult b: 2", REFUSES),
    "no call": ("user: Hi\nassistant: Hello.\nuser: And?", REFUSES),
    "a target that takes them": (TALK, facts(parallel_calls="accepts")),
}


test_untouched = leaves_alone(parallel_calls, UNTOUCHED)


def test_adapt_for_a_server_that_makes_one_call_at_a_time() -> None:
    calls = [{"id": one, "type": "function", "function": {"name": "f", "arguments": "{}"}} for one in "ab"]
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Soon.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
    ]
    profiles = Profiles(layers=(Layer("test", {"parallel_calls": "refuses"}),))
    done = sent({"messages": messages}, "openai-compatible-lenient/m", profiles=profiles)
    assert done.json["messages"] == [
        messages[0],
        {"role": "assistant", "content": "Soon.", "tool_calls": calls[:1]},
        messages[2],
        {"role": "assistant", "tool_calls": calls[1:]},
        messages[3],
    ]
    assert done.changes == [("parallel-calls", "/messages/1", "order", False)]
    again = sent(done.json, "openai-compatible-lenient/m", profiles=profiles)
    assert (again.json["messages"], again.changes) == (done.json["messages"], [])
