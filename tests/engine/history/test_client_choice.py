"""What the client wants done about a long history: passed on if the provider does it, done here if not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engine.history.conversations import agent_loop
from tests.engine.test_exchange import destination

import dragoman
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.pairs import pair
from dragoman.conversation.parts import Result
from dragoman.dialects.dialect import AnswerContext
from dragoman.engine.exchange.destination import Destination, TargetRoute
from dragoman.engine.exchange.exchange import Exchange
from dragoman.engine.exchange.steps import NOTHING_RECALLED, Recall, Send
from dragoman.engine.history.client_choice import forbids_cuts
from dragoman.engine.history.result_clearing import CLEARED, ClearPolicy, clear_results
from dragoman.engine.history.trim_policy import TrimPolicy
from dragoman.engine.library.adapt import AdaptedRequest, read

CLEAR = {"type": "clear_tool_uses_20250919", "trigger": {"type": "input_tokens", "value": 1_000}}


def responses(**more: Any) -> dict[str, Any]:
    turns = [
        {"role": role, "content": f"{words} {turn} " * 60}
        for turn in range(60)
        for role, words in (("user", "question"), ("assistant", "answer"))
    ]
    return {"model": "m", "input": [*turns, {"role": "user", "content": "And now?"}], **more}


def claude(uses: int, *edits: dict[str, Any]) -> dict[str, Any]:
    turns: list[Any] = [{"role": "user", "content": "Mend the roof."}]
    for turn in range(uses):
        call = {"type": "tool_use", "id": f"t{turn}", "name": "look" if turn % 5 else "note", "input": {"at": turn}}
        result = {"type": "tool_result", "tool_use_id": f"t{turn}", "content": f"Tile {turn} is broken. " * 40}
        turns += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in ("look", "note")]
    return {
        "model": "m",
        "max_tokens": 99,
        "messages": turns,
        "tools": tools,
        "context_management": {"edits": list(edits)},
    }


def entries(adapted: AdaptedRequest) -> list[tuple[str, str, str]]:
    return [(change.rule, change.at, change.loses) for change in adapted.changes]


@pytest.mark.parametrize("choice", ["auto", "disabled"])
def test_a_target_that_knows_truncation_gets_it(choice: str) -> None:
    request = responses(truncation=choice)
    adapted = dragoman.adapt(request, source="openai-responses", target="openai-responses/gpt-4o")
    assert adapted.json["truncation"] == choice
    assert adapted.changes == ()


@pytest.mark.parametrize("target", ["anthropic/claude-sonnet-4-5", "openai/gpt-4o", "gemini/gemini-2.5-pro"])
def test_elsewhere_truncation_is_honoured_here(target: str) -> None:
    for choice in ("auto", "disabled"):
        adapted = dragoman.adapt(responses(truncation=choice), source="openai-responses", target=target)
        assert ("history-choice", "/truncation", "nothing") in entries(adapted)
        assert "truncation" not in adapted.json
        assert adapted.trimmed is None  # it fits


def test_a_window_that_is_too_small_cuts_with_auto_and_not_with_disabled() -> None:
    auto, disabled, silent = [
        dragoman.adapt(request, source="openai-responses", target="openai/gpt-4")
        for request in (responses(truncation="auto"), responses(truncation="disabled"), responses())
    ]
    assert auto.facts.context_window == 8_192
    assert auto.trimmed is not None
    assert auto.trimmed.kept_tokens <= 8_192
    assert len(auto.json["messages"]) < 121
    assert "history-trim" in {change.rule for change in auto.changes}
    assert len(disabled.json["messages"]) == len(silent.json["messages"]) == 121


def test_disabled_forbids_what_is_configured() -> None:
    policy = TrimPolicy(max_history_tokens=1_000)
    whole = dragoman.adapt(
        responses(truncation="disabled"),
        source="openai-responses",
        target="openai-responses/gpt-4o",
        policy=dragoman.Policy(history=policy),
    )
    assert whole.json["input"] == responses()["input"]
    assert whole.changes == ()
    cut = dragoman.adapt(
        responses(truncation="auto"),
        source="openai-responses",
        target="openai-responses/gpt-4o",
        policy=dragoman.Policy(history=policy),
    )
    assert len(cut.json["input"]) < 121
    assert cut.json["truncation"] == "auto"


def test_without_a_known_window_auto_is_a_loss() -> None:
    adapted = dragoman.adapt(
        responses(truncation="auto"), source="openai-responses", target="openai-compatible-strict/who-knows"
    )
    assert adapted.facts.context_window == 0
    assert ("refused-setting", "/truncation", "metadata") in entries(adapted)


@pytest.mark.parametrize("value", ["sometimes", 3, None, {"a": 1}])
def test_a_choice_that_nobody_can_read_changes_nothing(value: Any) -> None:
    target = "anthropic/claude-sonnet-4-5"
    adapted = dragoman.adapt(responses(truncation=value), source="openai-responses", target=target)
    assert "history-choice" not in {change.rule for change in adapted.changes}
    request = {**claude(9), "context_management": value}
    adapted = dragoman.adapt(request, source="anthropic", target="openai/gpt-4o")
    assert not {"history-choice", "history-trim"} & {change.rule for change in adapted.changes}


def results_of(adapted: AdaptedRequest) -> list[str]:
    return [turn["content"] for turn in adapted.json["messages"] if turn["role"] == "tool"]


def test_anthropics_own_provider_manages_the_context_itself() -> None:
    request = claude(20, CLEAR)
    adapted = dragoman.adapt(request, source="anthropic", target="anthropic/claude-sonnet-4-5")
    assert adapted.json["context_management"] == request["context_management"]
    assert adapted.changes == ()


def test_elsewhere_old_results_are_cleared_here() -> None:
    adapted = dragoman.adapt(claude(20, CLEAR), source="anthropic", target="openai/gpt-4o")
    cleared = [text == CLEARED.text for text in results_of(adapted)]
    assert cleared[-3:] == [False] * 3
    assert cleared[:12] == [True] * 12
    assert sum(change.rule == "history-trim" for change in adapted.changes) == sum(cleared)
    assert ("history-choice", "/context_management", "nothing") in entries(adapted)
    first = next(change for change in adapted.changes if change.rule == "history-trim")
    assert (first.at, first.loses) == ("/messages/2/content/0", "content")
    assert first.did.startswith("cleared an old result of note, about ")
    calls = [turn for turn in adapted.json["messages"] if turn.get("tool_calls")]
    assert [json.loads(turn["tool_calls"][0]["function"]["arguments"]) for turn in calls] == [
        {"at": turn} for turn in range(20)
    ]


def test_tools_can_be_spared_and_more_can_be_kept() -> None:
    edit = {**CLEAR, "keep": {"type": "tool_uses", "value": 6}, "exclude_tools": ["note"]}
    adapted = dragoman.adapt(claude(20, edit), source="anthropic", target="openai/gpt-4o")
    cleared = [text == CLEARED.text for text in results_of(adapted)]
    assert cleared[-6:] == [False] * 6
    assert [cleared[turn] for turn in (0, 5, 10)] == [False] * 3
    assert all(cleared[turn] for turn in (1, 2, 3, 4, 6, 7, 8, 9))


@pytest.mark.parametrize(
    "edit",
    [
        {**CLEAR, "trigger": {"type": "input_tokens", "value": 90_000}},
        {**CLEAR, "trigger": {"type": "tool_uses", "value": 20}},
        {**CLEAR, "clear_at_least": {"type": "input_tokens", "value": 90_000}},
        {**CLEAR, "keep": {"type": "tool_uses", "value": 20}},
        {"type": "clear_tool_uses_20250919"},
    ],
)
def test_nothing_is_cleared_before_it_is_time(edit: dict[str, Any]) -> None:
    adapted = dragoman.adapt(claude(20, edit), source="anthropic", target="openai/gpt-4o")
    assert CLEARED.text not in results_of(adapted)
    assert ("history-choice", "/context_management", "nothing") in entries(adapted)


def test_a_number_of_uses_can_be_the_limit() -> None:
    edit = {**CLEAR, "trigger": {"type": "tool_uses", "value": 10}}
    adapted = dragoman.adapt(claude(20, edit), source="anthropic", target="openai/gpt-4o")
    assert 3 <= sum(text != CLEARED.text for text in results_of(adapted)) <= 10


def test_edits_that_are_not_done_here_are_a_loss() -> None:
    others = [{"type": "clear_thinking_20251015", "keep": "all"}, {"type": "compact_20260112"}]
    adapted = dragoman.adapt(claude(20, CLEAR, *others), source="anthropic", target="openai/gpt-4o")
    (change,) = [change for change in adapted.changes if change.rule == "history-choice"]
    assert change.loses == "metadata"
    assert change.did.endswith("without clear_thinking_20251015, compact_20260112")
    only = dragoman.adapt(claude(20, *others), source="anthropic", target="openai/gpt-4o")
    assert ("refused-setting", "/context_management", "metadata") in entries(only)


def test_where_no_content_may_be_lost_nothing_is_cleared() -> None:
    adapted = dragoman.adapt(
        claude(20, CLEAR), source="anthropic", target="openai/gpt-4o", policy=dragoman.Policy(max_loss="authority")
    )
    assert CLEARED.text not in results_of(adapted)
    assert ("refused-setting", "/context_management", "metadata") in entries(adapted)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(st.integers(1, 60), st.integers(0, 5), st.integers(0, 4_000), st.integers(0, 2_000))
def test_clearing_keeps_pairs_and_prefixes(turns: int, keep: int, above: int, at_least: int) -> None:
    policy = ClearPolicy(above_tokens=above, keep=keep, at_least=at_least)
    messages = agent_loop(turns)
    gone: set[tuple[int, int]] = set()
    steps = 0
    for end in range(4, len(messages) + 1, 2):
        done = clear_results(Conversation(messages[:end]), policy, 4.0).conversation.messages
        assert pair(done).orphans == []
        assert [message.role for message in done] == [message.role for message in messages[:end]]
        now = {
            (at, place)
            for at, message in enumerate(done)
            for place, part in enumerate(message.parts)
            if type(part) is Result and part.parts == (CLEARED,)
        }
        assert gone <= now
        steps += now != gone
        gone = now
    if above:
        assert steps <= 1 + len(messages) * 1_400 / 4 / max(above * 0.1, at_least)


def asking(chosen: Destination, **more: Any) -> Exchange[Destination]:
    ask = read(responses(**more), source="openai-responses")
    return Exchange(ask, TargetRoute((chosen,)), AnswerContext(model="m", id="req_1"))


def test_an_exchange_trims_for_a_client_that_wants_it_and_for_none_that_forbids_it() -> None:
    chosen = destination("openai/gpt-4")
    asked = asking(chosen, truncation="auto")
    recall = asked.chosen(chosen)
    assert isinstance(recall, Recall)
    assert recall.cuts is not None
    assert isinstance(asked.recalled(NOTHING_RECALLED), Send)
    assert asked.visit.history is not None
    kept = asked.state_to_keep()
    assert kept is not None
    assert kept.cut is not None
    chosen = destination("openai/gpt-4", history=TrimPolicy(max_history_tokens=500))
    asked = asking(chosen, truncation="disabled")
    assert isinstance(asked.chosen(chosen), Send)
    assert forbids_cuts(asked.ask.conversation)
    assert asked.visit.history is None


@pytest.mark.parametrize("target", ["openai/gpt-4o", "gemini/gemini-2.5-flash"])
@pytest.mark.parametrize(
    ("key", "kind"),
    [("trigger", "input_tokens"), ("trigger", "tool_uses"), ("keep", "tool_uses"), ("clear_at_least", "input_tokens")],
)
@pytest.mark.parametrize("value", [10**400, -(10**400), 2**64])
def test_a_number_beyond_all_measure_clears_nothing_or_all(target: str, key: str, kind: str, value: int) -> None:
    edit = {**CLEAR, key: {"type": kind, "value": value}}
    adapted = dragoman.adapt(claude(12, edit), source="anthropic", target=target)
    cleared = [change for change in adapted.changes if change.rule == "history-trim"]
    assert bool(cleared) == (value < 0)


@pytest.mark.parametrize(
    "value", [[], {}, "auto", 5, {"edits": {}}, {"edits": [1]}, {"edits": [{**CLEAR, "keep": "all"}]}]
)
def test_what_cannot_be_read_clears_nothing(value: Any) -> None:
    adapted = dragoman.adapt({**claude(12), "context_management": value}, source="anthropic", target="openai/gpt-4o")
    assert not [change for change in adapted.changes if change.rule == "history-trim"]


@pytest.mark.parametrize("value", ["AUTO", True, 10**400, [], {}, ["auto"], "x" * 9_000])
def test_a_truncation_that_is_none_cuts_nothing(value: Any) -> None:
    adapted = dragoman.adapt(responses(truncation=value), source="openai-responses", target="openai/gpt-4o")
    assert adapted.trimmed is None
