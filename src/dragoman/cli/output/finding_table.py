"""What was found in a file of many requests, as a table: how many each target would refuse, and for which reasons."""

from __future__ import annotations

from collections.abc import Sequence

import click
import msgspec

from dragoman.cli.output.console import WIDEST, print_beside, print_table, printable
from dragoman.engine.library.lint import Finding, Severity
from dragoman.engine.library.report_summary import weight

TARGETS_WITH_REASONS = 3
"""For more targets, the reasons stand in one cell each."""


class FindingReason(msgspec.Struct):
    """One rule's findings for a target: in how many requests, and the first of them."""

    severity: Severity
    rule: str
    says: str
    did: str
    loses: str
    first: str
    requests: int = 0


class TargetTally:
    """The counts for one target."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.refused = self.changed = 0
        self.losses: dict[str, int] = {}
        self.reasons: dict[tuple[Severity, str], FindingReason] = {}

    def add(self, findings: Sequence[Finding], where: str) -> None:
        self.changed += 1
        self.refused += any(one.severity is Severity.ERROR for one in findings)
        heaviest = max(findings, key=lambda one: weight(one.loses)).loses
        self.losses[heaviest] = self.losses.get(heaviest, 0) + 1
        for key, one in {(one.severity, one.rule): one for one in reversed(findings)}.items():
            reason = self.reasons.setdefault(key, FindingReason(*key, one.says, one.did, one.loses, where))
            reason.requests += 1
            if weight(one.loses) > weight(reason.loses):
                reason.loses = one.loses

    def errors(self) -> list[FindingReason]:
        return [one for one in self.sort_reasons() if one.severity is Severity.ERROR]

    def sort_reasons(self) -> list[FindingReason]:
        return sorted(self.reasons.values(), key=lambda one: (one.severity is not Severity.ERROR, -one.requests))

    def lost(self) -> str:
        """`3 content, 20 authority`: the requests by the heaviest loss of their repair."""
        heavy = sorted((loss for loss in self.losses if weight(loss)), key=weight, reverse=True)
        return ", ".join(f"{self.losses[loss]:,} {loss}" for loss in heavy)


class FindingTable:
    """Collects findings, and prints them at the end."""

    def __init__(self, targets: Sequence[str]) -> None:
        self.requests = 0
        self._tallies = {target: TargetTally(target) for target in targets}

    def add(self, findings: Sequence[Finding], where: str) -> None:
        self.requests += 1
        by_target: dict[str, list[Finding]] = {}
        for one in findings:
            for target in (one.target,) if one.target else self._tallies:
                by_target.setdefault(target, []).append(one)
        for target, found in by_target.items():
            self._tallies[target].add(found, where)

    def print(self) -> None:
        tallies = list(self._tallies.values())
        if len(tallies) > TARGETS_WITH_REASONS:
            print_table(
                ("target", "refused", "changed", "loses", "reasons"),
                [self._row(tally) for tally in tallies],
                always_head=True,
            )
            return
        for tally in tallies:
            self._print_target(tally)

    def _row(self, tally: TargetTally) -> tuple[str, ...]:
        named = ", ".join(f"{one.rule} {one.requests:,}" for one in tally.errors()[:5])
        return (tally.target, f"{tally.refused:,}", f"{tally.changed:,}", tally.lost(), named)

    def _print_target(self, tally: TargetTally) -> None:
        print_beside("", click.style(self._headline(tally), bold=True))
        rows = [
            (
                f"{one.requests:,}",
                str(one.severity),
                one.rule,
                one.loses,
                _short(one.says),
                _short(one.did),
                printable(one.first),
            )
            for one in tally.sort_reasons()
        ]
        if rows:
            print_table(("requests", "severity", "rule", "loses", "why", "repair", "first"), rows, always_head=True)

    def _headline(self, tally: TargetTally) -> str:
        count = len(tally.errors())
        reasons = f", {count} reason{'s' if count > 1 else ''}" if count else ""
        refused = f"{tally.refused:,} of {self.requests:,} would be refused by {printable(tally.target)}{reasons}"
        lost = f"; repairs lose: {tally.lost()}" if tally.lost() else ""
        return f"{refused}; {tally.changed:,} would be changed{lost}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDEST else line[: WIDEST - 1] + "…"
