"""What the answers of a provider say of its profile: which facts hold, which are wrong, which are careful."""

from __future__ import annotations

from msgspec.structs import replace

from dragoman.probe.check import Agreement, ComparedFact, compare_facts
from dragoman.probe.findings import ProbeFinding, evidence_of, facts_found
from dragoman.probe.question import Question, Verdict
from dragoman.profiles.facts import Facts, Stance
from dragoman.verification.run_state import FactCheck


def check_facts(stated: Facts, findings: tuple[ProbeFinding, ...], questions: tuple[Question, ...]) -> FactCheck:
    """Compare a profile with what was found. A fact is wrong only if a refusal says so: a provider that takes something
    may have ignored it, and then a profile that leaves it out is right."""
    compared = compare_facts(stated, facts_found(findings, questions))
    other = [one for one in compared if one.agreement is Agreement.OTHER and not _is_implied(stated, one.fact)]
    wrong = tuple(one for one in other if _is_refused(one, findings, questions))
    careful = tuple(one for one in other if one not in wrong)
    return FactCheck(findings, len(compared) - len(other), wrong, careful)


def name_entry(fact: str) -> str:
    """The fact, or the entry of a table of facts: `media.image` of `media.image.inline`."""
    return ".".join(fact.split(".")[:2])


def _is_refused(one: ComparedFact, findings: tuple[ProbeFinding, ...], questions: tuple[Question, ...]) -> bool:
    behind = evidence_of(name_entry(one.fact), findings, questions)
    return one.found != Stance.ACCEPTS.value and any(
        finding.verdict is Verdict.REFUSED and finding.says for finding in behind
    )


def _is_implied(stated: Facts, fact: str) -> bool:
    """Whether the profile says it by another fact."""
    if fact == "part_fields":
        return stated.unknown_fields is Stance.REFUSES
    table, _, rest = fact.partition(".")
    known = stated.setting(rest.partition(".")[0]) if table == "settings" else None
    return known is not None and known.thinking is Stance.REFUSES and stated.thinking is Stance.ACCEPTS


def with_tally(checked: FactCheck, requests: int, cost: float, ended: str) -> FactCheck:
    """The check with what it took to find out."""
    return replace(checked, requests=requests, cost=cost, ended=ended)
