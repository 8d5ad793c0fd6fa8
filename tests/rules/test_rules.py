"""Four laws for every rule at once: untriggered it does nothing, a second run does nothing, a change is told exactly
when there is one, and no call is parted from its result."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import pytest
from tests.strategies import SHAPES, request
from tests.targets import TARGETS

from dragoman.conversation.canonical import canonical
from dragoman.conversation.conversation import Conversation
from dragoman.conversation.pairs import pair
from dragoman.conversation.traits import observe
from dragoman.engine.adapt import BUILTIN, read
from dragoman.engine.plan import context_for
from dragoman.profiles.facts import settled
from dragoman.rules import BY_NAME, GROUPS, ORDER
from dragoman.rules.context import Context
from dragoman.rules.rule import Rule

SEEDS = 12
WHOLE = {"flat-tools", "orphan-result", "repeated-result", "duplicate-call-id"}
"""Rules whose very repair is to tell calls or results in another way."""


def cases(rule: Rule) -> Iterator[tuple[Conversation, Context]]:
    """Generated conversations with the facts of targets that call for the rule."""
    wanting = [target for target in TARGETS if rule.when(settled(BUILTIN.target(target).facts, True))][:2]
    for target in wanting:
        contexts = {same: context_for(BUILTIN.target(target), same) for same in (True, False)}
        for source, conversation, traits in generated():
            if rule.looks_for & traits:
                yield conversation, contexts[source == BUILTIN.target(target).dialect]


@cache
def generated() -> list[tuple[str, Conversation, int]]:
    """Conversations of every dialect, with their traits."""
    found = []
    for source in SHAPES:
        for seed in range(SEEDS):
            conversation = read(request(source, seed).body, source=source).conversation
            found.append((source, conversation, observe(conversation)))
    return found


@pytest.mark.parametrize("rule", ORDER, ids=lambda rule: rule.name)
def test_a_change_is_told_and_made_once(rule: Rule) -> None:
    for conversation, context in cases(rule):
        try:
            done = rule.repair(conversation, context)
        except Exception as fault:
            if type(fault).__name__ != "Unrepresentable":
                raise
            continue
        changed = canonical(done.conversation) != canonical(conversation)
        if changed:
            assert done.notes
        if done.conversation is conversation:
            assert not done.notes
        if rule.looks_for & observe(done.conversation):
            again = rule.repair(done.conversation, context)
            assert canonical(again.conversation) == canonical(done.conversation)


@pytest.mark.parametrize("rule", [rule for rule in ORDER if rule.name not in WHOLE], ids=lambda rule: rule.name)
def test_no_call_is_parted_from_its_result(rule: Rule) -> None:
    for conversation, context in cases(rule):
        try:
            after = rule.repair(conversation, context).conversation
        except Exception as fault:
            if type(fault).__name__ != "Unrepresentable":
                raise
            continue
        assert len(pair(after.messages).answers) >= len(pair(conversation.messages).answers)
        assert len(pair(after.messages).orphans) <= len(pair(conversation.messages).orphans)


def test_every_rule_is_named_after_its_file_and_has_a_page() -> None:
    assert len(BY_NAME) == len(ORDER)
    for rule in ORDER:
        assert rule.repair.__module__ == f"dragoman.rules.{rule.name.replace('-', '_')}"
        assert "\n\n" in rule.text, rule.name


def test_the_groups_run_in_the_order_of_the_design() -> None:
    assert list(GROUPS) == ["clean", "pair", "reason", "place", "media", "shape", "name", "tools", "settings"]
