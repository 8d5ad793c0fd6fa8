"""Which rules a target calls for, asked once per target and remembered."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import msgspec

from dragoman.engine.top_level_cache import TopLevelCache
from dragoman.profiles.facts import Facts, settled
from dragoman.profiles.profile import Target
from dragoman.rules import ORDER
from dragoman.rules.context import Context
from dragoman.rules.rule import Rule

RuleStep = tuple[int, Rule, int]
"""The traits that a rule seeks, the rule, and its bit among those that look at the top level alone (else 0)."""


class Plan(msgspec.Struct, frozen=True):
    """What the rules are given, the rules that it calls for, in order, and what these found at each top level."""

    context: Context
    rules: tuple[Rule, ...]
    steps: tuple[RuleStep, ...]
    tops: TopLevelCache

    @property
    def facts(self) -> Facts:
        return self.context.facts

    def until(self, name: str) -> tuple[RuleStep, ...]:
        """The steps up to a rule, whether that one is among them or not."""
        names = [rule.name for rule in ORDER]
        last = names.index(name) if name in names else len(names)
        return tuple(step for step in self.steps if names.index(step[1].name) <= last)


_plans: WeakKeyDictionary[Target, dict[bool, Plan]] = WeakKeyDictionary()


def plan(target: Target, same_dialect: bool) -> Plan:
    """The plan for a target, for a client of the same dialect or of another."""
    known = _plans.get(target)
    if known is None:
        known = _plans[target] = {}
    found = known.get(same_dialect)
    if found is None:
        found = known[same_dialect] = plan_for(context_for(target, same_dialect))
    return found


def context_for(target: Target, same_dialect: bool) -> Context:
    """What the rules are given for a target, before anything of the request is known."""
    return Context(settled(target.facts, same_dialect), target.choices, target.texts)


def plan_for(context: Context) -> Plan:
    rules = rules_for(context)
    steps = tuple(
        (rule.traits_sought(context.facts), rule, 1 << place if rule.top_level else 0)
        for place, rule in enumerate(rules)
    )
    return Plan(context, rules, steps, TopLevelCache())


def rules_for(context: Context) -> tuple[Rule, ...]:
    return tuple(rule for rule in ORDER if rule.called_for(context))
