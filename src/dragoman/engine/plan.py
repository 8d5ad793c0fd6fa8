"""Which rules a target calls for, asked once per target and remembered."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import msgspec

from dragoman.conversation.conversation import Ask
from dragoman.engine.reasoning_wish import expects_reasoning
from dragoman.engine.top_level_cache import TopLevelCache
from dragoman.profiles.facts import Care, Facts, settled
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


class ClientKind(msgspec.Struct, frozen=True):
    """What a plan must know of the client."""

    care: Care
    """How doubts about the target are decided."""
    translated: bool = False
    """It speaks another dialect."""
    expects_reasoning: bool = False
    """It speaks another dialect and expects to be shown the thinking."""


_plans: WeakKeyDictionary[Target, dict[ClientKind, Plan]] = WeakKeyDictionary()


def client_of(ask: Ask, target: Target, faithful: bool) -> ClientKind:
    """The client of a request. `faithful`: doubts may be decided in its favour."""
    if ask.dialect == target.dialect:
        return FAITHFUL_CLIENT if faithful else CAREFUL_CLIENT
    foreign, careful = _EXPECTING_CLIENTS if expects_reasoning(ask) else _FOREIGN_CLIENTS
    return foreign if faithful else careful


CERTAIN_CLIENT = ClientKind(Care.NONE)
FAITHFUL_CLIENT = ClientKind(Care.FORM)
CAREFUL_CLIENT = ClientKind(Care.FULL)
FOREIGN_CLIENT = ClientKind(Care.TRANSLATION, translated=True)
EXPECTING_CLIENT = ClientKind(Care.TRANSLATION, translated=True, expects_reasoning=True)
_FOREIGN_CLIENTS = (FOREIGN_CLIENT, ClientKind(Care.FULL, translated=True))
_EXPECTING_CLIENTS = (EXPECTING_CLIENT, ClientKind(Care.FULL, translated=True, expects_reasoning=True))


def plan(target: Target, client: ClientKind) -> Plan:
    """The plan for a target and a client like this one."""
    known = _plans.get(target)
    if known is None:
        known = _plans[target] = {}
    found = known.get(client)
    if found is None:
        found = known[client] = plan_for(context_for(target, client))
    return found


def context_for(target: Target, client: ClientKind) -> Context:
    """What the rules are given for a target, before anything else of the request is known."""
    return Context(
        settled(target.facts, client.care),
        target.choices,
        target.texts,
        translated=client.translated,
        expects_reasoning=client.expects_reasoning,
    )


def plan_for(context: Context) -> Plan:
    rules = rules_for(context)
    steps = tuple(
        (rule.traits_sought(context.facts), rule, 1 << place if rule.top_level else 0)
        for place, rule in enumerate(rules)
    )
    return Plan(context, rules, steps, TopLevelCache())


def rules_for(context: Context) -> tuple[Rule, ...]:
    return tuple(rule for rule in ORDER if rule.called_for(context))
