"""A cut breaks the provider's cache: it is made when it saves more than that, and summaries are too."""

from __future__ import annotations

from functools import cache
from math import inf

import pytest
from tests.engine.history.conversations import chat, requests_of

from dragoman.conversation.conversation import Conversation
from dragoman.conversation.messages import Message
from dragoman.engine.history.compaction import CompactPolicy, pays, task_for
from dragoman.engine.history.sizes import size_of
from dragoman.engine.history.trim_policy import TrimPolicy
from dragoman.engine.history.trimming import TrimRequest, trim
from dragoman.profiles.prices import TokenPrice

CLAUDE = TokenPrice(3, 15, 0.3, 3.75)
BUDGET = TrimPolicy(max_history_tokens=4_000)
LOOP = tuple(requests_of(chat(80)))


@cache
def bill(request: TrimRequest) -> tuple[float, float]:
    """What all turns of a loop cost together, in tokens at the full price, and the tokens of the longest turn."""
    price = longest = 0.0
    before: tuple[Message, ...] = ()
    for messages in LOOP:
        sent = trim(Conversation(messages), request).rewrite.conversation.messages
        same = next((at for at, pair in enumerate(zip(before, sent, strict=False)) if pair[0] != pair[1]), len(before))
        read, written = (sum([size_of(one).total for one in part]) / 4 for part in (sent[:same], sent[same:]))
        price += 0.1 * read + 1.25 * written
        longest = max(longest, read + written)
        before = sent
    return price, longest


def test_a_cut_waits_until_it_pays() -> None:
    at_once, (waits, longest) = bill(TrimRequest(BUDGET))[0], bill(TrimRequest(BUDGET, break_even=CLAUDE.break_even))
    assert waits < 0.9 * at_once
    assert longest < 2.2 * BUDGET.max_history_tokens


def test_it_does_not_wait_beyond_the_window_or_if_it_must_not() -> None:
    window = TrimPolicy(max_history_tokens=4_000, window=5_000, context_budget=1.0)
    alone = TrimPolicy(max_history_tokens=0, window=5_000, context_budget=1.0)
    assert bill(TrimRequest(window, break_even=11.5))[1] <= bill(TrimRequest(alone))[1]
    strict = TrimPolicy(max_history_tokens=4_000, until_it_pays=False)
    assert bill(TrimRequest(strict, break_even=11.5)) == bill(TrimRequest(BUDGET))


def test_where_the_cut_is_follows_from_the_beginning_alone() -> None:
    request = TrimRequest(BUDGET, break_even=CLAUDE.break_even)
    cuts = [trim(Conversation(messages), request).cut for messages in LOOP]
    made = {cut.digest: cut for cut in cuts if cut is not None}
    assert 0 < len(made) < len(LOOP) / 10
    assert all(cut is None or cut == made[cut.digest] for cut in cuts)


@pytest.mark.parametrize(
    ("price", "writer", "expected"),
    [
        (None, None, True),
        (TokenPrice(3, 15), None, True),
        (CLAUDE, None, True),
        (CLAUDE, TokenPrice(0.25, 2), True),
        (CLAUDE, TokenPrice(30, 150), False),
    ],
)
def test_a_summary_is_made_if_it_pays(price: TokenPrice | None, writer: TokenPrice | None, expected: bool) -> None:
    conversation = Conversation(chat(20))
    task = task_for(conversation, CompactPolicy(model="small", above_tokens=500), None)
    assert task is not None
    assert pays(task, conversation, price, writer) is expected


def test_a_short_history_before_a_long_rest_is_not_summarised() -> None:
    """What stays would be written anew, and that is most of it."""
    conversation = Conversation(chat(20))
    task = task_for(conversation, CompactPolicy(model="small", above_tokens=500, keep_recent=70), None)
    assert task is not None
    assert not pays(task, conversation, CLAUDE, None)


def test_break_even() -> None:
    assert CLAUDE.break_even == pytest.approx(11.5)
    assert TokenPrice(2, 8, 0.5).break_even == pytest.approx(3)
    assert (TokenPrice(3, 15).break_even, TokenPrice(3, 15, 0.0).break_even) == (0, inf)
