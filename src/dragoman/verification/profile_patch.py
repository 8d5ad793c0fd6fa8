"""Facts that turned out wrong, as a patch for the profile: a glob for the model that was asked, with the evidence."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from typing import Any

from dragoman.probe.asked_dialects import find_asked_dialect
from dragoman.probe.check import ComparedFact
from dragoman.probe.findings import ProbeFinding, evidence_of, facts_found
from dragoman.probe.profile_file import MEASURED, toml_value
from dragoman.probe.question import Question, Verdict
from dragoman.profiles.data_files import DATA
from dragoman.profiles.profile import Target, builtin_names
from dragoman.verification.fact_check import name_entry
from dragoman.verification.run_state import FactCheck

_FOLDER = "src/dragoman/profiles/data"


def find_patch(target: Target, checked: FactCheck, seen: datetime.date) -> str:
    """A unified diff for the file of a built-in profile; for another profile, lines to add to it. Empty if there is
    nothing to say. Facts that may be too careful stand in it as comments."""
    if not (checked.wrong or checked.careful):
        return ""
    lines = list(_lines(target, checked, seen))
    name = target.profile.name
    if name not in builtin_names():
        return "".join(lines)
    before = (DATA / f"{name}.toml").read_text("utf-8")
    old = before.splitlines(keepends=True)
    path = f"{_FOLDER}/{name}.toml"
    return "".join(unified_diff(old, [*old, "\n", *lines], f"a/{path}", f"b/{path}"))


def _lines(target: Target, checked: FactCheck, seen: datetime.date) -> Iterator[str]:
    questions = find_asked_dialect(target.dialect).questions
    found = facts_found(checked.findings, questions)
    if checked.careful:
        taken = toml_value(_state_facts(checked.careful, found))
        yield f"# On {seen} it took what these refuse, and may have ignored it: {taken}\n"
    if not checked.wrong:
        return
    yield "[[models]]\n"
    yield f"match = {toml_value(target.model)}\n"
    yield f"facts = {toml_value(_state_facts(checked.wrong, found))}\n"
    for fact in dict.fromkeys(name_entry(one.fact) for one in checked.wrong):
        finding = next(iter(evidence_of(fact, checked.findings, questions)), None)
        if finding is not None:
            yield from _evidence(fact, finding, questions, seen, target.model)


def _state_facts(wrong: tuple[ComparedFact, ...], found: Mapping[str, Any]) -> dict[str, Any]:
    """The facts as a profile states them: an entry of a table is given whole."""
    stated: dict[str, Any] = {}
    for one in wrong:
        name, _, inner = name_entry(one.fact).partition(".")
        if inner:
            stated.setdefault(name, {})[inner] = found[name][inner]
        else:
            stated[name] = found[name]
    return stated


def _evidence(
    fact: str, finding: ProbeFinding, questions: tuple[Question, ...], seen: datetime.date, model: str
) -> Iterator[str]:
    """The provider's own words if it refused; else that it took what it was asked."""
    asks = next((one.asks for one in questions if one.id == finding.question), finding.question)
    says = finding.says if finding.verdict is Verdict.REFUSED and finding.says else "accepted"
    fields = {"fact": fact, "kind": MEASURED, "says": says, "source": f"dragoman verify: {asks}", "model": model}
    yield from ("\n", "[[evidence]]\n", f"seen = {seen}\n")
    yield from (f"{name} = {toml_value(value)}\n" for name, value in fields.items())
