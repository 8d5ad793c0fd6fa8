"""What was found: a verdict on each question that was settled, with the server's own words, and the facts they make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from dragoman.probe.question import Outcome, Question, Verdict
from dragoman.profiles.facts import Facts
from dragoman.profiles.profile import merge


class FoundBy(StrEnum):
    """How a verdict came about: the server was asked, another verdict settles it, or the chat template was run."""

    ASKED = "asked"
    INFERRED = "inferred"
    TEMPLATE = "template"


class ProbeFinding(msgspec.Struct, frozen=True):
    """A verdict on one question."""

    question: str
    verdict: Verdict
    by: FoundBy = FoundBy.ASKED
    says: str = ""
    """The refusal in the server's own words."""
    status: int = 0
    """That of its answer, or 0."""
    teaches: Mapping[str, Any] = {}
    """Facts that the words themselves state."""


class ProbeLoss(msgspec.Struct, frozen=True):
    """Something that the server takes and leaves out of the prompt, so that the model never reads it."""

    question: str
    what: str


def facts_found(findings: Iterable[ProbeFinding], questions: Sequence[Question]) -> dict[str, Any]:
    """The facts that the findings settle, as a profile states them. A later question refines an earlier one."""
    known = {finding.question: finding for finding in findings}
    facts: dict[str, Any] = {}
    for question in questions:
        finding = known.get(question.id)
        if finding is not None:
            facts = merge(_with_outcome(facts, question.outcome(finding.verdict)), finding.teaches)
    return _with_open_words(facts, questions, known)


def _with_open_words(
    facts: dict[str, Any], questions: Sequence[Question], known: Mapping[str, ProbeFinding]
) -> dict[str, Any]:
    """Lists with the words that nobody was asked about, if they are taken by default: silence refuses nothing."""
    answered = {word for question in questions if question.id in known for word in _words(question)}
    for question in questions:
        for name, word in _words(question):
            usual = getattr(_DEFAULTS, name)
            if name in facts and word in usual and word not in facts[name] and (name, word) not in answered:
                facts[name] = [*facts[name], word]
    return facts


def _words(question: Question) -> list[tuple[str, str]]:
    """The words that a question would add to facts that are lists."""
    return [(name, word) for name, words in question.accepted.adds.items() for word in words]


def _with_outcome(facts: Mapping[str, Any], outcome: Outcome) -> dict[str, Any]:
    known = merge(facts, outcome.facts)
    for name, words in outcome.adds.items():
        known[name] = [*known.get(name, ()), *(word for word in words if word not in known.get(name, ()))]
    for name, words in outcome.removes.items():
        listed = known.get(name, getattr(_DEFAULTS, name))
        known[name] = [word for word in listed if word not in words]
    return known


_DEFAULTS = Facts()


def evidence_of(fact: str, findings: Iterable[ProbeFinding], questions: Sequence[Question]) -> list[ProbeFinding]:
    """The findings from which a fact comes, refusals first."""
    about = {question.id for question in questions if fact in question.names}
    found = [finding for finding in findings if finding.question in about or fact in finding.teaches]
    return sorted(found, key=lambda finding: finding.verdict is not Verdict.REFUSED)
