"""What will be changed for a target, whatever the conversation: its rules with the facts and words behind them."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import cache
from typing import Any

import msgspec

from dragoman.engine.compile.evidence import evidence, reasons, value_of, watch_facts
from dragoman.engine.compile.plan import CERTAIN_CLIENT, EXPECTING_CLIENT, plan
from dragoman.engine.compile.unseen_content import unseen_content
from dragoman.engine.library.adapt import BUILTIN, choose
from dragoman.engine.library.lint import headline
from dragoman.profiles.doubts import DOUBTS
from dragoman.profiles.facts import declarations
from dragoman.profiles.profile import Evidence, Profiles, Target
from dragoman.rules import GROUPS
from dragoman.rules.context import Context
from dragoman.rules.rule import Rule


class Reason(msgspec.Struct, frozen=True):
    """A fact that triggers a rule, and where it was seen."""

    fact: str
    about: str
    """What the fact is about."""
    value: Any
    says: str
    """The provider's own sentence."""
    seen: str
    names: str = ""
    """The field or value that the sentence names, if the fact holds for others too."""


class Explained(msgspec.Struct, frozen=True):
    """One rule that may run for a target."""

    rule: str
    group: str
    defect: str
    does: str
    loses: str
    careful: bool
    """Whether it runs only for clients of another dialect, because nobody knows."""
    because: tuple[Reason, ...]


def explain(
    target: str, *, profiles: Profiles | None = None, rules: Mapping[str, Any] | None = None
) -> list[Explained]:
    """The rules that the target's facts call for, in the order in which they run."""
    known = profiles or BUILTIN
    return explain_target(choose(target, known, rules), known)


def explain_target(target: Target, profiles: Profiles, names: Container[str] | None = None) -> list[Explained]:
    """The rules that the facts of a configured target call for: of all rules, or of these."""
    certain = plan(target, CERTAIN_CLIENT)
    careful = plan(target, EXPECTING_CLIENT)
    explained = [
        _explain_rule(rule, group, careful.context, target, profiles, doubtful=rule not in certain.rules)
        for group, members in GROUPS.items()
        for rule in members
        if rule in careful.rules and (names is None or rule.name in names)
    ]
    drops = bool(target.facts.drops) and (names is None or unseen_content.name in names)
    return [*explained, _left_out(target, profiles)] if drops else explained


UNSEEN = "prompt"
"""The group of what is sent as it is, and does not reach the model."""


def _left_out(target: Target, profiles: Profiles) -> Explained:
    rule = unseen_content
    reason = _reason("drops", target, profiles)
    return Explained(rule.name, UNSEEN, headline(rule), "", loses=str(rule.loses), careful=False, because=(reason,))


def _explain_rule(
    rule: Rule, group: str, context: Context, target: Target, profiles: Profiles, *, doubtful: bool
) -> Explained:
    seen, watching = watch_facts(context)
    rule.when(seen.facts)
    names = [name for name in reasons(watching.read, context.facts) if doubtful or _is_certain(name, target)]
    return Explained(
        rule.name,
        group,
        headline(rule),
        does=str(rule.chosen(context.choices) or ""),
        loses=str(rule.loses),
        careful=doubtful,
        because=tuple(_reason(name, target, profiles) for name in names),
    )


def _is_certain(name: str, target: Target) -> bool:
    return value_of(name, target.facts) not in DOUBTS


def _reason(name: str, target: Target, profiles: Profiles) -> Reason:
    entry: Evidence | None = next(evidence(target, [name], profiles), None)
    value = msgspec.to_builtins(value_of(name, target.facts))
    if entry is None:
        return Reason(name, describe_fact(name), value, "", "")
    return Reason(name, describe_fact(name), value, entry.says, str(entry.seen), entry.about)


@cache
def describe_fact(fact: str) -> str:
    """What a fact is about, as the catalogue says it."""
    return declarations()[fact.partition(".")[0]].description or ""
