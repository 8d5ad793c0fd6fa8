"""B17: what matters, what is summarised, and what stands in its place."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.history.conversations import agent_loop, assistant, calls, chat, results, system, user
from tests.strategies import Asked, conversations

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.pairs import pair
from dragoman.conversation.parts import Text
from dragoman.engine.history.compaction import (
    MOST_PARTS,
    CompactPolicy,
    PrefixSummary,
    UsedSummary,
    compact_keys,
    parts_of,
    put_summary,
    task_for,
)
from dragoman.engine.history.importance import importance, rank_messages
from dragoman.engine.history.units import units_of
from dragoman.engine.library.adapt import read

POLICY = CompactPolicy(model="small", above_tokens=500)


def test_B17_importance_by_role_age_and_what_a_message_holds() -> None:
    same = [assistant("ok"), assistant("ok")]
    old, new = importance(same)
    assert new == 3.0 + 0.02
    assert old == new * 0.95
    assert importance([system("ok")])[0] == 10.02
    assert importance([user("ok?")])[0] == 5.0 + 2.0 + 0.03
    assert importance([user("we decided")])[0] == 5.0 + 1.5 + 0.1
    assert importance([user("x" * 900)])[0] == 5.0 + 3.0
    assert importance([calls("a")])[0] > 7.0
    assert importance([results("ok", "a")])[0] == 3.0 + 4.0 + 0.02
    assert rank_messages([user("a"), user("a")]) == [1, 0]


def test_B17_recent_messages_and_the_last_question_are_not_summarised() -> None:
    messages = chat(8)
    task = task_for(Conversation(messages), POLICY, None)
    assert task is not None
    kept = len(messages) - len(task.messages) - 1
    assert kept >= POLICY.keep_recent
    assert task.messages == messages[1 : 1 + len(task.messages)]
    assert task_for(Conversation(chat(1)), POLICY, None) is None


def test_B17_one_summary_stands_before_the_recent_history() -> None:
    conversation = Conversation(chat(8))
    task = task_for(conversation, POLICY, None)
    assert task is not None
    units = compact_keys(conversation, POLICY)[task.key]
    done = put_summary(conversation, UsedSummary(units, PrefixSummary("It was long.", task.count))).conversation
    assert done.messages[0] is conversation.messages[0]
    first = done.messages[1].parts[0]
    assert isinstance(first, Text)
    assert first.text == f"[Context Summary of {len(task.messages)} earlier messages]\nIt was long."
    assert done.messages[2:] == conversation.messages[1 + len(task.messages) :]


def test_B17_parts_have_a_size_and_are_halved() -> None:
    messages = agent_loop(40)[1:]
    policy = CompactPolicy(model="m", chunk_size=20, max_chunk_tokens=2_000)
    whole = list(parts_of(messages, policy))
    assert len(whole) == 5
    assert all(len(part) <= 8_000 for part in whole)
    assert len(list(parts_of(messages, policy, shrink=1))) == 9
    assert len(list(parts_of(messages, policy, shrink=9))) == 41


def test_a_very_long_history_does_not_become_very_many_requests() -> None:
    messages = agent_loop(40)[1:] * 60
    policy = CompactPolicy(model="m", chunk_size=2, max_chunk_tokens=2_000)
    for shrink in range(3):
        parts = list(parts_of(messages, policy, shrink))
        assert MOST_PARTS - 2 <= len(parts) <= MOST_PARTS
        assert all(0 < len(part) <= 8_000 for part in parts)


@settings(deadline=None, max_examples=100)
@given(conversations(), st.integers(1, 30))
def test_pairs_hold_whatever_is_summarised(asked: Asked, count: int) -> None:
    conversation = read(asked.body, source=asked.dialect).conversation
    units = min(count, max(len(units_of(conversation.messages)) - 1, 0))
    done = put_summary(conversation, UsedSummary(units, PrefixSummary("Short.", 1))).conversation
    before, after = pair(conversation.messages), pair(done.messages)
    assert len(after.orphans) <= len(before.orphans)
    assert len(after.unanswered) <= len(before.unanswered)
