"""Laws 6, 9 and 10 on trimming and summaries: pairs hold, prefixes stay from cut to cut, the work is linear."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.corpus import FULL
from tests.counted_work import count_calls
from tests.engine.history.conversations import agent_loop, assistant, calls, chat, requests_of, results, system, user

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message, Role
from dragoman.conversation.pairs import pair
from dragoman.engine.history.compaction import (
    CompactPolicy,
    PrefixSummary,
    UsedSummary,
    compact_keys,
    parts_of,
    put_summary,
    task_for,
)
from dragoman.engine.history.cuts import Cut
from dragoman.engine.history.result_clearing import ClearPolicy, clear_results
from dragoman.engine.history.trim_policy import TrimPolicy
from dragoman.engine.history.trimming import TrimmedHistory, TrimRequest, trim
from dragoman.engine.history.units import units_of

EXAMPLES = 400 if FULL else 60
SUMMED_UP = CompactPolicy(model="small", above_tokens=300, keep_recent=3)


@st.composite
def agents(draw: st.DrawFn) -> tuple[Message, ...]:
    """People and tools in any order: questions without answers, work without questions, instructions in between."""
    made: list[Message] = [system()] if draw(st.booleans()) else []
    for turn in range(draw(st.integers(1, 40))):
        kind = draw(st.sampled_from(["question", "question", "work", "work", "work", "answer", "instruction"]))
        words = f"{kind} {turn} " * draw(st.integers(1, 60))
        if kind == "work":
            ids = [f"c{turn}_{number}" for number in range(draw(st.integers(1, 3)))]
            made += [calls(*ids), results(words, *ids)]
        else:
            speaker = {"question": user, "answer": assistant, "instruction": system}[kind]
            made.append(speaker(words))
    return (*made, user("And now?"))


policies = st.builds(
    TrimPolicy,
    max_history_tokens=st.sampled_from([0, 1, 200, 1_000]),
    window=st.sampled_from([0, 1, 300, 1_500]),
    keep_recent_exchanges=st.integers(0, 4),
    keep_recent_user_turns_in_chained_tool_calls=st.integers(0, 3),
    step=st.sampled_from([0.05, 0.25, 0.9]),
)


def answered(messages: tuple[Message, ...]) -> Iterator[tuple[Message, ...]]:
    """The requests that the model answered, and the last one. A question that was followed by another was not.

    Two turns of the model's one behind the other are one answer.
    """
    for end in range(1, len(messages)):
        if messages[end].role is Role.ASSISTANT and messages[end - 1].role is not Role.ASSISTANT:
            yield messages[:end]
    yield messages


def sent(messages: tuple[Message, ...], policy: TrimPolicy, *cuts: Cut, scale: float = 1.0) -> TrimmedHistory:
    return trim(Conversation(messages), TrimRequest(policy, cuts, scale))


def words_of(done: TrimmedHistory) -> tuple[Message, ...]:
    return done.rewrite.conversation.messages


@pytest.mark.slow
@settings(deadline=None, max_examples=EXAMPLES)
@given(agents(), policies)
def test_no_cut_parts_a_pair(messages: tuple[Message, ...], policy: TrimPolicy) -> None:
    for asked in requests_of(messages):
        found = pair(words_of(sent(asked, policy)))
        assert (found.orphans, found.unanswered) == ([], [])


@pytest.mark.slow
@settings(deadline=None, max_examples=EXAMPLES)
@given(agents(), policies)
def test_a_prefix_stays_until_the_next_cut(messages: tuple[Message, ...], policy: TrimPolicy) -> None:
    """Nothing is kept between the requests: each finds the cuts of those before it by itself."""
    before: TrimmedHistory | None = None
    for asked in answered(messages):
        now = sent(asked, policy)
        if before is not None and now.cut == before.cut:
            assert words_of(now)[: len(words_of(before))] == words_of(before)
        elif now.cut is not None:
            assert now.cut.units == len(units_of(asked))  # made here, not somewhere in the past
        before = now


@pytest.mark.slow
@settings(deadline=None, max_examples=EXAMPLES)
@given(agents(), policies, st.lists(st.sampled_from([0.6, 1.0, 1.7]), min_size=1, max_size=9))
def test_a_kept_cut_holds_while_estimates_change(
    messages: tuple[Message, ...], policy: TrimPolicy, scales: list[float]
) -> None:
    before: tuple[Message, ...] = ()
    kept: tuple[Cut, ...] = ()
    for turn, asked in enumerate(requests_of(messages)):
        now = sent(asked, policy, *kept, scale=scales[turn % len(scales)])
        if now.cut is None or now.cut in kept:
            assert words_of(now)[: len(before)] == before
        before, kept = words_of(now), kept if now.cut is None else (now.cut,)


def asked_again(messages: tuple[Message, ...], kept: dict[str, UsedSummary]) -> UsedSummary | None:
    """The summary that was kept for a prefix of this conversation, the longest first."""
    keys = compact_keys(Conversation(messages), SUMMED_UP)
    return next((UsedSummary(keys[key], kept[key].summary) for key in keys if key in kept), None)


@pytest.mark.slow
@settings(deadline=None, max_examples=EXAMPLES)
@given(agents())
def test_laws_6_and_9_hold_for_summaries(messages: tuple[Message, ...]) -> None:
    kept: dict[str, UsedSummary] = {}
    before: tuple[Message, ...] = ()
    used_before: UsedSummary | None = None
    for asked in requests_of(messages):
        conversation = Conversation(asked)
        used = asked_again(asked, kept)
        done = conversation if used is None else put_summary(conversation, used).conversation
        found = pair(done.messages)
        assert (found.orphans, found.unanswered) == ([], [])
        if used == used_before and not _speaks_late(asked):
            assert done.messages[: len(before)] == before
        before, used_before = done.messages, used
        task = task_for(conversation, SUMMED_UP, used)
        if task is not None:
            assert task.key not in kept  # nothing is summarised twice
            kept[task.key] = UsedSummary(0, PrefixSummary(f"Summary {len(kept)}.", task.count))


def _speaks_late(messages: tuple[Message, ...]) -> bool:
    """An instruction within the turns stands among the first if all before it is summed up."""
    first = next((at for at, message in enumerate(messages) if message.role is not Role.SYSTEM), len(messages))
    return any(message.role is Role.SYSTEM for message in messages[first:])


LONG: dict[str, Callable[[int], tuple[Message, ...]]] = {
    "one task, calls without end": lambda count: agent_loop(count // 2),
    "questions and answers": lambda count: chat(count // 4),
    "nobody asks": lambda count: agent_loop(count // 2)[2:],
    "only instructions": lambda count: (system(),) * count,
}


@cache
def long(made: str, count: int) -> Conversation:
    return Conversation(LONG[made](count))


def _trims(policy: TrimPolicy) -> Callable[[Conversation], Any]:
    return lambda conversation: trim(conversation, TrimRequest(policy))


def _summarises(conversation: Conversation) -> None:
    policy = CompactPolicy(model="small")
    compact_keys(conversation, policy)
    task = task_for(conversation, policy, None)
    if task is not None:
        list(parts_of(task.messages, policy))
        put_summary(conversation, UsedSummary(len(units_of(conversation.messages)) - 9, PrefixSummary("Short.", 9)))


WORK: dict[str, Callable[[Conversation], Any]] = {
    "trimming to a budget": _trims(TrimPolicy()),
    "trimming to a window": _trims(TrimPolicy(max_history_tokens=0, window=32_000)),
    "trimming to both": _trims(TrimPolicy(window=8_000)),
    "summaries": _summarises,
    "clearing results": lambda conversation: clear_results(conversation, ClearPolicy(above_tokens=8_000), 4.0),
}


def _work_of(done: str, asked: Conversation) -> int:
    return count_calls(lambda: WORK[done](asked))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("done", WORK)
@pytest.mark.parametrize("made", LONG)
def test_five_thousand_messages_cost_five_times_a_thousand(made: str, done: str) -> None:
    few, many = [_work_of(done, long(made, size)) for size in (1_000, 5_000)]
    assert many < 5 * 1.25 * few + 1_000, (few, many)


@pytest.mark.parametrize("made", LONG)
def test_five_thousand_messages_are_trimmed_to_what_fits(made: str) -> None:
    messages = long(made, 5_000).messages
    done = sent(messages, TrimPolicy(window=8_000))
    found = pair(words_of(done))
    assert found.orphans == []
    assert found.unanswered == []
    if made == "only instructions":
        assert words_of(done) == messages  # instructions are never cut
    else:
        assert done.statistics is not None
        assert done.statistics.kept_tokens <= 8_000
        assert words_of(done)[-1] is messages[-1]
