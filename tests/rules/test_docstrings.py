"""Every example in a rule's docstring is what the rule does."""

from __future__ import annotations

import textwrap

import pytest

from dragoman.conversation.script import parse, show
from dragoman.conversation.traits import observe
from dragoman.profiles.facts import Facts, Stance, SystemCount, SystemPlace, Turn
from dragoman.rules import BY_NAME, ORDER
from dragoman.rules.context import Context
from dragoman.rules.rule import Rule

BECOMES = "\nbecomes\n"


def refusing() -> Facts:
    """A target that refuses whatever can be refused: every rule is triggered."""
    plain = Facts()
    stances = {name: Stance.REFUSES for name in Facts.__struct_fields__ if isinstance(getattr(plain, name), Stance)}
    return Facts(
        **stances,
        dialect="openai-chat",
        system_place=SystemPlace.OPENING,
        system_count=SystemCount.ONE,
        first_turn=Turn.USER,
        last_turn=Turn.USER,
    )


def examples() -> list[tuple[Rule, str, str]]:
    return [(rule, *_sides(rule.text)) for rule in ORDER if BECOMES in rule.text]


def _sides(text: str) -> tuple[str, str]:
    before, after = text.split(BECOMES)
    return _indented(before.split("\n\n")[-1]), _indented(after)


def _indented(block: str) -> str:
    return textwrap.dedent("\n".join(line for line in block.split("\n") if line.startswith("    ")))


@pytest.mark.parametrize(("rule", "before", "after"), examples(), ids=[rule.name for rule, _, _ in examples()])
def test_the_example_is_what_the_rule_does(rule: Rule, before: str, after: str) -> None:
    facts = refusing()
    conversation = parse(before)
    assert rule.when(facts)
    assert rule.looks_for & observe(conversation)
    done = rule.repair(conversation, Context(facts))
    assert done.notes
    assert show(done.conversation) == show(parse(after))


def test_many_rules_have_an_example() -> None:
    assert len(examples()) >= 12


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_the_page_says_what_the_rule_loses(name: str) -> None:
    assert "Loses " in BY_NAME[name].text
