"""Which rules a target calls for, asked once per target and remembered."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import msgspec

from dragoman.profiles.facts import Facts, settled
from dragoman.profiles.profile import Target
from dragoman.rules import ORDER
from dragoman.rules.rule import KEEP, Rule


class Plan(msgspec.Struct, frozen=True):
    """The facts with every doubt decided, and the rules that they trigger, in order, each with the traits it seeks."""

    facts: Facts
    rules: tuple[Rule, ...]
    steps: tuple[tuple[int, Rule], ...] = ()


_plans: WeakKeyDictionary[Target, dict[bool, Plan]] = WeakKeyDictionary()


def plan(target: Target, same_dialect: bool) -> Plan:
    """The plan for a target, for a client of the same dialect or of another."""
    known = _plans.get(target)
    if known is None:
        known = _plans[target] = {}
    found = known.get(same_dialect)
    if found is None:
        found = known[same_dialect] = plan_for(settled(target.facts, same_dialect))
    return found


def plan_for(facts: Facts) -> Plan:
    rules = rules_for(facts)
    return Plan(facts, rules, tuple((rule.sought(facts), rule) for rule in rules))


def rules_for(facts: Facts) -> tuple[Rule, ...]:
    return tuple(rule for rule in ORDER if rule.chosen(facts) != KEEP and rule.when(facts))
